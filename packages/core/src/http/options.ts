/**
 * The options of `rateLimit`, the same for every framework.
 *
 * @module
 */

import type { AuditOptions } from '../audit/audit.js';
import { isRecord, refuseUnknown } from '../check.js';
import { createLimiter } from '../create-limiter.js';
import { ArgumentError, expected, show } from '../errors.js';
import type { OnStoreError } from '../ladder.js';
import type { JointCandidateOptions, KeyedLimit, Limiter } from '../limiter.js';
import { ALGORITHM_OPTIONS, POLICY_OPTIONS, parseLimit } from '../policy.js';
import type { AlgorithmName, Policy, Store } from '../types.js';
import type { CandidateOptions } from '../watch/candidate.js';
import type { NearOptions } from '../watch/near.js';
import type { Awaitable } from './awaitable.js';
import type { BodyOption } from './body.js';
import type { CountsFunction } from './count-only.js';
import type { HeaderFormat, ResetFormat } from './headers.js';

const CODE = 'ERR_SLUICE_OPTION';

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

/** Options as a guard reads them; which go together is checked by {@link limiterOf}. */
export type LooseOptions<Req, Handler> = CommonOptions<Req, Handler> & {
  readonly limit?: number | LimitFunction<Req>;
  readonly policies?: readonly Policy[];
  readonly limits?: readonly RequestLimit<Req>[];
  readonly limiter?: Limiter;
};

/** What a limiter that exists already has chosen for itself. */
const CHOSEN = ['name', 'store', 'onStoreError', 'localShare', 'mode', 'candidate', 'near', 'audit'];

const TOLD = ['headers', 'resetFormat', 'partitionSecret', 'body', 'contentType', 'handler', 'throw'];

const COMMON = [...CHOSEN, 'key', 'ipv6Prefix', 'cost', 'skip', 'countOnly', 'preflight', 'maxHeld', ...TOLD];
/** All options of `rateLimit`. */
export const KNOWN: readonly string[] = [...POLICY_OPTIONS, 'policies', 'limits', 'limiter', ...COMMON];

/** Options that say what the policy is, and who answers. A route's own choice of one kind replaces the other kinds. */
const KINDS: readonly (readonly (readonly string[])[])[] = [
  [POLICY_OPTIONS, ['policies'], ['limits'], ['limiter']],
  [['handler'], ['body', 'contentType'], ['throw']],
];

/**
 * Returns the limiter that the options describe.
 *
 * @throws ArgumentError if an option is unknown or wrong, or contradicts another.
 */
export function limiterOf<Req, Handler>(options: LooseOptions<Req, Handler>): Limiter {
  if (typeof options !== 'object' || options === null) throw expected(CODE, 'options', 'an object', options);
  refuseUnknown(options, KNOWN, 'rateLimit', CODE);
  checkFunctions(options);
  const { limit, limiter, policies, limits } = options;
  const own = POLICY_OPTIONS.filter((option) => option !== 'limit' && given(options, option));
  const place = ['limiter', 'limits', 'policies'].find((option) => given(options, option));
  if (place !== undefined) {
    if (limit !== undefined && typeof limit !== 'function') own.push('limit');
    const parts = { limiter: ['policies', 'limits', ...CHOSEN], limits: ['policies', 'key'], policies: [] };
    own.push(...parts[place as keyof typeof parts].filter((option) => given(options, option)));
    if (own.length > 0) {
      throw new ArgumentError(CODE, `Expected \`${own[0]}\` to be part of \`${place}\`, got it beside it.`);
    }
  }
  if (limiter !== undefined) {
    if (typeof limiter?.consume !== 'function') throw expected(CODE, 'limiter', 'a limiter', limiter);
    if ('kinds' in limiter) {
      const message =
        'Expected `limiter` to take one key, got one of keys of several kinds: give its limits as `limits`, each with its `key`.';
      throw new ArgumentError(CODE, message);
    }
    return limiter;
  }
  const chosen = CHOSEN.filter((option) => given(options, option));
  const what =
    limits === undefined ? { policies: policies ?? [lonePolicy(options)] } : { limits: withoutKeys(limits) };
  return createLimiter({
    ...Object.fromEntries(chosen.map((option) => [option, optionOf(options, option)])),
    ...what,
  } as Parameters<typeof createLimiter>[0]);
}

