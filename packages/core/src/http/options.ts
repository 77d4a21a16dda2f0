/**
 * The options of `rateLimit`, the same for every framework.
 *
 * @module
 */

import type { AuditOptions } from '../audit/audit.js';
import type { OnStoreError } from '../ladder.js';
import type { JointCandidateOptions, KeyedLimit, Limiter } from '../limiter.js';
import { POLICY_OPTIONS } from '../policy.js';
import type { Policy, Store } from '../types.js';
import type { CandidateOptions } from '../watch/candidate.js';
import type { NearOptions } from '../watch/near.js';
import type { Awaitable } from './awaitable.js';
import type { BodyOption } from './body.js';
import type { CountsFunction } from './count-only.js';
import type { HeaderFormat, ResetFormat } from './headers.js';

const _CODE = 'ERR_SLUICE_OPTION';

/** Limits by request: of the lone policy, or by policy name. */
export type LimitFunction<Req> = (request: Req) => Awaitable<number | Readonly<Record<string, number>>>;

/** Who is asking, by a function of the request. */
export type KeyFunction<Req> = (request: Req) => Awaitable<string | null | undefined>;

/** One policy, written out among the options. */
export type LonePolicy<Req, P extends Policy = Policy> = P extends Policy
  ? Omit<P, 'name' | 'limit'> & {
      /** Units per window, or a function of the request that returns them. */
      readonly limit: number | LimitFunction<Req>;
      /** Instead of these: see {@link SeveralPolicies}. */
      readonly policies?: never;
      /** Instead of these: see {@link SeveralKeys}. */
      readonly limits?: never;
      /** A policy to be tried beside this one: see `LimiterOptions.candidate`. */
      readonly candidate?: CandidateOptions | undefined;
      /** Instead of these: see {@link ReadyLimiter}. */
      readonly limiter?: never;
    }
  : never;

/** Several policies as one decision. */
export interface SeveralPolicies<Req> {
  /** A request that any of them denies is charged to none. */
  readonly policies: readonly Policy[];
  /** Stands in for the policies' own limits, by name. */
  readonly limit?: LimitFunction<Req> | undefined;
  /** Instead of these: see {@link SeveralKeys}. */
  readonly limits?: never;
  /** Policies to be tried beside these: see `LimiterOptions.candidate`. */
  readonly candidate?: CandidateOptions | undefined;
  /** Instead of these: see {@link ReadyLimiter}. */
  readonly limiter?: never;
}

/** The policies of one kind of key, and how a request gives that key. */
export interface RequestLimit<Req> extends KeyedLimit {
  /**
   * A text that is the same for all requests, or a function of the request: where it returns `undefined`, `null` or
   * `''`, this limit does not apply to it. Default, for one of the limits: the address.
   */
  readonly key?: string | KeyFunction<Req> | undefined;
}

/** Limits by keys of several kinds, such as the address and the user, as one decision. */
export interface SeveralKeys<Req> {
  /** A request that any of them denies is charged to none. One to which none applies is not limited. */
  readonly limits: readonly RequestLimit<Req>[];
  /** Stands in for the policies' own limits, by name. */
  readonly limit?: LimitFunction<Req> | undefined;
  /** Each of the limits has its own. */
  readonly key?: never;
  /** Each of the limits has its own. */
  readonly policies?: never;
  /** Instead of these: see {@link ReadyLimiter}. */
  readonly limiter?: never;
  /** Limits of the same kinds, to be tried beside these. */
  readonly candidate?: JointCandidateOptions | undefined;
  /** There is none of keys of several kinds. */
  readonly audit?: never;
}

/** A limiter that exists already, and that others may use as well. */
export interface ReadyLimiter<Req> {
  /** Who decides; what it is made of cannot be said again here. */
  readonly limiter: Limiter;
  /** Stands in for the limiter's own limits. */
  readonly limit?: LimitFunction<Req> | undefined;
  /** The limiter has them. */
  readonly policies?: never;
  /** Such a limiter is not made beforehand. */
  readonly limits?: never;
  /** The limiter has one. */
  readonly name?: never;
  /** The limiter has one. */
  readonly store?: never;
  /** The limiter was told. */
  readonly onStoreError?: never;
  /** The limiter was told. */
  readonly localShare?: never;
  /** The limiter was told. */
  readonly mode?: never;
  /** The limiter has its own, or none. */
  readonly candidate?: never;
  /** The limiter was told. */
  readonly near?: never;
  /** The limiter has its own, or none. */
  readonly audit?: never;
}

