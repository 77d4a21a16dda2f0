/**
 * What the keys of a limiter owe a store that could not be asked.
 *
 * @module
 */

import { MemoryStore } from './memory/memory-store.js';
import { ANSWER_WIDTH, type Charge, type ParsedPolicy, type Plan, type Table } from './types.js';

/** As many keys as are remembered; those that have owed for longest are forgotten first. */
export const MOST_KEYS = 100_000;

/** And so many characters of their ids: a long id is remembered whole, because the store is told it. */
const MOST_CHARACTERS = 128 * MOST_KEYS;

/** What one key owes: so many units to each policy of the plan. */
export interface Debt {
  readonly id: string;
  readonly units: readonly number[];
  readonly plan: Plan;
}

/** A key that owes. */
interface Debtor {
  plan: Plan;
  /** While its debt is being charged: what it has come to owe meanwhile. */
  later: { units: number; plan: Plan; now: number | undefined }[] | undefined;
}

/** One request's part of a debt, for a refund. */
export interface Loan {
  readonly debtor: object;
  readonly plan: Plan;
  readonly charges: readonly Charge[];
}

/**
 * Keeps debts in a table of memory under the limiter's own policies. So a debt ages as the use that it stands for would
 * have: what would be forgotten by now is not charged any more.
 */
export class Debts {
  readonly #table: Table<false>;
  readonly #debtors = new Map<string, Debtor>();
  #characters = 0;

  constructor(policies: readonly ParsedPolicy[]) {
    this.#table = new MemoryStore({ maxKeys: MOST_KEYS }).open('debts', policies);
  }

  /** How many keys owe something, or did until it aged. */
  get size(): number {
    return this.#debtors.size;
  }

  /** The keys that owe, those that have for longest first. */
  get ids(): IterableIterator<string> {
    return this.#debtors.keys();
  }

  /** Adds the units of a request that was judged by `plan`. */
  add(id: string, units: number, plan: Plan, now: number | undefined): Loan | undefined {
    const known = this.#debtors.get(id);
    if (known?.later !== undefined) {
      known.later.push({ units, plan, now });
      return undefined;
    }
    const debtor = known ?? this.#open(id, plan);
    debtor.plan = plan;
    const answer = this.#table.charge(
      id,
      plan.terms.map(() => units),
      plan,
      now,
    );
    const charges = plan.terms.map((term, i) => ({
      at: answer[i * ANSWER_WIDTH + 3],
      level: term.numbers[0] - answer[i * ANSWER_WIDTH],
    }));
    return { debtor, plan, charges };
  }

  /** Takes units off again, unless they have been charged meanwhile. */
  refund(id: string, units: number, { debtor, plan, charges }: Loan, now: number | undefined): void {
    const known = this.#debtors.get(id);
    if (known === debtor && known.later === undefined) this.#table.refund(id, units, plan, charges, now);
  }

  /** Returns what the key owes now, if it does; until {@link settle} it is not returned again. */
  take(id: string, now: number | undefined): Debt | undefined {
    const debtor = this.#debtors.get(id);
    if (debtor === undefined || debtor.later !== undefined) return undefined;
    const { plan } = debtor;
    const answer = this.#table.decide(id, 0, plan, false, now);
    const units = plan.terms.map((term, i) => Math.max(0, term.numbers[0] - answer[i * ANSWER_WIDTH]));
    if (units.every((count) => count === 0)) {
      this.forget(id);
      return undefined;
    }
    debtor.later = [];
    return { id, units, plan };
  }

  /** Ends what {@link take} began: the debt is gone, or owed still. */
  settle(id: string, gone: boolean): void {
    const debtor = this.#debtors.get(id);
    const later = debtor?.later;
    if (debtor === undefined || later === undefined) return;
    debtor.later = undefined;
    if (gone) this.forget(id);
    for (const { units, plan, now } of later) this.add(id, units, plan, now);
  }

  /** The key owes nothing. */
  forget(id: string): void {
    if (!this.#debtors.delete(id)) return;
    this.#characters -= id.length;
    this.#table.reset(id);
  }

  #open(id: string, plan: Plan): Debtor {
    const debtor = { plan, later: undefined };
    this.#debtors.set(id, debtor);
    this.#characters += id.length;
    for (const oldest of this.#debtors.keys()) {
      const fits = this.#debtors.size <= MOST_KEYS && this.#characters <= MOST_CHARACTERS;
      if (fits || oldest === id) break;
      this.forget(oldest);
    }
    return debtor;
  }
}