/** The limits as limiters take them, if each says how to find its key; what else is wrong they say. */
function withoutKeys(limits: unknown): unknown {
  if (!Array.isArray(limits)) return limits;
  limits.forEach((limit, i) => {
    const key: unknown = limit?.key;
    if (key === undefined || typeof key === 'function' || (typeof key === 'string' && key !== '')) return;
    throw expected(CODE, `limits[${i}].key`, 'a function of the request or a text', key);
  });
  const [one, other] = limits.filter((limit) => isRecord(limit) && limit.key === undefined);
  if (other !== undefined) {
    const message = `Expected \`key\` in all but one of \`limits\`, which is by address then, got none in ${show(one.name)} and ${show(other.name)}.`;
    throw new ArgumentError(CODE, message);
  }
  return limits.map((limit) => {
    if (!isRecord(limit)) return limit;
    const { key, ...rest } = limit;
    return rest;
  });
}

/**
 * Returns `general` as far as `special` leaves it: option by option, but what kind of policy it is, and who answers, as
 * a whole. Another algorithm takes what has a meaning to it.
 */
export function mergeOptions<Options extends object>(general: Options, special: Partial<Options>): Options {
  const merged = { ...general } as Record<string, unknown>;
  for (const kinds of KINDS) {
    const chosen = kindOf(special, kinds);
    if (chosen === undefined || chosen === kindOf(general, kinds)) continue;
    for (const option of kinds.flat()) delete merged[option];
  }
  // Each of the limits has its own.
  if (given(special, 'limits')) delete merged.key;
  if (given(special, 'limiter')) for (const option of CHOSEN) delete merged[option];
  for (const option of foreignTo(optionOf(special, 'algorithm'))) delete merged[option];
  for (const [option, value] of Object.entries(special)) if (value !== undefined) merged[option] = value;
  return merged as Options;
}

/** The options of other algorithms that mean nothing to this one, if it is one. */
function foreignTo(algorithm: unknown): readonly string[] {
  const own = ALGORITHM_OPTIONS[algorithm as AlgorithmName];
  if (own === undefined) return [];
  return Object.values(ALGORITHM_OPTIONS)
    .flat()
    .filter((option) => !own.includes(option));
}

/** The kind that the options choose: a function for a limit goes with every kind, and what is off is no choice. */
function kindOf(options: object, kinds: readonly (readonly string[])[]): readonly string[] | undefined {
  const chooses = (option: string) => {
    const value = optionOf(options, option);
    return value !== undefined && value !== false && !(option === 'limit' && typeof value === 'function');
  };
  return kinds.find((kind) => kind.some(chooses));
}

function lonePolicy<Req, Handler>(options: LooseOptions<Req, Handler>): Policy {
  if (!given(options, 'limit') && !given(options, 'window')) {
    const message =
      'Expected `limit` and `window`, or `policies`, or `limits`, or `limiter`, among the options, got none of them.';
    throw new ArgumentError(CODE, message);
  }
  const policy: Record<string, unknown> = {};
  for (const option of POLICY_OPTIONS) if (given(options, option)) policy[option] = optionOf(options, option);
  // Every request brings its own limit; should one ever get past without, this one admits nothing.
  if (typeof options.limit === 'function') policy.limit = 0;
  return policy as unknown as Policy;
}

function checkFunctions<Req, Handler>(options: LooseOptions<Req, Handler>): void {
  for (const option of ['key', 'skip', 'handler'] as const) {
    const value = options[option];
    if (value !== undefined && typeof value !== 'function') throw expected(CODE, option, 'a function', value);
  }
  const { cost, preflight = false } = options;
  if (typeof preflight !== 'boolean') throw expected(CODE, 'preflight', 'true or false', preflight);
  if (cost !== undefined && typeof cost !== 'function' && (!Number.isSafeInteger(cost) || cost < 0)) {
    throw expected(CODE, 'cost', 'an integer >= 0 or a function', cost);
  }
  if (options.limit !== undefined && typeof options.limit !== 'function')
    parseLimit(options.limit, 'limit', CODE);
}

function given(options: object, option: string): boolean {
  return optionOf(options, option) !== undefined;
}

function optionOf(options: object, option: string): unknown {
  return (options as Record<string, unknown>)[option];
}
