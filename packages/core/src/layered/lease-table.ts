/**
 * A table that charges its store in advance, and admits by what was charged.
 *
 * @module
 */

import { LONGEST_KEY } from '../key.js';
import { renewedPlan } from '../policy.js';
import { ANSWER_WIDTH, type Answer, type Charge, type ParsedPolicy, type Plan } from '../types.js';
import { FrontTable } from './front-table.js';
import { heldKey, MOST_KEYS } from './held-key.js';
import { LeaseAccount } from './lease-account.js';
import { type LeasePlan, leasePlanOf } from './lease-terms.js';
import type { Sizing } from './sizing.js';
import type { LayeredCounts, StrictTable } from './strict-table.js';

/** So often a request waits for what another asks for; then it asks by itself. */
const MOST_WAITS = 4;

/**
 * Admits by units that the store has charged already: so the total is never above the limit, and what gets lost counts as
 * used. Units that are not used are given back.
 */
export class LeaseTable extends FrontTable<StrictTable> {
  closing: Promise<unknown> | undefined;
  readonly #sizing: Sizing;
  readonly #counts: LayeredCounts;
  #policies: readonly ParsedPolicy[];
  #plans = new WeakMap<Plan, LeasePlan | null>();
  readonly #accounts = new Map<string, LeaseAccount>();
  /** Those that hold units. */
  readonly #holding = new Set<LeaseAccount>();
  #timer: NodeJS.Timeout | undefined;

  constructor(table: StrictTable, policies: readonly ParsedPolicy[], sizing: Sizing, counts: LayeredCounts) {
    super(table);
    this.#policies = policies;
    this.#sizing = sizing;
    this.#counts = counts;
  }

