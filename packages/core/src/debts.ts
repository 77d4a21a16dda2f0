/**
 * What the keys of a limiter owe a store that could not be asked.
 *
 * @module
 */

import { sparedOf } from './decision.js';
import type { Outcome } from './errors.js';
import type { KeyKinds } from './kinds.js';
import { chargesBy, type Debtor, type Loan } from './loans.js';
import { MemoryStore } from './memory/memory-store.js';
import { renewedPlan } from './policy.js';
import { ANSWER_WIDTH, type Answer, type ParsedPolicy, type Plan, type Table } from './types.js';

/** As many keys as are remembered; those that have owed for longest are forgotten first. */
export const MOST_KEYS = 100_000;

/** And so many characters of their ids: a long id is remembered whole, because the store is told it. */
const MOST_CHARACTERS = 128 * MOST_KEYS;

/** What becomes of a debt that is sent to the store: its answer, or that nothing was run, or that nobody knows. */
export type ChargeOutcome = Answer | Outcome;

/** What is owed: so many units to each policy of the plan. */
export interface Debt {
  readonly id: string;
  readonly units: readonly number[];
  readonly plan: Plan;
  /** Whether it has been sent in vain before. */
  readonly refused: boolean;
  /** Ends what {@link Debts.take} began. */
  conclude(outcome: ChargeOutcome): void;
}

/**
 * Keeps debts in a table of memory under the limiter's own policies. So a debt ages as the use that it stands for would
 * have: what would be forgotten by now is not charged any more.
 */
export class Debts {
  /** Of debts that are made now: those that were made under other numbers stay where they are. */
  #table: Table<false>;
  /** Present once they are not those that all debts were made under. */
  #policies: readonly ParsedPolicy[] | undefined;
  readonly #kinds: KeyKinds | undefined;
  readonly #debtors = new Map<string, Debtor>();
  /** Those that are on their way to the store: one of a key at a time. */
  readonly #sent = new Map<string, Debtor>();
  #characters = 0;
  #rows = 0;

  /** @param kinds - where an id stands for keys of several kinds. Each of them owes by itself. */
  constructor(policies: readonly ParsedPolicy[], kinds?: KeyKinds) {
    this.#kinds = kinds;
    this.#table = tableOf(policies);
  }

  /** Lets debts be made under these policies, and all be charged under them. */
  update(policies: readonly ParsedPolicy[]): void {
    this.#policies = policies;
    this.#table = tableOf(policies);
  }

  /** The plan to charge or correct by what was owed under `plan`. */
  renewed(plan: Plan): Plan {
    return this.#policies === undefined ? plan : renewedPlan(plan, this.#policies, true);
  }

  /** How many keys owe something, or did until it aged. */
  get size(): number {
    return this.#debtors.size;
  }

  /** The keys that owe, those that have for longest first. */
  get ids(): IterableIterator<string> {
    return this.#debtors.keys();
  }

  /** The ids under which what is owed by `id` stands. */
  debtorsOf(id: string): readonly string[] {
    return this.#kinds === undefined ? [id] : this.#kinds.eachOf(id);
  }