/** What does not depend on where the policy comes from. */
export interface CommonOptions<Req, Handler> {
  /** Names the limiter in keys and headers. Give each limiter of a shared store its own. Default `'default'`. */
  readonly name?: string | undefined;
  /** Where state lives. Default: a `MemoryStore` of its own. */
  readonly store?: Store | undefined;
  /**
   * What to do while the store fails: decide in this process (`'local'`, the default), `'allow'` or `'deny'` (with a
   * 503) all requests, or `'throw'` the error to the framework.
   */
  readonly onStoreError?: OnStoreError | undefined;
  /** The part of every limit that `'local'` admits: above 0, at most 1. Default 1. */
  readonly localShare?: number | undefined;
  /** `'shadow'` decides and tells, and refuses nobody: see `LimiterOptions.mode`. Default `'enforce'`. */
  readonly mode?: 'enforce' | 'shadow' | undefined;
  /** Policies to be tried beside these: see `LimiterOptions.candidate`. */
  readonly candidate?: CandidateOptions | JointCandidateOptions | undefined;
  /** Which requests the event `near` is told of: see `LimiterOptions.near`. */
  readonly near?: NearOptions | undefined;
  /** Runs the exact log beside policies that estimate: see `LimiterOptions.audit`. */
  readonly audit?: AuditOptions | undefined;
  /** Who is asking. A function that returns `undefined`, `null` or `''` means: take the address, which is the default. */
  readonly key?: KeyFunction<Req> | undefined;
  /** How many bits of an IPv6 address tell customers apart: 32 to 64. Default 56. */
  readonly ipv6Prefix?: number | undefined;
  /** The units a request takes. Default 1. */
  readonly cost?: (number | ((request: Req) => Awaitable<number>)) | undefined;
  /** Requests of which it returns `true` are not limited. */
  readonly skip?: ((request: Req) => Awaitable<boolean>) | undefined;
  /**
   * Counts but requests that `'failed'` (a status of 400 or more) or `'succeeded'` (any other), or those of which a
   * function returns `true`, asked when the response is over. All are charged first; those that do not count are given
   * back. One whose client left before all was sent counts, unless the function says otherwise. Default `false`: all.
   */
  readonly countOnly?: 'failed' | 'succeeded' | CountsFunction<Req> | false | undefined;
  /** Limit CORS preflights as well. Default `false`. */
  readonly preflight?: boolean | undefined;
  /**
   * How many requests of a leaky bucket are held at once until it is their turn: the next one is answered with a 503.
   * Default 1000.
   */
  readonly maxHeld?: number | undefined;
  /** How limits are told: a format, a list of formats that do not contradict each other, or `false`. Default `'legacy'`. */
  readonly headers?: HeaderFormat | readonly HeaderFormat[] | false | undefined;
  /** The time in `X-RateLimit-Reset`: in seconds since the `'epoch'` (the default), or in `'seconds'` from now. */
  readonly resetFormat?: ResetFormat | undefined;
  /**
   * Lets `'draft-8'` say who is counted (`pk`): the key, hashed with this secret of at least 16 bytes. Give all
   * servers the same. Without it, nothing is said.
   */
  readonly partitionSecret?: string | Uint8Array | undefined;
  /**
   * The body of a 429 in place of the problem document: text, bytes, or an object, which is sent as JSON. A function
   * of the request and the decision returns one, or nothing for the problem document.
   */
  readonly body?: BodyOption<Req> | undefined;
  /** The media type of `body`, where the one of text, bytes or JSON is not right. */
  readonly contentType?: string | undefined;
  /** Answers a denied request in place of the problem document. Status and headers are set already. */
  readonly handler?: Handler | undefined;
  /** Hands a `RateLimitError` to the framework's error path in place of an answer. Default `false`. */
  readonly throw?: boolean | undefined;
}

/** The options of `rateLimit`. */
export type RateLimitOptions<Req, Handler> = (
  | ReadyLimiter<Req>
  | SeveralKeys<Req>
  | SeveralPolicies<Req>
  | LonePolicy<Req>
) &
  CommonOptions<Req, Handler>;

/** Options as a guard reads them; which go together is checked by `limiterOf`. */
export type LooseOptions<Req, Handler> = CommonOptions<Req, Handler> & {
  readonly limit?: number | LimitFunction<Req>;
  readonly policies?: readonly Policy[];
  readonly limits?: readonly RequestLimit<Req>[];
  readonly limiter?: Limiter;
};

/** What a limiter that exists already has chosen for itself. */
export const CHOSEN: readonly string[] = [
  'name',
  'store',
  'onStoreError',
  'localShare',
  'mode',
  'candidate',
  'near',
  'audit',
];

const TOLD = ['headers', 'resetFormat', 'partitionSecret', 'body', 'contentType', 'handler', 'throw'];

const COMMON = [...CHOSEN, 'key', 'ipv6Prefix', 'cost', 'skip', 'countOnly', 'preflight', 'maxHeld', ...TOLD];
/** All options of `rateLimit`. */
export const KNOWN: readonly string[] = [...POLICY_OPTIONS, 'policies', 'limits', 'limiter', ...COMMON];

/** Whether the option is given. */
export function given(options: object, option: string): boolean {
  return optionOf(options, option) !== undefined;
}

/** An option by its name. */
export function optionOf(options: object, option: string): unknown {
  return (options as Record<string, unknown>)[option];
}
