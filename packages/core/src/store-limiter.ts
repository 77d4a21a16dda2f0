/**
 * A limiter on one store: from a request to a decision, and back to the charge.
 *
 * @module
 */

import { blockingOf, blocks } from './blocking.js';
import { isRecord, parseUnits, refuseUnknown } from './check.js';
import { instant } from './clock.js';
import type { Decider } from './decider.js';
import { type Maker, type Receipt, readAnswer, receiptOf, type Settler, sparedOf } from './decision.js';
import { parseEndlessDuration } from './duration.js';
import { ArgumentError, expected, isStoreError } from './errors.js';
import type { RequestOptions } from './limiter.js';
import { freeName } from './names.js';
import { ownPlan, parseLimit, planOf, renewedPlan, wholePlan } from './policy.js';
import type {
  Answer,
  Clock,
  Decision,
  Duration,
  Eventually,
  ParsedPolicy,
  Plan,
  Store,
  Table,
} from './types.js';

/** A limit function may return many different limits; plans for so many are kept. */
const MOST_PLANS = 256;

/** A limiter that asks its store, and nobody in its place. */
export class StoreLimiter<A extends boolean> implements Decider<A>, Maker {
  readonly degraded: boolean;
  owner: Settler = this;
  readonly name: string;
  policies: readonly ParsedPolicy[];
  readonly #clock: Clock | undefined;
  readonly #store: Store<A>;
  readonly #async: boolean;
  readonly #table: Table<A>;
  #plan: Plan;
  readonly #plans = new Map<number, Plan>();
  /** By limits that are frozen, and so never change. */
  #plansByLimits = new WeakMap<object, Plan>();
  /** Whether plans may be older than the policies. */
  #updated = false;
  /** Of each decision that is being corrected, the end of that. */
  readonly #corrections = new WeakMap<Decision, Promise<void>>();
  #closed = false;

  /**
   * @param table - its part of the store.
   * @param degraded - whether it decides in place of the store that was asked for.
   * @throws ArgumentError if a policy blocks, and the store knows no blocks.
   */
  constructor(
    name: string,
    policies: readonly ParsedPolicy[],
    store: Store<A>,
    clock: Clock | undefined,
    table: Table<A>,
    degraded = false,
  ) {
    this.degraded = degraded;
    this.name = name;
    this.policies = policies;
    this.#store = store;
    this.#async = store.async;
    this.#clock = clock;
    this.#plan = ownPlan(policies);
    this.#table = table;
    if (blocks(policies)) blockingOf(table);
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
    const work = () => this.#giveBack(decision, units);
    return this.#async ? this.#inTurn(decision, work) : work();
  }

  settle(decision: Decision, units: number): Eventually<A, void> {
    const work = () => this.#settle(decision, units);
    return this.#async ? this.#inTurn(decision, work) : work();
  }

  reset(key: string): Eventually<A, void> {
    return this.#async ? rejecting(() => this.#reset(key)) : this.#reset(key);
  }

