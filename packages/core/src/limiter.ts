/**
 * The limiter: a name, one or more policies, a store, a clock.
 *
 * @module
 */

import { ChargingTable } from './charging-table.js';
import { isRecord, parseName, parseUnits, refuseUnknown } from './check.js';
import { instant } from './clock.js';
import { Debts, MOST_KEYS } from './debts.js';
import { type Maker, type Receipt, readAnswer, receiptOf, type Settler } from './decision.js';
import { ArgumentError, expected, isStoreError } from './errors.js';
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
import { perProcess } from './per-process.js';
import { parseLimit, parsePolicies, planOf } from './policy.js';
import type {
  Answer,
  Clock,
  Decision,
  Eventually,
  ParsedPolicy,
  Plan,
  Policy,
  Store,
  Table,
} from './types.js';

/** What a limiter is made of. */
export interface LimiterOptions<A extends boolean = false> {
  /** Part of every key and of header policy names; one limiter per name and store. Default `'default'`. */
  readonly name?: string;
  /** One decision for all of them: a request that any of them denies is charged to none. */
  readonly policies: readonly Policy[];
  /** Where state lives. Default: a {@link MemoryStore} of its own. */
  readonly store?: Store<A>;
  /** Where `now` comes from. Default: the store's own clock, which is the right one for shared state. */
  readonly clock?: Clock;
  /**
   * What to do while an asynchronous store fails. `'local'` (the default) decides in this process, as with a
   * `MemoryStore`, and charges the store when it is back; `'allow'` admits and `'deny'` refuses everything; `'throw'`
   * rejects with the StoreError. A synchronous store has no need of it.
   */
  readonly onStoreError?: OnStoreError;
  /** The part of every limit that `'local'` admits, rounded down, of a limit above 0 at least 1: above 0, at most 1. Default 1. */
  readonly localShare?: number;
}

/** What one request brings along. */
export interface RequestOptions {
  /** The units it takes: an integer of at least 0. Default 1. */
  readonly cost?: number;
  /** Stands in for the policy's limit this once; by policy name where there are several. */
  readonly limit?: number | Readonly<Record<string, number>>;
}

/**
 * Decides who may go on. Answers at once on a synchronous store, by promise on the others; `await` works on both.
 *
 * On an asynchronous store every method rejects and none throws.
 */
export interface Limiter<A extends boolean = boolean> {
  readonly name: string;
  readonly policies: readonly ParsedPolicy[];
  /**
   * Decides and charges.
   *
   * @param key - who is limited, such as `user:42`.
   * @throws ArgumentError if an argument is not what it must be; nothing is charged then.
   * @throws StoreError if the store could not answer and `onStoreError` is `'throw'`.
   */
  consume(key: string, options?: RequestOptions): Eventually<A, Decision>;
  /** Says what `consume` would (allowed, the wait), charges nothing, and reports what is left as it stands. */
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

/** The names in use, per place where state lives. */
const taken = () => perProcess('names', () => new WeakMap<object, Set<string>>());

/** A limit function may return many different limits; plans for so many are kept. */
const MOST_PLANS = 256;

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
  const names = namesOf(store, name);
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

class StoreLimiter<A extends boolean> implements Limiter<A>, Maker {
  readonly degraded: boolean;
  owner: Settler = this;
  readonly name: string;
  readonly policies: readonly ParsedPolicy[];
  readonly #clock: Clock | undefined;
  readonly #store: Store<A>;
  readonly #async: boolean;
  readonly #table: Table<A>;
  readonly #plan: Plan;
  readonly #plans = new Map<number, Plan>();
  #closed = false;

  /**
   * @param degraded - whether it decides in place of the store that was asked for.
   * @param table - stands between the limiter and its part of the store.
   */
  constructor(
    name: string,
    policies: readonly ParsedPolicy[],
    store: Store<A>,
    clock: Clock | undefined,
    degraded = false,
    table: Table<A> = store.open(name, policies),
  ) {
    this.degraded = degraded;
    this.name = name;
    this.policies = policies;
    this.#store = store;
    this.#async = store.async;
    this.#clock = clock;
    this.#plan = planOf(
      policies,
      policies.map((policy) => policy.limit),
    );
    this.#table = table;
  }

  consume(key: string, options?: RequestOptions): Eventually<A, Decision> {
    return this.#async
      ? (this.#judgeLater(key, options, true) as Eventually<A, Decision>)
      : this.#judge(key, options, true);
  }

  peek(key: string, options?: RequestOptions): Eventually<A, Decision> {
    return this.#async
      ? (this.#judgeLater(key, options, false) as Eventually<A, Decision>)
      : this.#judge(key, options, false);
  }

  refund(decision: Decision, units?: number): Eventually<A, void> {
    return this.#async ? rejecting(() => this.#giveBack(decision, units)) : this.#giveBack(decision, units);
  }

  settle(decision: Decision, units: number): Eventually<A, void> {
    return this.#async ? rejecting(() => this.#settle(decision, units)) : this.#settle(decision, units);
  }

  reset(key: string): Eventually<A, void> {
    return this.#async ? rejecting(() => this.#reset(key)) : this.#reset(key);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    taken().get(placeOf(this.#store))?.delete(this.name);
    this.#table.close();
  }

  #judge(key: string, options: RequestOptions | undefined, charge: boolean): Eventually<A, Decision> {
    this.#check(key);
    const cost = options === undefined ? 1 : costOf(options);
    const plan = options?.limit === undefined ? this.#plan : this.#planFor(options.limit);
    const answer = plan.terms.length === 0 ? [] : this.#table.decide(key, cost, plan, charge, this.#now());
    return readAnswer(this.policies, cost, answer as Answer, this, key, plan, charge) as Eventually<
      A,
      Decision
    >;
  }

  /** Apart from the other, as what a promise holds on to would be allocated by both. */
  async #judgeLater(key: string, options: RequestOptions | undefined, charge: boolean): Promise<Decision> {
    this.#check(key);
    const cost = options === undefined ? 1 : costOf(options);
    const plan = options?.limit === undefined ? this.#plan : this.#planFor(options.limit);
    const answer =
      plan.terms.length === 0 ? [] : await this.#table.decide(key, cost, plan, charge, this.#now());
    return readAnswer(this.policies, cost, answer, this, key, plan, charge);
  }

