/**
 * The state behind the slots of a table: what each policy knows of each key.
 *
 * @module
 */

import { algorithms } from '../algorithms/index.js';
import {
  ALWAYS,
  type Algorithm,
  AT,
  DELAY,
  NEXT,
  NOTHING,
  REMAINING,
  RESET,
  RETRY,
  type Row,
  WRITES,
} from '../algorithms/outcome.js';
import { slidingWindowLog } from '../algorithms/sliding-window-log.js';
import { ANSWER_WIDTH, type Answer, type Charge, type ParsedPolicy, type Plan } from '../types.js';
import { Column, Rows } from './column.js';
import { Journal } from './journal.js';

/** One policy's part: where in a row its state stands, and who reads it. */
interface Section {
  /** `undefined` for the log, whose entries are in journals. */
  algorithm: Algorithm | undefined;
  readonly offset: number;
  readonly width: number;
  /** What the last call of `decide` said. */
  readonly out: Row;
  readonly journals: Column<Journal>;
}

const NO_JOURNAL = new Journal();

export class Ledger {
  readonly #sections: readonly Section[];
  /** Per slot: the instant at which it is as new, then each policy's state. */
  readonly #rows: Rows<Float64Array>;
  /** The row of a key that is new. */
  readonly #blank: Row;
  readonly #answer: Float64Array;