  /** Adds the units of a request that was judged by `plan`, to whom it concerns. */
  addEach(id: string, units: number, plan: Plan, now: number | undefined): readonly Loan[] {
    if (this.#kinds === undefined) return [this.add(id, units, plan, now)];
    const keys = this.#kinds.split(id);
    return this.#kinds.partsOf(plan).map(({ kind, plan: part }) => {
      return this.add((this.#kinds as KeyKinds).idOfOne(kind, keys[kind] as string), units, part, now);
    });
  }

  /** Adds the units of a request that was judged by `plan`. */
  add(id: string, units: number, plan: Plan, now: number | undefined): Loan {
    const debtor = this.#debtorOf(id, plan);
    const each = plan.terms.map(() => units);
    const charges = chargesBy(plan, debtor.table.charge(debtor.row, each, plan, now));
    return { id, plan, debtor, charges, units: each, lacking: each.map(() => 0) };
  }

  /**
   * Takes units off a loan that the store has not booked, or adds negative ones to it. Units of what may be booked
   * there are not taken off; that more was used is owed anew.
   */
  correct(loan: Loan, units: number, now: number | undefined): void {
    const { id, plan } = loan;
    if (loan.debtor.sent !== undefined || loan.debtor.gone) {
      if (units > 0) return;
      loan.debtor = this.#debtorOf(id, plan);
      loan.units = plan.terms.map(() => 0);
      loan.lacking = loan.units;
    }
    const spared = sparedOf(loan.lacking, units);
    const back = loan.units.map((owed, i) => Math.min(units - spared[i], owed));
    const less = loan.debtor.table.correct(loan.debtor.row, back, plan, loan.charges, now);
    loan.lacking = loan.lacking.map((count, i) => count - spared[i] + less[i]);
    loan.units = loan.units.map((owed, i) => owed - back[i] - less[i]);
    loan.charges = loan.charges.map(({ at, level }, i) => ({ at, level: level - back[i] - less[i] }));
  }

  /**
   * Returns what the key owes now, if it does and nothing of it is on its way. It is not returned again, unless it is
   * concluded that it was not run; and then not where `again` is false.
   */
  take(id: string, now: number | undefined, again = true): Debt | undefined {
    const debtor = this.#debtors.get(id);
    if (debtor === undefined || this.#sent.has(id) || (debtor.refused && !again)) return undefined;
    const { plan } = debtor;
    const answer = debtor.table.decide(debtor.row, 0, plan, false, now);
    const units = plan.terms.map((term, i) => Math.max(0, term.numbers[0] - answer[i * ANSWER_WIDTH]));
    this.#replace(id, debtor.next);
    debtor.next = undefined;
    if (units.every((count) => count === 0)) {
      this.#end(debtor);
      return this.take(id, now, again);
    }
    this.#sent.set(id, debtor);
    let conclude!: Debt['conclude'];
    debtor.sent = new Promise((resolve) => {
      conclude = (outcome) => {
        this.#conclude(id, debtor, outcome);
        resolve();
      };
    });
    // What is stored is written under the numbers of the policies, but judged by the limits that requests brought.
    if (debtor.table !== this.#table) debtor.plan = this.renewed(plan);
    return { id, units, plan: debtor.plan, refused: debtor.refused, conclude };
  }

  /** The key owes nothing. */
  forget(id: string): void {
    for (let debtor = this.#debtors.get(id); debtor !== undefined; debtor = debtor.next) this.#end(debtor);
    this.#replace(id, undefined);
    const sent = this.#sent.get(id);
    if (sent !== undefined) this.#end(sent);
  }

  #conclude(id: string, debtor: Debtor, outcome: ChargeOutcome): void {
    this.#sent.delete(id);
    if (outcome === 'not-run' && !debtor.gone) {
      debtor.sent = undefined;
      debtor.refused = true;
      debtor.next = this.#debtors.get(id);
      this.#replace(id, debtor);
      return;
    }
    if (typeof outcome !== 'string') {
      debtor.booked = chargesBy(debtor.plan, outcome).map((charge, i) => ({
        ...charge,
        taken: outcome[i * ANSWER_WIDTH + 4],
      }));
    }
    this.#end(debtor);
  }

  #end(debtor: Debtor): void {
    debtor.gone = true;
    debtor.table.reset(debtor.row);
  }

  #debtorOf(id: string, plan: Plan): Debtor {
    const known = this.#debtors.get(id);
    const debtor = known?.table === this.#table ? known : this.#open(id, plan, known);
    debtor.plan = widest(debtor.plan, plan);
    return debtor;
  }

  /** @param next - what the key owes besides. */
  #open(id: string, plan: Plan, next: Debtor | undefined): Debtor {
    const row = `${++this.#rows}`;
    const flags = { refused: false, gone: false };
    const table = this.#table;
    const debtor: Debtor = { row, table, plan, next, sent: undefined, booked: undefined, ...flags };
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

function tableOf(policies: readonly ParsedPolicy[]): Table<false> {
  return new MemoryStore({ maxKeys: MOST_KEYS }).open('debts', policies);
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