  override async decide(
    id: string,
    cost: number,
    plan: Plan,
    charge: boolean,
    now: number | undefined,
  ): Promise<Answer> {
    this.#counts.decisions += 1;
    const lease = this.#leaseOf(plan);
    // A long key would be held whole.
    if (lease === null || cost === 0 || id.length > LONGEST_KEY)
      return this.table.judge(id, cost, lease?.plan ?? plan, charge, now);
    const realMs = performance.now();
    const account = this.#accountOf(id, plan, lease);
    account.usedMs = realMs;
    account.now = now;
    if (!charge) return this.#peek(account, cost, now);
    account.asked(cost, now ?? realMs);
    for (let waited = 0; waited < MOST_WAITS; waited++) {
      const known = this.#known(account, cost, now);
      if (known !== undefined) return known;
      if (account.asking === undefined) return this.#ask(account, cost, now);
      const failed = await account.asking.then(
        () => false,
        () => true,
      );
      // Where the store fails, each is to fail by itself.
      if (failed || account.end !== undefined) break;
    }
    const known = account.end === undefined ? this.#known(account, cost, now) : undefined;
    return known ?? this.table.judge(id, cost, this.#planOf(account), true, now);
  }

  override charge(
    id: string,
    units: readonly number[],
    plan: Plan,
    now: number | undefined,
  ): Promise<Answer> {
    return super.charge(id, units, this.#leaseOf(plan)?.plan ?? plan, now);
  }

  override correct(
    id: string,
    units: readonly number[],
    plan: Plan,
    charges: readonly Charge[],
    now: number | undefined,
  ): Promise<ArrayLike<number>> {
    this.#askAgain(heldKey(id));
    return super.correct(id, units, this.#leaseOf(plan)?.plan ?? plan, charges, now);
  }

  override reset(id: string): Promise<void> {
    this.#drop(heldKey(id), 'reset');
    return super.reset(id);
  }

  /** What is held was charged under other numbers, and is not used any more: it goes back by those, first of all. */
  override update(policies: readonly ParsedPolicy[]): void {
    const realMs = performance.now();
    for (const account of this.#holding) void this.#giveBack(account, account.nowAt(realMs));
    for (const key of [...this.#accounts.keys()]) this.#drop(key, 'update');
    super.update(policies);
    this.#policies = policies;
    this.#plans = new WeakMap();
  }

  /** Gives back what is held. */
  override close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const realMs = performance.now();
    const done = [...this.#holding].map((account) => this.#giveBack(account, account.nowAt(realMs)));
    this.closing = Promise.all(done).then(() => super.close());
  }

  /** Another process has given units back, or made the key as new. */
  forget(key: string): void {
    this.table.forget(key);
    this.#askAgain(key);
  }

  /** What can be said without asking. */
  #known(account: LeaseAccount, cost: number, now: number | undefined): Answer | undefined {
    const nowMs = now ?? performance.now();
    if (account.usable(nowMs) >= cost) {
      account.use(cost);
      if (!account.holds) this.#holding.delete(account);
      return account.answer(cost, nowMs, nowMs);
    }
    const denial = this.table.denial(account.id, cost, account.lease.plan, now);
    if (denial !== undefined || !this.#sizing.waits) return denial;
    const untilMs = account.scarceMs + this.#sizing.horizonMs;
    if (nowMs >= untilMs || cost > account.leastCapacity) return undefined;
    return account.answer(cost, nowMs, untilMs);
  }

  async #peek(account: LeaseAccount, cost: number, now: number | undefined): Promise<Answer> {
    const { id, lease } = account;
    const nowMs = now ?? performance.now();
    const usable = account.usable(nowMs);
    if (usable >= cost) return account.answer(cost, nowMs, nowMs);
    const answer = Array.from(await this.table.judge(id, Math.max(1, cost - usable), lease.plan, false, now));
    for (let i = 0; i < lease.terms.length; i++) answer[i * ANSWER_WIDTH] += usable;
    return answer;
  }

  #ask(account: LeaseAccount, cost: number, now: number | undefined): Promise<Answer> {
    const nowMs = now ?? performance.now();
    if (account.ended(nowMs)) void this.#giveBack(account, nowMs);
    const wants = this.#sizing.wants(account, cost, nowMs);
    const asking = wants === 0 ? this.#askForOne(account, cost, now) : this.#take(account, cost, wants, now);
    account.asking = asking;
    const over = () => {
      if (account.asking === asking) account.asking = undefined;
    };
    asking.then(over, over);
    return asking;
  }

  /** As in mode `strict`. */
  async #askForOne(account: LeaseAccount, cost: number, now: number | undefined): Promise<Answer> {
    const askedMs = now ?? performance.now();
    const answer = await this.table.judge(account.id, cost, account.lease.plan, true, now);
    account.note(answer, askedMs);
    if (this.#sizing.waits && account.waits(answer)) account.scarceMs = askedMs;
    return answer;
  }

  async #take(account: LeaseAccount, cost: number, wants: number, now: number | undefined): Promise<Answer> {
    const askedMs = now ?? performance.now();
    const wanted = account.missing(wants, askedMs);
    const { id, lease } = account;
    const answer = await this.table.book(id, wanted, lease.plan, now);
    // Of a key that was reset meanwhile, this may have been charged before.
    if (account.end === 'reset') return this.table.judge(id, cost, lease.plan, true, now);
    if (account.end === 'update') return this.#takeLate(account, cost, wanted, answer, askedMs, now);
    // What has ended on the way.
    if (account.ended(now ?? performance.now())) void this.#giveBack(account, now ?? performance.now());
    const all = account.take(wanted, answer, askedMs, now === undefined ? 1 : 0);
    if (account.holds) {
      this.#holding.add(account);
      this.#schedule();
    }
    const nowMs = now ?? performance.now();
    // Windows have waits that are long, and exact: those are remembered.
    const exact = lease.terms.some(
      ({ alignedMs, slow }, i) => !all[i] && (slow || (alignedMs > 0 && answer[i * ANSWER_WIDTH + 4] === 0)),
    );
    if (account.usable(nowMs) < cost && (exact || !this.#sizing.waits)) {
      return this.table.judge(id, cost, lease.plan, true, now);
    }
    return this.#known(account, cost, now) ?? this.table.judge(id, cost, lease.plan, true, now);
  }

  /** Of what was charged by numbers that hold no longer, gives back all, and asks for the request alone. */
  #takeLate(
    account: LeaseAccount,
    cost: number,
    wanted: readonly number[],
    answer: Answer,
    askedMs: number,
    now: number | undefined,
  ): Promise<Answer> {
    const plan = this.#planOf(account);
    account.take(wanted, answer, askedMs, 0);
    void this.#giveBack(account, now ?? performance.now(), plan);
    return this.table.judge(account.id, cost, plan, true, now);
  }

  /** Never rejects: what could not be given back counts as used. */
  async #giveBack(account: LeaseAccount, nowMs: number, plan: Plan = account.lease.plan): Promise<void> {
    const { id, lease, now, charges } = account;
    const units = account.putDown(nowMs);
    this.#holding.delete(account);
    if (units.every((count) => count === 0)) return;
    // Where hardly anything comes back, others may remember for long that nothing was left.
    const slow = lease.terms.some((term, i) => term.slow && units[i] > 0);
    try {
      await (slow
        ? this.table.correct(id, units, plan, charges, now)
        : this.table.rebook(id, units, plan, charges, now));
    } catch {}
  }

  #leaseOf(plan: Plan): LeasePlan | null {
    const known = this.#plans.get(plan);
    if (known !== undefined) return known;
    const lease = leasePlanOf(plan, this.#policies, this.#sizing.horizonMs) ?? null;
    this.#plans.set(plan, lease);
    return lease;
  }

  /** How the store judges by now. */
  #planOf({ end, lease }: LeaseAccount): Plan {
    return end === 'update' ? renewedPlan(lease.plan, this.#policies) : lease.plan;
  }

  #accountOf(id: string, plan: Plan, lease: LeasePlan): LeaseAccount {
    const key = heldKey(id);
    const known = this.#accounts.get(key);
    if (known !== undefined) return known;
    if (this.#accounts.size >= MOST_KEYS) {
      const [[oldest, other]] = this.#accounts;
      void this.#giveBack(other, other.nowAt(performance.now()));
      this.#accounts.delete(oldest);
    }
    const account = new LeaseAccount(id, plan, lease, this.#sizing.horizonMs);
    this.#accounts.set(key, account);
    return account;
  }

  #drop(key: string, end: LeaseAccount['end']): void {
    const account = this.#accounts.get(key);
    if (account === undefined) return;
    account.end = end;
    this.#holding.delete(account);
    this.#accounts.delete(key);
  }

  #askAgain(key: string): void {
    const account = this.#accounts.get(key);
    if (account !== undefined) account.scarceMs = -Infinity;
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#sweep();
    }, this.#sizing.idleMs).unref();
  }

  /** Gives back what is not asked for any more. */
  #sweep(): void {
    const realMs = performance.now();
    for (const account of this.#holding) {
      const nowMs = account.nowAt(realMs);
      if (realMs - account.usedMs >= this.#sizing.idleMs || account.ended(nowMs)) {
        void this.#giveBack(account, nowMs);
      }
    }
    if (this.#holding.size > 0) this.#schedule();
  }
}