  #reset(key: string): Eventually<A, void> {
    this.#check(key);
    return this.#table.reset(key);
  }

  #giveBack(decision: Decision, wanted: number | undefined): Eventually<A, void> {
    const receipt = this.#receiptOf(decision);
    const units = wanted === undefined ? receipt.left : parseUnits(wanted, 'units');
    return this.#take(receipt, Math.min(units, receipt.left));
  }

  #settle(decision: Decision, cost: number): Eventually<A, void> {
    const receipt = this.#receiptOf(decision);
    const units = parseUnits(cost, 'units');
    return this.#take(receipt, receipt.charged ? receipt.left - units : 0);
  }

  #receiptOf(decision: Decision): Receipt {
    const receipt = receiptOf(decision);
    if (receipt?.limiter !== this) {
      throw expected('ERR_SLUICE_ARGUMENT', 'decision', 'a decision of this limiter', decision);
    }
    this.#check(receipt.key);
    return receipt;
  }

  /** Takes units from a charge; negative ones are added. */
  #take(receipt: Receipt, units: number): Eventually<A, void> {
    if (units === 0 || receipt.plan.terms.length === 0) return undefined as Eventually<A, void>;
    const { charges } = receipt;
    // First, as the clock is the caller's and may throw.
    const now = this.#now();
    receipt.take(units);
    const done = this.#table.correct(receipt.key, units, receipt.plan, charges, now);
    if (!this.#async) return done;
    // What has surely not been done may be tried again.
    const failed = (error: unknown) => {
      if (isStoreError(error) && error.outcome === 'not-run') receipt.take(-units);
      throw error;
    };
    return (done as Promise<void>).catch(failed) as Eventually<A, void>;
  }

  #check(key: string): void {
    if (this.#closed) throw new ArgumentError('ERR_SLUICE_CLOSED', `The limiter \`${this.name}\` is closed.`);
    if (typeof key !== 'string') throw expected('ERR_SLUICE_ARGUMENT', 'key', 'a string', key);
  }

  #now(): number | undefined {
    return nowOf(this.#clock);
  }

  #planFor(limit: number | Readonly<Record<string, number>>): Plan {
    if (typeof limit !== 'object' || limit === null) return this.#planForLone(limit);
    const names = this.policies.map((policy) => policy.name);
    const given = Object.keys(limit);
    // Of one policy it must say something: an empty object there is a mistake rather than a choice.
    const silent = given.length === 0 && names.length === 1;
    if (!isRecord(limit) || silent || given.some((name) => !names.includes(name))) {
      const what = `an object by policy name (${names.join(', ')})`;
      throw expected('ERR_SLUICE_ARGUMENT', 'limit', what, given.length > 0 ? given.join(', ') : limit);
    }
    return planOf(
      this.policies,
      this.policies.map((policy) =>
        Object.hasOwn(limit, policy.name)
          ? parseLimit(limit[policy.name], `limit.${policy.name}`, 'ERR_SLUICE_ARGUMENT')
          : policy.limit,
      ),
    );
  }

  #planForLone(limit: number): Plan {
    const known = this.#plans.get(limit);
    if (known !== undefined) return known;
    if (this.policies.length > 1) {
      throw expected(
        'ERR_SLUICE_ARGUMENT',
        'limit',
        'an object by policy name, as there are several policies',
        limit,
      );
    }
    const plan = planOf(this.policies, [parseLimit(limit, 'limit', 'ERR_SLUICE_ARGUMENT')]);
    if (this.#plans.size >= MOST_PLANS) this.#plans.clear();
    this.#plans.set(limit, plan);
    return plan;
  }
}

function nowOf(clock: Clock | undefined): number | undefined {
  return clock === undefined ? undefined : instant(clock.now());
}

/** The cost that a request brings along; all it brings along is checked. */
function costOf(options: RequestOptions): number {
  if (!isRecord(options)) throw expected('ERR_SLUICE_ARGUMENT', 'options', 'an object', options);
  for (const key in options) {
    if (key !== 'cost' && key !== 'limit') {
      refuseUnknown(options, ['cost', 'limit'], 'a request', 'ERR_SLUICE_ARGUMENT');
    }
  }
  return options.cost === undefined ? 1 : parseUnits(options.cost, 'cost');
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

/** Returns the names in use on the store, or throws if `name` is one of them. */
function namesOf(store: Store, name: string): Set<string> {
  const names = taken().get(placeOf(store)) ?? new Set();
  if (names.has(name)) {
    throw new ArgumentError(
      'ERR_SLUICE_NAME_TAKEN',
      `Expected \`name\` to be new to this store, got ${JSON.stringify(name)}: two limiters of one name would eat each other's quota, also on two stores of one Redis client. Give each its own name.`,
    );
  }
  taken().set(placeOf(store), names);
  return names;
}

function placeOf(store: Store): object {
  return store.place ?? store;
}

/** What throws on a synchronous store rejects on an asynchronous one. */
function rejecting<A extends boolean, T>(work: () => Eventually<A, T>): Eventually<A, T> {
  try {
    return Promise.resolve(work()) as Eventually<A, T>;
  } catch (error) {
    return Promise.reject(error) as Eventually<A, T>;
  }
}
