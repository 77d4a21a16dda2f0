/**
 * The limiter: a name, one or more policies, a store, a clock.
 *
 * @module
 */

import { ChargingTable } from './charging-table.js';
import { parseName, refuseUnknown } from './check.js';
import { Debts, MOST_KEYS } from './debts.js';
import { expected } from './errors.js';
import {
  Blind,
  type Fallback,
  Ladder,
  type OnStoreError,
  parseLocalShare,
  parseOnStoreError,
} from './ladder.js';
import { Local, sharePolicies } from './local.js';
import { MemoryStore } from './memory/memory-store.js';
import { namesOn } from './names.js';
import { parsePolicies } from './policy.js';
import { nowOf, StoreLimiter } from './store-limiter.js';
import type { Clock, Decision, Eventually, ParsedPolicy, Policy, Store } from './types.js';

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
}

/** What one request brings along. */
export interface RequestOptions {
  /** The units it takes: an integer of at least 0. Default 1. */
  readonly cost?: number | undefined;
  /** Stands in for the policy's limit this once; by policy name where there are several. */
  readonly limit?: number | Readonly<Record<string, number>> | undefined;
}

/**
 * Decides who may go on. Answers at once on a synchronous store, by promise on the others; `await` works on both.
 *
 * On an asynchronous store every method rejects and none throws.
 */
export interface Limiter<A extends boolean = boolean> {
  /** As given, or `default`. */
  readonly name: string;
  /** What it decides by, complete and checked, in the order given. */
  readonly policies: readonly ParsedPolicy[];
  /**
   * Decides and charges.
   *
   * @param key - who is limited, such as `user:42`.
   * @throws ArgumentError if an argument is not what it must be; nothing is charged then.
   * @throws StoreError if the store could not answer and `onStoreError` is `'throw'`.
   */
  consume(key: string, options?: RequestOptions): Eventually<A, Decision>;
  /**
   * Says what `consume` would (allowed, the wait), charges nothing, and reports what is left as it stands.
   *
   * @throws ArgumentError if an argument is not what it must be.
   * @throws StoreError if the store could not answer and `onStoreError` is `'throw'`.
   */
  peek(key: string, options?: RequestOptions): Eventually<A, Decision>;
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
   * Makes the key as new.
   *
   * @throws StoreError if the store could not answer. What this process alone knows of the key is forgotten then too.
   */
  reset(key: string): Eventually<A, void>;
  /** Frees the name; what the store holds stays. May be called twice. */
  close(): void;
}

/**
 * Returns a limiter.
 *
 * @throws ArgumentError if an option is wrong, or if the store already has a limiter of that name:
 * two of them would eat each other's quota.
 *
 * @example
 * import { createLimiter } from '@sluice/core';
 * const limiter = createLimiter({ policies: [{ limit: 100, window: '1m' }] });
 * const decision = limiter.consume('user:42');
 * if (!decision.allowed) console.log(`again in ${decision.retryAfterMs} ms`);
 */
export function createLimiter<A extends boolean = false>(options: LimiterOptions<A>): Limiter<A> {
  if (typeof options !== 'object' || options === null) {
    throw expected('ERR_SLUICE_OPTION', 'options', 'an object', options);
  }
  refuseUnknown(
    options,
    ['name', 'policies', 'store', 'clock', 'onStoreError', 'localShare'],
    'createLimiter',
    'ERR_SLUICE_OPTION',
  );
  const { name: given = 'default' } = options;
  const name = parseName(given, 'name', 'ERR_SLUICE_OPTION');
  const policies = parsePolicies(options.policies);
  const clock = parseClock(options.clock);
  const onStoreError = parseOnStoreError(options.onStoreError);
  const localShare = parseLocalShare(options.localShare);
  const store = parseStore(options.store) as Store<A>;
  const names = namesOn(store, name);
  const limiter =
    store.async && onStoreError !== 'throw'
      ? createLadder(name, policies, store as Store<true>, clock, onStoreError, localShare)
      : new StoreLimiter(name, policies, store, clock);
  names.add(name);
  return limiter as Limiter<A>;
}

/** Returns a limiter on a store that may fail. */
function createLadder(
  name: string,
  policies: readonly ParsedPolicy[],
  store: Store<true>,
  clock: Clock | undefined,
  onStoreError: Exclude<OnStoreError, 'throw'>,
  localShare: number,
): Limiter<true> {
  if (onStoreError !== 'local') {
    const fallback = new Blind(policies, onStoreError === 'allow');
    return owning(new StoreLimiter(name, policies, store, clock), fallback);
  }
  const now = () => nowOf(clock);
  const memory = new MemoryStore({ maxKeys: MOST_KEYS });
  const local = new StoreLimiter(name, sharePolicies(policies, localShare), memory, clock, true);
  const debts = new Debts(policies);
  const table = new ChargingTable(store.open(name, policies), debts, now);
  const limiter = new StoreLimiter(name, policies, store, clock, false, table);
  return owning(limiter, new Local(policies, local, localShare, table, debts, now), local);
}

/** Returns the ladder that settles what its parts decide. */
function owning(limiter: StoreLimiter<true>, fallback: Fallback, local?: StoreLimiter<false>): Ladder {
  const ladder = new Ladder(limiter, fallback);
  for (const part of [limiter, local]) if (part !== undefined) part.owner = ladder;
  return ladder;
}

function parseClock(clock: unknown): Clock | undefined {
  if (clock === undefined) return undefined;
  if (typeof (clock as Clock | null)?.now !== 'function') {
    throw expected('ERR_SLUICE_OPTION', 'clock', 'an object with a function `now`', clock);
  }
  return clock as Clock;
}

function parseStore(store: unknown): Store {
  if (store === undefined) return new MemoryStore();
  if (typeof (store as Store | null)?.open !== 'function') {
    throw expected(
      'ERR_SLUICE_OPTION',
      'store',
      'a store such as new MemoryStore() or new RedisStore({ client })',
      store,
    );
  }
  return store as Store;
}