  constructor(policies: readonly ParsedPolicy[]) {
    let width = 1;
    this.#sections = policies.map((policy) => {
      const section = sectionOf(policy, width);
      width += section.width;
      return section;
    });
    this.#rows = new Rows(width, (length) => new Float64Array(length));
    this.#blank = new Float64Array(width);
    this.#answer = new Float64Array(policies.length * ANSWER_WIDTH);
  }

  /** Lets the algorithms of these policies, whose state looks the same, take over from those it was made for. */
  adopt(policies: readonly ParsedPolicy[]): void {
    policies.forEach(({ algorithm }, i) => {
      this.#sections[i].algorithm = algorithm === 'sliding-window-log' ? undefined : algorithms[algorithm];
    });
  }

  /** Judges a request of the key in `slot` (0: a new key); returns whether all policies of the plan admit it. */
  judge(slot: number, cost: number, plan: Plan, charge: boolean, now: number): boolean {
    if (plan.terms.length === 1) {
      const out = this.#decide(slot, plan, 0, cost, now);
      const fits = out[RETRY] === 0;
      if (!charge && out[WRITES] !== NOTHING) this.#decideUncharged(slot, plan, 0, now);
      return fits;
    }
    let admitted = true;
    for (let i = 0; i < plan.terms.length; i++) {
      if (this.#decide(slot, plan, i, cost, now)[RETRY] !== 0) admitted = false;
    }
    for (let i = 0; i < plan.terms.length; i++) {
      const { out } = this.#sections[plan.places[i]];
      const writes = out[WRITES];
      // Another policy denies, but here the request counts, and the wait is worked out after that.
      if (!admitted)
        out[DELAY] = writes === ALWAYS && out[RETRY] === 0 ? this.#waitAfter(plan, i, cost, now) : 0;
      const stands = writes === NOTHING || (charge && (admitted || writes === ALWAYS));
      if (!stands) this.#decideUncharged(slot, plan, i, now);
    }
    return admitted;
  }

  /** Judges a charge of each policy by itself: up to its units, and no more than what remains. */
  judgeCharge(slot: number, units: readonly number[], plan: Plan, now: number): void {
    for (let i = 0; i < plan.terms.length; i++) {
      const room = this.#decide(slot, plan, i, 0, now)[REMAINING];
      this.#decide(slot, plan, i, Math.min(units[i], room), now)[DELAY] = 0;
    }
  }

  /** Makes room for a slot. */
  reach(slot: number): void {
    this.#rows.reach(slot);
  }

  /** Whether the request that was judged last changes anything. */
  writes(plan: Plan): boolean {
    for (let i = 0; i < plan.places.length; i++) {
      if (this.#sections[plan.places[i]].out[WRITES] !== NOTHING) return true;
    }
    return false;
  }

  /** Stores what the request that was judged last changes. */
  write(slot: number, plan: Plan): void {
    let expires = 0;
    for (let i = 0; i < plan.places.length; i++) {
      const section = this.#sections[plan.places[i]];
      expires = Math.max(expires, section.out[AT] + section.out[RESET]);
      if (section.out[WRITES] !== NOTHING) this.#writeOne(slot, section);
    }
    const row = this.#rows.piece(slot);
    const base = this.#rows.base(slot);
    // Policies that this request was not judged by may hold on longer.
    row[base] = plan.places.length === this.#sections.length ? expires : Math.max(row[base], expires);
  }

  /** Whether the key is as new. */
  isExpired(slot: number, now: number): boolean {
    return this.#rows.piece(slot)[this.#rows.base(slot)] <= now;
  }

  /** What the request that was judged last is told. */
  answer(plan: Plan): Answer {
    if (plan.places.length === 1) return this.#sections[plan.places[0]].out;
    plan.places.forEach((place, i) => {
      for (let j = 0; j < ANSWER_WIDTH; j++) {
        this.#answer[i * ANSWER_WIDTH + j] = this.#sections[place].out[j];
      }
    });
    return this.#answer;
  }

  /** Gives units back; returns whether nothing is left of the key. */
  refund(slot: number, units: number, plan: Plan, charges: readonly Charge[], now: number): boolean {
    const row = this.#rows.piece(slot);
    const base = this.#rows.base(slot);
    let blank = plan.places.length === this.#sections.length;
    plan.places.forEach((place, i) => {
      const section = this.#sections[place];
      if (section.algorithm === undefined) section.journals.get(slot)?.take(charges[i].at, units);
      else
        section.algorithm.refund(plan.terms[i].numbers, row, base + section.offset, now, units, charges[i]);
      if (this.#decide(slot, plan, i, 0, now)[RESET] === 0) this.#clear(slot, section);
      else blank = false;
    });
    return blank;
  }

  /** Makes the slot as new. */
  clear(slot: number): void {
    for (const section of this.#sections) this.#clear(slot, section);
    this.#rows.piece(slot)[this.#rows.base(slot)] = 0;
  }

  #clear(slot: number, section: Section): void {
    const base = this.#rows.base(slot) + section.offset;
    this.#rows.piece(slot).fill(0, base, base + section.width);
    if (section.algorithm === undefined) section.journals.set(slot, undefined);
  }

  #decide(slot: number, plan: Plan, i: number, cost: number, now: number): Row {
    const section = this.#sections[plan.places[i]];
    const { numbers } = plan.terms[i];
    if (section.algorithm === undefined) {
      slidingWindowLog.decide(numbers, section.journals.get(slot) ?? NO_JOURNAL, now, cost, section.out);
    } else if (slot === 0) {
      section.algorithm.decide(numbers, this.#blank, 0, now, cost, section.out);
    } else {
      const base = this.#rows.base(slot) + section.offset;
      section.algorithm.decide(numbers, this.#rows.piece(slot), base, now, cost, section.out);
    }
    return section.out;
  }

  /** The wait of the same cost once more, after what was decided last has been stored. */
  #waitAfter(plan: Plan, i: number, cost: number, now: number): number {
    const { algorithm, out } = this.#sections[plan.places[i]];
    const decided = out.slice();
    // The last number is countDenied: it has been counted once.
    const once = [...plan.terms[i].numbers.slice(0, -1), 0];
    algorithm?.decide(once, decided, NEXT, now, cost, out);
    const wait = out[RETRY];
    out.set(decided);
    return wait;
  }

  /** Keeps what the request is told of its own chances, and reports the rest as it stands without it. */
  #decideUncharged(slot: number, plan: Plan, i: number, now: number): void {
    const { out } = this.#sections[plan.places[i]];
    const retry = out[RETRY];
    const delay = out[DELAY];
    this.#decide(slot, plan, i, 0, now);
    out[RETRY] = retry;
    out[DELAY] = delay;
  }

  #writeOne(slot: number, section: Section): void {
    const { out } = section;
    if (section.algorithm === undefined) {
      let journal = section.journals.get(slot);
      if (journal === undefined) {
        journal = new Journal();
        section.journals.set(slot, journal);
      }
      journal.append(out[NEXT], out[AT], out[NEXT + 1]);
      return;
    }
    const row = this.#rows.piece(slot);
    const base = this.#rows.base(slot) + section.offset;
    for (let i = 0; i < section.width; i++) row[base + i] = out[NEXT + i];
  }
}

function sectionOf(policy: ParsedPolicy, offset: number): Section {
  const journals = new Column<Journal>();
  if (policy.algorithm === 'sliding-window-log') {
    return { algorithm: undefined, offset, width: 0, out: new Float64Array(NEXT + 2), journals };
  }
  const algorithm = algorithms[policy.algorithm];
  const width = algorithm.width(algorithm.numbers(policy, 0));
  return { algorithm, offset, width, out: new Float64Array(NEXT + width), journals };
}
