/**
 * The limiter: a name, one or more policies, a store, a clock.
 *
 * @module
 */

import type { AuditOptions } from './audit/audit.js';
import type { OnStoreError } from './ladder.js';
import type { MemoryStore } from './memory/memory-store.js';
import type { Clock, Decision, Duration, Eventually, ParsedPolicy, Policy, Store } from './types.js';
import type { CandidateOptions } from './watch/candidate.js';
import type { LimiterEvents, LimiterListener } from './watch/events.js';
import type { NearOptions } from './watch/near.js';
import type { LimiterReport } from './watch/watched-limiter.js';

/** What a limiter is made of. */
export interface LimiterOptions<A extends boolean = false> {
  /** Part of every key and of header policy names; one limiter per name and store. Default `'default'`. */
  readonly name?: string | undefined;
  /** One decision for all of them: a request that any of them denies is charged to none. */
  readonly policies: readonly Policy[];
  /** Where state lives. Default: a {@link MemoryStore} of its own. */
  readonly store?: Store<A> | undefined;
  /** Where `now` comes from. Default: the store's own clock, which is the right one for shared state. */
  readonly clock?: Clock | undefined;
  /**
   * What to do while an asynchronous store fails. `'local'` (the default) decides in this process, as with a
   * `MemoryStore`, and charges the store when it is back; `'allow'` admits and `'deny'` refuses everything; `'throw'`
   * rejects with the StoreError. A synchronous store has no need of it.
   */
  readonly onStoreError?: OnStoreError | undefined;
  /** The part of every limit that `'local'` admits, rounded down, of a limit above 0 at least 1: above 0, at most 1. Default 1. */
  readonly localShare?: number | undefined;
  /**
   * `'shadow'` decides, charges and tells as ever, and lets every request go on: `allowed` is `true` and nothing waits,
   * while `policies` and the event `denied` say what would have been. Default `'enforce'`.
   */
  readonly mode?: 'enforce' | 'shadow' | undefined;
  /** Policies that decide every request once more, beside these and without any effect: `report()` compares. */
  readonly candidate?: CandidateOptions | undefined;
  /** Which requests the event `near` is told of. Default: those that would use 0.9 to 1.1 of a limit. */
  readonly near?: NearOptions | undefined;
  /** Runs the exact log beside the policies that estimate, on a sample of the keys: `report()` tells what it finds. */
  readonly audit?: AuditOptions | undefined;
  /** In place of `policies`, where keys of several kinds are one decision: see {@link JointLimiterOptions}. */
  readonly limits?: never;
}

/** The policies of one kind of key, such as the address or the user. */
export interface KeyedLimit<Kind extends string = string> {
  /** The kind: keys are given by it, and its policies are named by it. Printable ASCII without `:{}"\`. */
  readonly name: Kind;
  /** What keys of this kind are limited by. */
  readonly policies: readonly Policy[];
}

/** Limits that decide in the shadow of a limiter's own. */
export interface JointCandidateOptions<Kind extends string = string> {
  /** Of the same kinds of keys, in the same order. They have state of their own. */
  readonly limits: readonly KeyedLimit<Kind>[];
}

/** What a limiter of keys of several kinds is made of: `limits` in place of `policies`, and the options of any other. */
export interface JointLimiterOptions<A extends boolean = false, Kind extends string = string>
  extends Omit<LimiterOptions<A>, 'policies' | 'limits' | 'candidate' | 'audit'> {
  /** One decision for all of them: a request that any of them denies is charged to none. */
  readonly limits: readonly KeyedLimit<Kind>[];
  /** Limits of the same kinds that decide every request once more, beside these and without any effect. */
  readonly candidate?: JointCandidateOptions<NoInfer<Kind>> | undefined;
  /** Each kind has its own. */
  readonly policies?: never;
  /** There is none of keys of several kinds. */
  readonly audit?: never;
}

/** A key of each kind that applies to a request: at least one. */
export type Keys<Kind extends string = string> = { readonly [Name in Kind]?: string | undefined };

/** What one request brings along. */
export interface RequestOptions {
  /** The units it takes: an integer of at least 0. Default 1. */
  readonly cost?: number | undefined;
  /** Stands in for the policy's limit this once; by policy name where there are several. */
  readonly limit?: number | Readonly<Record<string, number>> | undefined;
}

/** What an update changes. */
export interface UpdateOptions {
  /** The policies from now on: of the same names and algorithms, in the same order. */
  readonly policies: readonly Policy[];
}

/** What an update of a limiter of keys of several kinds changes. */
export interface JointUpdateOptions {
  /** The limits from now on: of the same kinds, with policies of the same names and algorithms, in the same order. */
  readonly limits: readonly KeyedLimit[];
}

/**
 * Decides who may go on. Answers at once on a synchronous store, by promise on the others; `await` works on both.
 *
 * On an asynchronous store every method rejects and none throws.
 *
 * `Key` is `string`, or {@link Keys} where the limiter was made of `limits`.
 */