  block(key: string, duration: Duration): Eventually<A, void> {
    const work = () => {
      this.#check(key);
      const durationMs = parseEndlessDuration(duration, 'duration', 'ERR_SLUICE_ARGUMENT');
      return blockingOf(this.#table).block(key, durationMs, wholePlan(this.policies), this.#now());
    };
    return this.#async ? rejecting(work) : work();
  }

  unblock(key: string): Eventually<A, void> {
    const work = () => {
      this.#check(key);
      return blockingOf(this.#table).unblock(key, wholePlan(this.policies), this.#now());
    };
    return this.#async ? rejecting(work) : work();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    freeName(this.#store, this.name);
    this.#table.close();
  }

  /** @throws ArgumentError if a policy blocks, and the store knows no blocks. */
  update(policies: readonly ParsedPolicy[]): void {
    this.#checkOpen();
    if (blocks(policies)) blockingOf(this.#table);
    this.policies = policies;
    this.#plan = ownPlan(policies);
    this.#plans.clear();
    this.#plansByLimits = new WeakMap();
    this.#updated = true;
    this.#table.update?.(policies);
  }

  onEvicted(listener: Parameters<Decider['onEvicted']>[0]): void {
    if ('evicted' in this.#table) this.#table.evicted = listener;
  }

  /** A store that fails is nobody's to tell of here: it rejects. */
  onStoreChange(): void {}

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

  /** One correction of a decision after the other: what can be given back is known when the last one is done. */
  #inTurn(decision: Decision, work: () => Eventually<A, void>): Eventually<A, void> {
    const before = this.#corrections.get(decision);
    const done = (before === undefined ? rejecting(work) : before.then(work)) as Promise<void>;
    if (receiptOf(decision) === undefined) return done as Eventually<A, void>;
    const over = done.then(forget, forget);
    const corrections = this.#corrections;
    corrections.set(decision, over);
    return done as Eventually<A, void>;

    function forget(): void {
      if (corrections.get(decision) === over) corrections.delete(decision);
    }
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
    const { key, charges, lacking } = receipt;
    const plan = this.#updated ? renewedPlan(receipt.plan, this.policies) : receipt.plan;
    // First, as the clock is the caller's and may throw.
    const now = this.#now();
    // What a policy could not keep it does not give back.
    const spared = sparedOf(lacking, units);
    const each = spared.map((count) => units - count);
    receipt.take(
      units,
      spared.map((count) => -count),
    );
    const done = this.#table.correct(key, each, plan, charges, now);
    const note = (more: ArrayLike<number>) => receipt.take(0, more);
    if (!this.#async) return note(done as ArrayLike<number>) as Eventually<A, void>;
    // What has surely not been done may be tried again.
    const failed = (error: unknown) => {
      if (isStoreError(error) && error.outcome === 'not-run') receipt.take(-units, spared);
      throw error;
    };
    return (done as Promise<ArrayLike<number>>).then(note, failed) as Eventually<A, void>;
  }

  #check(key: string): void {
    this.#checkOpen();
    if (typeof key !== 'string') throw expected('ERR_SLUICE_ARGUMENT', 'key', 'a string', key);
  }

  #checkOpen(): void {
    if (this.#closed) throw new ArgumentError('ERR_SLUICE_CLOSED', `The limiter \`${this.name}\` is closed.`);
  }

  #now(): number | undefined {
    return nowOf(this.#clock);
  }

  #planFor(limit: number | Readonly<Record<string, number>>): Plan {
    if (typeof limit !== 'object' || limit === null) return this.#planForLone(limit);
    const known = this.#plansByLimits.get(limit);
    if (known !== undefined) return known;
    const names = this.policies.map((policy) => policy.name);
    const given = Object.keys(limit);
    // Of one policy it must say something: an empty object there is a mistake rather than a choice.
    const silent = given.length === 0 && names.length === 1;
    if (!isRecord(limit) || silent || given.some((name) => !names.includes(name))) {
      const what = `an object by policy name (${names.join(', ')})`;
      throw expected('ERR_SLUICE_ARGUMENT', 'limit', what, given.length > 0 ? given.join(', ') : limit);
    }
    const plan = planOf(
      this.policies,
      this.policies.map((policy) =>
        Object.hasOwn(limit, policy.name)
          ? parseLimit(limit[policy.name], `limit.${policy.name}`, 'ERR_SLUICE_ARGUMENT')
          : policy.limit,
      ),
    );
    if (Object.isFrozen(limit)) this.#plansByLimits.set(limit, plan);
    return plan;
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

/** The instant that a clock of the caller's says, if there is one. */
export function nowOf(clock: Clock | undefined): number | undefined {
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

/** What throws on a synchronous store rejects on an asynchronous one. */
function rejecting<A extends boolean, T>(work: () => Eventually<A, T>): Eventually<A, T> {
  try {
    return Promise.resolve(work()) as Eventually<A, T>;
  } catch (error) {
    return Promise.reject(error) as Eventually<A, T>;
  }
}
