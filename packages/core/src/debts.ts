/**
 * What the keys of a limiter owe a store that could not be asked.
 *
 * @module
 */

import type { Outcome } from './errors.js';
import { MemoryStore } from './memory/memory-store.js';
import { ANSWER_WIDTH, type Answer, type Charge, type ParsedPolicy, type Plan, type Table } from './types.js';

/** As many keys as are remembered; those that have owed for longest are forgotten first. */
export const MOST_KEYS = 100_000;

/** And so many characters of their ids: a long id is remembered whole, because the store is told it. */
const MOST_CHARACTERS = 128 * MOST_KEYS;

/** What becomes of a debt that is sent to the store: its answer, or that nothing was run, or that nobody knows. */
export type ChargeOutcome = Answer | Outcome;

/** What a key has come to owe until it is sent to the store. */
interface Debtor {
  /** Its place in the table: another debt of the key may arise while this one is on its way. */
  readonly row: string;
  /** The widest of the plans that its requests were judged by: by another, a part of what they took would not be seen. */
  plan: Plan;
  /** A debt of the same key that arose later. */
  next: Debtor | undefined;
  /** Settled when it is known what became of it. */
  sent: Promise<void> | undefined;
  /** Where the store has booked it, per term of the plan. */
  booked: readonly Charge[] | undefined;
  gone: boolean;
}

/** One request's part of a debt, by which it can be corrected. */
export interface Loan {
  readonly id: string;
  readonly debtor: Debtor;
  readonly plan: Plan;
  readonly charges: readonly Charge[];
}

/** What is owed: so many units to each policy of the plan. */
export interface Debt {
  readonly id: string;
  readonly units: readonly number[];
  readonly plan: Plan;
  /** Ends what {@link Debts.take} began. */
  conclude(outcome: ChargeOutcome): void;
}

/**
 * Keeps debts in a table of memory under the limiter's own policies. So a debt ages as the use that it stands for would
 * have: what would be forgotten by now is not charged any more.
 */
export class Debts {
  readonly #table: Table<false>;
  readonly #debtors = new Map<string, Debtor>();
  /** Those that are on their way to the store. */
  readonly #sent = new Map<Debtor, string>();
  #characters = 0;
  #rows = 0;

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
  add(id: string, units: number, plan: Plan, now: number | undefined): Loan {
    const debtor = this.#debtorOf(id, plan);
    const each = plan.terms.map(() => units);
    const charges = chargesBy(plan, this.#table.charge(debtor.row, each, plan, now));
    return { id, debtor, plan, charges };
  }

  /**
   * Takes units off a loan that the store has not booked, or adds negative ones to it. Units of what may be booked
   * there are not taken off; that more was used is owed anew.
   */
  correct({ id, debtor, plan, charges }: Loan, units: number, now: number | undefined): void {
    const owed = debtor.sent === undefined && !debtor.gone;
    if (!owed && units > 0) return;
    const { row } = owed ? debtor : this.#debtorOf(id, plan);
    this.#table.correct(row, units, plan, charges, now);
  }

  /** Returns what the key owes now, if it does. It is not returned again, unless it is concluded that it was not run. */
  take(id: string, now: number | undefined): Debt | undefined {
    const debtor = this.#debtors.get(id);
    if (debtor === undefined) return undefined;
    const { plan } = debtor;
    const answer = this.#table.decide(debtor.row, 0, plan, false, now);
    const units = plan.terms.map((term, i) => Math.max(0, term.numbers[0] - answer[i * ANSWER_WIDTH]));
    this.#replace(id, debtor.next);
    debtor.next = undefined;
    if (units.every((count) => count === 0)) {
      this.#end(debtor);
      return this.take(id, now);
    }
    this.#sent.set(debtor, id);
    let conclude!: Debt['conclude'];
    debtor.sent = new Promise((resolve) => {
      conclude = (outcome) => {
        this.#conclude(id, debtor, outcome);
        resolve();
      };
    });
    return { id, units, plan, conclude };
  }

  /** The key owes nothing. */
  forget(id: string): void {
    for (let debtor = this.#debtors.get(id); debtor !== undefined; debtor = debtor.next) this.#end(debtor);
    this.#replace(id, undefined);
    for (const [debtor, owner] of this.#sent) if (owner === id) this.#end(debtor);
  }

  #conclude(id: string, debtor: Debtor, outcome: ChargeOutcome): void {
    this.#sent.delete(debtor);
    if (outcome === 'not-run' && !debtor.gone) {
      debtor.sent = undefined;
      debtor.next = this.#debtors.get(id);
      this.#replace(id, debtor);
      return;
    }
    if (typeof outcome !== 'string') debtor.booked = chargesBy(debtor.plan, outcome);
    this.#end(debtor);
  }

  #end(debtor: Debtor): void {
    debtor.gone = true;
    this.#table.reset(debtor.row);
  }

  #debtorOf(id: string, plan: Plan): Debtor {
    const debtor = this.#debtors.get(id) ?? this.#open(id, plan);
    debtor.plan = widest(debtor.plan, plan);
    return debtor;
  }

  #open(id: string, plan: Plan): Debtor {
    const row = `${++this.#rows}`;
    const debtor = { row, plan, next: undefined, sent: undefined, booked: undefined, gone: false };
    this.#replace(id, debtor);
    for (const oldest of this.#debtors.keys()) {
      const fits = this.#debtors.size <= MOST_KEYS && this.#characters <= MOST_CHARACTERS;
      if (fits || oldest === id) break;
      this.forget(oldest);
    }
    return debtor;
  }

  #replace(id: string, debtor: Debtor | undefined): void {
    if (debtor !== undefined) {
      if (!this.#debtors.has(id)) this.#characters += id.length;
      this.#debtors.set(id, debtor);
    } else if (this.#debtors.delete(id)) this.#characters -= id.length;
  }
}

/**
 * Returns where the store has booked a loan, per term of its plan; `undefined` where that is not known, and where
 * units are to be given back that it may not have taken, as what remained there was less.
 */
export function bookingOf({ debtor, plan }: Loan, units: number): readonly Charge[] | undefined {
  const { booked, plan: sent } = debtor;
  if (booked === undefined) return undefined;
  const places = plan.places.map((place) => sent.places.indexOf(place));
  const full = places.some((i) => booked[i].level >= sent.terms[i].numbers[0]);
  return units > 0 && full ? undefined : places.map((i) => booked[i]);
}

function chargesBy(plan: Plan, answer: Answer): Charge[] {
  return plan.terms.map((term, i) => ({
    at: answer[i * ANSWER_WIDTH + 3],
    level: term.numbers[0] - answer[i * ANSWER_WIDTH],
  }));
}

/** All policies that one of the plans has a term of, with the larger limit where both have. */
function widest(one: Plan, other: Plan): Plan {
  if (one === other) return one;
  const terms = new Map(one.places.map((place, i) => [place, one.terms[i]]));
  other.places.forEach((place, i) => {
    const known = terms.get(place);
    if (known === undefined || known.numbers[0] < other.terms[i].numbers[0]) terms.set(place, other.terms[i]);
  });
  const places = [...terms.keys()].sort((a, b) => a - b);
  return { places, terms: places.map((place) => terms.get(place) as Plan['terms'][number]) };
}
