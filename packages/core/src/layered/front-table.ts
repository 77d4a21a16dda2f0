/**
 * What stands in front of a table and passes on what it does not do itself.
 *
 * @module
 */

import type { Answer, Charge, Gate, ParsedPolicy, Plan, Table } from '../types.js';

export class FrontTable<Behind extends Table<true> = Table<true>> implements Table<true> {
  protected readonly table: Behind;

  constructor(table: Behind) {
    this.table = table;
  }

  get gate(): Gate | undefined {
    return this.table.gate;
  }

  decide(id: string, cost: number, plan: Plan, charge: boolean, now: number | undefined): Promise<Answer> {
    return this.table.decide(id, cost, plan, charge, now);
  }

  charge(id: string, units: readonly number[], plan: Plan, now: number | undefined): Promise<Answer> {
    return this.table.charge(id, units, plan, now);
  }

  correct(
    id: string,
    units: readonly number[],
    plan: Plan,
    charges: readonly Charge[],
    now: number | undefined,
  ): Promise<ArrayLike<number>> {
    return this.table.correct(id, units, plan, charges, now);
  }

  reset(id: string): Promise<void> {
    return this.table.reset(id);
  }

  update(policies: readonly ParsedPolicy[]): void {
    this.table.update?.(policies);
  }

  close(): void {
    this.table.close();
  }
}