export interface Limiter<A extends boolean = boolean, Key = string> {
  /** As given, or `default`. */
  readonly name: string;
  /** What it decides by, complete and checked, in the order given. */
  readonly policies: readonly ParsedPolicy[];
  /**
   * Decides and charges.
   *
   * @param key - who is limited, such as `user:42`; of several kinds, an object of keys by kind.
   * @throws ArgumentError if an argument is not what it must be; nothing is charged then.
   * @throws StoreError if the store could not answer and `onStoreError` is `'throw'`.
   */
  consume(key: Key, options?: RequestOptions): Eventually<A, Decision>;
  /**
   * Says what `consume` would (allowed, the wait), charges nothing, and reports what is left as it stands.
   *
   * @throws ArgumentError if an argument is not what it must be.
   * @throws StoreError if the store could not answer and `onStoreError` is `'throw'`.
   */
  peek(key: Key, options?: RequestOptions): Eventually<A, Decision>;
  /**
   * Gives units back where they were taken, as long as that window, entry or debt is still there.
   *
   * What was charged by this process alone (`decision.degraded`) is given back here and, once the store was charged for
   * it, there.
   *
   * @param units - default: all that was charged. All refunds of a decision together give back at most its cost.
   * @throws StoreError if the store could not answer.
   */
  refund(decision: Decision, units?: number): Eventually<A, void>;
  /**
   * Corrects what a request was charged to what it really cost, both ways, in one call: for what is only known afterwards,
   * such as tokens, bytes or the cost of a query.
   *
   * More is added to what was charged, as debt where it is more than what is left; a window that is over by then takes
   * none. Less is given back as by {@link refund}. May be called again. Of a denied request nothing happens.
   *
   * @param units - what the request cost in all.
   * @throws ArgumentError if the decision is none of this limiter's, or the units are none.
   * @throws StoreError if the store could not answer.
   *
   * @example
   * import { createLimiter } from '@sluice/core';
   * const limiter = createLimiter({ policies: [{ limit: 100_000, window: '1m' }] });
   * const decision = limiter.consume('user:42', { cost: 500 });
   * limiter.settle(decision, 734);
   */
  settle(decision: Decision, units: number): Eventually<A, void>;
  /**
   * Makes the key as new, blocks included; of several kinds, each key that is given.
   *
   * @throws StoreError if the store could not answer. What this process alone knows of the key is forgotten then too.
   */
  reset(key: Key): Eventually<A, void>;
  /**
   * Blocks the key: until then every request of it is denied, charges nothing and prolongs nothing. What was used stays
   * used. A block that ends later goes on, so a shorter one never shortens it; of several kinds, each key that is given
   * is blocked. No option is needed for it.
   *
   * A request that no policy limits, as its limits are `Infinity`, asks no store and sees no block.
   *
   * @param duration - `Infinity` for as long as nobody calls {@link unblock}.
   * @throws ArgumentError if an argument is not what it must be, or the store knows no blocks.
   * @throws StoreError if the store could not answer. While it cannot, this process keeps to the block all the same if
   * `onStoreError` is `'local'`.
   *
   * @example
   * import { createLimiter } from '@sluice/core';
   * const limiter = createLimiter({ policies: [{ limit: 100, window: '1m' }] });
   * limiter.block('user:42', '1h');
   * limiter.consume('user:42').block; // { policy: 'default', by: 'hand' }
   */
  block(key: Key, duration: Duration): Eventually<A, void>;
  /**
   * Ends the key's blocks, whoever began them, and forgets its strikes and how long its blocks were. What was used stays
   * used; of several kinds, each key that is given is freed.
   *
   * @throws ArgumentError if the key is none, or the store knows no blocks.
   * @throws StoreError if the store could not answer. What this process alone knows is ended then too.
   */
  unblock(key: Key): Eventually<A, void>;
  /**
   * Lets other numbers decide, from the next request on. What was used stays used, rounded up, at most the new capacity,
   * for each key when it comes; nothing that was charged is forgotten, and nobody gets a second quota.
   *
   * Other processes go on by their own numbers until they are told too. State says under which it was written.
   *
   * @throws ArgumentError if they are no policies, or have other names or algorithms; nothing is changed then.
   *
   * @example
   * import { createLimiter } from '@sluice/core';
   * const limiter = createLimiter({ policies: [{ limit: 100, window: '1m' }] });
   * limiter.consume('user:42', { cost: 80 });
   * limiter.update({ policies: [{ limit: 200, window: '1m' }] });
   * limiter.peek('user:42').remaining; // 120
   */
  update(options: Key extends string ? UpdateOptions : JointUpdateOptions): void;
  /** Frees the name; what the store holds stays. May be called twice. */
  close(): void;
  /**
   * Calls `listener` for every event of that name from now on; free where nobody listens. Returns the limiter.
   *
   * @throws ArgumentError if there is no such event, or the listener is no function.
   *
   * @example
   * import { createLimiter } from '@sluice/core';
   * const limiter = createLimiter({ policies: [{ limit: 100, window: '1m' }] });
   * limiter.on('denied', ({ key, decision }) => console.log(key, decision.retryAfterMs));
   */
  on<Name extends keyof LimiterEvents>(name: Name, listener: LimiterListener<Name, Key>): this;
  /** Calls the listener no more. Returns the limiter. */
  off<Name extends keyof LimiterEvents>(name: Name, listener: LimiterListener<Name, Key>): this;
  /**
   * Returns what was counted since the limiter was made; `undefined` unless it is in shadow mode, or has a candidate or
   * an audit: others count nothing.
   *
   * @example
   * import { createLimiter } from '@sluice/core';
   * const limiter = createLimiter({
   *   policies: [{ limit: 100, window: '1m' }],
   *   candidate: { policies: [{ limit: 80, window: '1m' }] },
   * });
   * limiter.consume('user:42');
   * limiter.report()?.candidate?.onlyCandidateDenied; // 0
   */
  report(): LimiterReport | undefined;
}
