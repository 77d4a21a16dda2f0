/**
 * Deciding in this process while the store fails.
 *
 * @module
 */

import type { ChargingTable } from './charging-table.js';
import type { Debts, Loan } from './debts.js';
import { type Maker, receiptOf } from './decision.js';
import type { StoreError } from './errors.js';
import { type Fallback, planFor } from './ladder.js';
import type { Limiter, RequestOptions } from './limiter.js';
import type { Decision, ParsedPolicy, Plan } from './types.js';

/** Decides in memory, with a share of every limit, and lets the store be charged when it is back. */
export class Local implements Fallback {
  readonly #policies: readonly ParsedPolicy[];
  readonly #limiter: Limiter<false> & Maker;
  readonly #share: number;
  readonly #table: ChargingTable;
  readonly #debts: Debts;
  readonly #now: () => number | undefined;
  /** Of a request that brings no limit of its own. */
  readonly #plan: Plan;
  readonly #loans = new WeakMap<Decision, Loan>();

  /**
   * @param policies - as the store judges.
   * @param limiter - judges by {@link sharePolicies} of them.
   */
  constructor(
    policies: readonly ParsedPolicy[],
    limiter: Limiter<false> & Maker,
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
    const { cost = 1, limit } = request;
    const own = limit === undefined ? { cost } : { cost, limit: shareLimit(limit, this.#share) };
    if (!charge) return this.#limiter.peek(key, own);
    const decision = this.#limiter.consume(key, own);
    // What the store may have charged already must not be charged again.
    if (decision.allowed && cost > 0 && failure.outcome === 'not-run') {
      const plan = limit === undefined ? this.#plan : planFor(this.#policies, limit);
      const loan = this.#debts.add(key, cost, plan, this.#now());
      if (loan !== undefined) this.#loans.set(decision, loan);
    }
    return decision;
  }

  refund(decision: Decision, units: number | undefined): boolean {
    return this.#correct(decision, () => this.#limiter.refund(decision, units));
  }

  settle(decision: Decision, units: number): boolean {
    return this.#correct(decision, () => this.#limiter.settle(decision, units));
  }

  /** What is given back or added here is owed less or more to the store. */
  #correct(decision: Decision, correct: () => void): boolean {
    const receipt = receiptOf(decision);
    if (receipt?.limiter !== this.#limiter) return false;
    correct();
    const loan = this.#loans.get(decision);
    const back = receipt.left - (receiptOf(decision)?.left ?? 0);
    if (loan === undefined) return true;
    if (back > 0) this.#debts.refund(receipt.key, back, loan, this.#now());
    else if (back < 0) this.#debts.add(receipt.key, -back, loan.plan, this.#now());
    return true;
  }

  reset(key: string): void {
    this.#limiter.reset(key);
    this.#debts.forget(key);
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
      // It decides the same, and there are rates that gcra does not hold.
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
  return limit === 0 || limit === Infinity ? limit : Math.max(1, Math.floor(limit * share));
}
