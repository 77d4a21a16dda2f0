/**
 * A limiter's part of a store, which charges what was used while the store could not be asked.
 *
 * @module
 */

import { setImmediate } from 'node:timers/promises';
import type { Debt, Debts } from './debts.js';
import { isStoreError } from './errors.js';
import type { Answer, Charge, Gate, Plan, Table } from './types.js';

/** How many keys are charged at once when the store is back. */
const BATCH = 100;

/**
 * Sends the charge of a key that owes right before the key's next decision, and those of all other keys, batch by
 * batch, when the store has answered again.
 *
 * A charge is kept for later if nothing of it was run, and is never sent again where it may have been.
 */
export class ChargingTable implements Table<true> {
  readonly #table: Table<true>;
  readonly #debts: Debts;
  readonly #now: () => number | undefined;
  #failing = false;
  #sweeping = false;
  #closed = false;

  constructor(table: Table<true>, debts: Debts, now: () => number | undefined) {
    this.#table = table;
    this.#debts = debts;
    this.#now = now;
  }

  get gate(): Gate | undefined {
    return this.#table.gate;
  }

  decide(id: string, cost: number, plan: Plan, charge: boolean, now: number | undefined): Promise<Answer> {
    // Not with the request that finds out whether the store is back: were that lost, so would be what the key owes.
    const debt = this.#debts.size > 0 && this.#serves ? this.#debts.take(id, now) : undefined;
    if (debt !== undefined) void this.#send(debt, now);
    return this.#table.decide(id, cost, plan, charge, now);
  }

  charge(id: string, units: readonly number[], plan: Plan, now: number | undefined): Promise<Answer> {
    return this.#table.charge(id, units, plan, now);
  }

  refund(
    id: string,
    units: number,
    plan: Plan,
    charges: readonly Charge[],
    now: number | undefined,
  ): Promise<void> {
    return this.#table.refund(id, units, plan, charges, now);
  }

  reset(id: string): Promise<void> {
    return this.#table.reset(id);
  }

  close(): void {
    this.#closed = true;
    this.#table.close();
  }

  /** The store has failed to decide. */
  failed(): void {
    this.#failing = true;
  }

  /** The store has decided. */
  answered(): void {
    if (!this.#failing || this.#sweeping) return;
    this.#failing = false;
    if (this.#debts.size > 0) void this.#sweep();
  }

  get #serves(): boolean {
    return this.gate === undefined || this.gate.serves;
  }

  async #send(debt: Debt, now: number | undefined): Promise<void> {
    let gone = true;
    try {
      await this.#table.charge(debt.id, debt.units, debt.plan, now);
    } catch (error) {
      gone = !isStoreError(error) || error.outcome !== 'not-run';
    }
    this.#debts.settle(debt.id, gone);
  }

  /** Charges every key that owes now. */
  async #sweep(): Promise<void> {
    this.#sweeping = true;
    const ids = [...this.#debts.ids];
    try {
      for (let i = 0; i < ids.length && !this.#closed; i += BATCH) {
        if (!this.#serves) throw new Error('The store is away again.');
        const now = this.#now();
        const debts = ids.slice(i, i + BATCH).flatMap((id) => this.#debts.take(id, now) ?? []);
        await Promise.all(debts.map((debt) => this.#send(debt, now)));
        await setImmediate();
      }
    } catch {
      // What is left waits until the store has answered again.
      this.#failing = true;
    }
    this.#sweeping = false;
  }
}
