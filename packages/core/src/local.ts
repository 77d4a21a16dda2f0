/**
 * Deciding in this process while the store fails.
 *
 * @module
 */

import type { ChargingTable } from './charging-table.js';
import type { Debts } from './debts.js';
import type { Decider } from './decider.js';
import { instantOf, type Maker, type Receipt, readAnswer, receiptOf } from './decision.js';
import { isStoreError, type StoreError } from './errors.js';
import { type Fallback, planFor } from './ladder.js';
import type { RequestOptions } from './limiter.js';
import type { Loan } from './loans.js';
import type { Decision, Duration, ParsedPolicy, Plan } from './types.js';

/** A store that is away is asked twice in this time whether it is back. */
const BACK_MS = 1000;

/** Decides in memory, with a share of every limit, and lets the store be charged when it is back. */
export class Local implements Fallback {
  #policies: readonly ParsedPolicy[];
  readonly #limiter: Decider<false> & Maker;
  readonly #share: number;
  readonly #table: ChargingTable;
  readonly #debts: Debts;
  readonly #now: () => number | undefined;
  /** Of a request that brings no limit of its own. */
  #plan: Plan;
  readonly #loans = new WeakMap<Decision, readonly Loan[]>();

  /**
   * @param policies - as the store judges.
   * @param limiter - judges by {@link sharePolicies} of them.
   */
  constructor(
    policies: readonly ParsedPolicy[],
    limiter: Decider<false> & Maker,
    share: number,
    table: ChargingTable,
    debts: Debts,
    now: () => number | undefined,
  ) {
    this.#policies = policies;
    this.#limiter = limiter;
    this.#share = share;
    this.#table = table;
    this.#debts = debts;
    this.#now = now;
    this.#plan = planFor(policies, undefined);
  }

  answered(): void {
    this.#table.answered();
  }

  decide(failure: StoreError, key: string, request: RequestOptions, charge: boolean): Decision {
    this.#table.failed();
    // Before anything is charged, as the clock is the caller's and may throw.
    const now = this.#now();
    const { cost = 1, limit } = request;
    const own = limit === undefined ? { cost } : { cost, limit: shareLimit(limit, this.#share) };
    const plan = limit === undefined ? this.#plan : planFor(this.#policies, limit);
    if (!charge) return this.#whole(this.#limiter.peek(key, own), key, cost, plan);
    const decision = this.#whole(this.#limiter.consume(key, own), key, cost, plan);
    // What the store may have charged already must not be charged again.
    if (decision.allowed && failure.outcome === 'not-run') {
      this.#loans.set(decision, this.#debts.addEach(key, cost, plan, now));
    }
    return decision;
  }

  /** What is more than the share, but not more than the whole, may be admitted when the store is back: that is no "never". */
  #whole(decision: Decision, key: string, cost: number, whole: Plan): Decision {
    const { retryAfterMs, block } = decision;
    if (
      retryAfterMs !== Infinity ||
      block !== undefined ||
      whole.terms.some((term) => cost > term.numbers[0])
    )
      return decision;
    const { plan } = receiptOf(decision) as Receipt;
    const at = instantOf(decision) as number;
    const answer = plan.places.flatMap((place) => {
      const { allowed, remaining, retryAfterMs, resetMs } = decision.policies[place];
      const wait = retryAfterMs === Infinity ? BACK_MS : retryAfterMs;
      return [remaining, allowed ? 0 : wait, resetMs, at, allowed ? wait : 0];
    });
    return readAnswer(this.#limiter.policies, cost, answer, this.#limiter, key, plan, false);
  }

  made(decision: Decision): boolean {
    return receiptOf(decision)?.limiter === this.#limiter;
  }

  refund(decision: Decision, units: number | undefined): Promise<void> {
    return this.#correct(decision, () => this.#limiter.refund(decision, units));
  }

  settle(decision: Decision, units: number): Promise<void> {
    return this.#correct(decision, () => this.#limiter.settle(decision, units));
  }

  /** What is given back or added here is owed less or more to the store, or corrected there if it was charged since. */
  async #correct(decision: Decision, correct: () => void): Promise<void> {
    const before = receiptOf(decision) as Receipt;
    correct();
    const back = before.left - (receiptOf(decision) as Receipt).left;
    const loans = this.#loans.get(decision);
    if (loans === undefined || back === 0) return;
    const now = this.#now();
    const done = await Promise.allSettled(loans.map((loan) => this.#table.correctLoan(loan, back, now)));
    const errors = done.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
    if (errors.length === 0) return;
    // What has surely not been done may be tried again.
    const notRun = errors.every((error) => isStoreError(error) && error.outcome === 'not-run');
    if (notRun && errors.length === loans.length) {
      this.#limiter.settle(decision, (receiptOf(decision) as Receipt).left + back);
    }
    throw errors[0];
  }

  reset(key: string): void {
    this.#limiter.reset(key);
    for (const debtor of this.#debts.debtorsOf(key)) this.#debts.forget(debtor);
  }

  block(key: string, duration: Duration): void {
    this.#limiter.block(key, duration);
  }

  unblock(key: string): void {
    this.#limiter.unblock(key);
  }

  update(policies: readonly ParsedPolicy[]): void {
    this.#policies = policies;
    this.#plan = planFor(policies, undefined);
    this.#limiter.update(sharePolicies(policies, this.#share));
    this.#debts.update(policies);
  }

  close(): void {
    this.#limiter.close();
  }
}

/** Returns the policies with a share of their limits and capacities, of each at least 1. */
export function sharePolicies(policies: readonly ParsedPolicy[], share: number): readonly ParsedPolicy[] {
  if (share === 1) return policies;
  return policies.map((policy) =>
    Object.freeze({
      ...policy,
      // It admits the same, and there are rates that gcra does not hold.
      algorithm: policy.algorithm === 'gcra' ? 'token-bucket' : policy.algorithm,
      limit: shareOf(policy.limit, share),
      capacity: policy.capacity === undefined ? undefined : shareOf(policy.capacity, share),
    }),
  );
}

function shareLimit(
  limit: number | Readonly<Record<string, number>>,
  share: number,
): number | Readonly<Record<string, number>> {
  if (typeof limit === 'number') return shareOf(limit, share);
  return Object.fromEntries(Object.entries(limit).map(([name, each]) => [name, shareOf(each, share)]));
}

function shareOf(limit: number, share: number): number {
  if (limit === 0 || limit === Infinity) return limit;
  // 1 / 49 of 98 is 2, which is not what the product says.
  return Math.max(1, Math.floor(Number((limit * share).toPrecision(15))));
}
