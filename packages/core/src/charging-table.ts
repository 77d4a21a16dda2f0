/**
 * A limiter's part of a store, which charges what was used while the store could not be asked.
 *
 * @module
 */

import { setImmediate } from 'node:timers/promises';
import type { ChargeOutcome, Debt, Debts } from './debts.js';
import { isStoreError } from './errors.js';
import { correctionOf, type Loan, lack, undo } from './loans.js';
import type { Answer, Charge, Gate, ParsedPolicy, Plan, Table } from './types.js';

/** How many keys are charged at once when the store is back. */
const BATCH = 100;

/** What the store refuses to be charged, because a node is away or a key is not ours, is not tried more often. */
const BETWEEN_SWEEPS_MS = 500;

/**
 * Sends the charge of a key that owes right before the key's next decision, and those of all other keys, batch by
 * batch, when the store has answered again.
 *
 * A charge is kept for later if nothing of it was run, and is never sent again where it may have been.
 */
export class ChargingTable implements Table<true> {
  readonly block: Table<true>['block'];
  readonly unblock: Table<true>['unblock'];
  readonly #table: Table<true>;
  readonly #debts: Debts;
  readonly #now: () => number | undefined;
  #failing = false;
  #sweeping = false;
  #nextSweepMs = 0;
  #closed = false;

  constructor(table: Table<true>, debts: Debts, now: () => number | undefined) {
    this.#table = table;
    this.#debts = debts;
    this.#now = now;
    // As the store has them, or has none.
    this.block = table.block?.bind(table);
    this.unblock = table.unblock?.bind(table);
  }

  get gate(): Gate | undefined {
    return this.#table.gate;
  }

  decide(id: string, cost: number, plan: Plan, charge: boolean, now: number | undefined): Promise<Answer> {
    // Not with the request that finds out whether the store is back: were that lost, so would be what the key owes.
    if (this.#debts.size > 0 && this.#serves) {
      for (const debtor of this.#debts.debtorsOf(id)) {
        const debt = this.#debts.take(debtor, now);
        if (debt !== undefined) void this.#send(debt, now);
      }
    }
    return this.#table.decide(id, cost, plan, charge, now);
  }

  charge(id: string, units: readonly number[], plan: Plan, now: number | undefined): Promise<Answer> {
    return this.#table.charge(id, units, plan, now);
  }

  correct(
    id: string,
    units: readonly number[],
    plan: Plan,
    charges: readonly Charge[],
    now: number | undefined,
  ): Promise<ArrayLike<number>> {
    return this.#table.correct(id, units, plan, charges, now);
  }

  reset(id: string): Promise<void> {
    return this.#table.reset(id);
  }

  update(policies: readonly ParsedPolicy[]): void {
    this.#table.update?.(policies);
  }

  close(): void {
    this.#closed = true;
    this.#table.close();
  }

  /** Takes units off a loan wherever it is by now, or adds negative ones to it. */
  async correctLoan(loan: Loan, units: number, now: number | undefined): Promise<void> {
    while (loan.debtor.sent !== undefined && !loan.debtor.gone) await loan.debtor.sent;
    const correction = correctionOf(loan, units);
    if (correction === undefined) {
      this.#debts.correct(loan, units, now);
      // It may be owed anew, and the key may never come again.
      this.#failing ||= units < 0;
      return;
    }
    const { units: each, charges } = correction;
    if (each.every((count) => count === 0)) return;
    try {
      const plan = this.#debts.renewed(loan.plan);
      lack(loan, await this.#table.correct(loan.id, each, plan, charges, now));
    } catch (error) {
      if (isStoreError(error) && error.outcome === 'not-run') undo(loan, correction);
      throw error;
    }
  }

  /** The store has failed to decide. */
  failed(): void {
    this.#failing = true;
  }

  /** The store has decided. */
  answered(): void {
    if (!this.#failing || this.#sweeping || performance.now() < this.#nextSweepMs) return;
    this.#failing = false;
    if (this.#debts.size > 0) void this.#sweep();
  }

  get #serves(): boolean {
    return this.gate === undefined || this.gate.serves;
  }

  async #send(debt: Debt, now: number | undefined): Promise<void> {
    let outcome: ChargeOutcome;
    try {
      outcome = await this.#table.charge(debt.id, debt.units, debt.plan, now);
    } catch (error) {
      outcome = isStoreError(error) ? error.outcome : 'unknown';
    }
    debt.conclude(outcome);
    // What is owed still is swept up after an answer that comes later.
    this.#failing ||= this.#debts.size > 0;
  }

  /** Charges every key that owes now. What is left when the store is away again waits until it has answered again. */
  async #sweep(): Promise<void> {
    this.#sweeping = true;
    const ids = [...this.#debts.ids];
    // Whole nodes may be away: what was refused before is tried again a few keys at a time.
    let retries = BATCH;
    const take = (id: string, now: number | undefined) => {
      const debt = this.#debts.take(id, now, retries > 0);
      if (debt?.refused) retries -= 1;
      return debt ?? [];
    };
    try {
      for (let i = 0; i < ids.length && this.#serves && !this.#closed; i += BATCH) {
        const now = this.#now();
        const debts = ids.slice(i, i + BATCH).flatMap((id) => take(id, now));
        await Promise.all(debts.map((debt) => this.#send(debt, now)));
        await setImmediate();
      }
    } catch {
      // The clock is the caller's, and may throw.
    }
    this.#failing ||= this.#debts.size > 0;
    this.#sweeping = false;
    this.#nextSweepMs = performance.now() + BETWEEN_SWEEPS_MS;
  }
}
