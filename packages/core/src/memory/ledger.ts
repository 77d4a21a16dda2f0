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
  /** Whether the request that was judged last changes anything. */
  writes = false;
  readonly #sections: readonly Section[];
  /** Per slot: the instant at which it is as new (never, if it is free), then each policy's state. */
  readonly #rows: Rows<Float64Array>;
  readonly #answer: Float64Array;

  constructor(policies: readonly ParsedPolicy[]) {
    let width = 1;
    this.#sections = policies.map((policy) => {
      const section = sectionOf(policy, width);
      width += section.width;
      return section;
    });
    this.#rows = new Rows(width, (length) => new Float64Array(length));
    // No key is in slot 0: its row is that of a key that is new.
    this.#rows.reach(0);
    this.#answer = new Float64Array(policies.length * ANSWER_WIDTH);
  }

  /** Lets the algorithms of these policies, whose state looks the same, take over from those it was made for. */
  adopt(policies: readonly ParsedPolicy[]): void {
    policies.forEach(({ algorithm }, i) => {
      this.#sections[i].algorithm = algorithm === 'sliding-window-log' ? undefined : algorithms[algorithm];
    });
  }

  /**
   * Judges a request of the key in `slot` (0: a new key) and stores what it changes, but for a new key: that is left to
   * {@link write}. Returns whether all policies of the plan admit it.
   */
  judge(slot: number, cost: number, plan: Plan, charge: boolean, now: number): boolean {
    if (this.#sections.length > 1) return this.#judgeAll(slot, cost, plan, charge, now);
    return this.#judgeLone(slot, cost, plan, charge, now);
  }

  /** The same as for several, without loops and with the row at hand: most limiters have one policy. */
  #judgeLone(slot: number, cost: number, plan: Plan, charge: boolean, now: number): boolean {
    const section = this.#sections[0];
    const row = this.#rows.piece(slot);
    const base = this.#rows.base(slot);
    const out = decide(section, plan.terms[0].numbers, slot, row, base, cost, now);
    const fits = out[RETRY] === 0;
    this.writes = out[WRITES] !== NOTHING;
    if (!this.writes) return fits;
    if (!charge) this.#decideUncharged(slot, plan, 0, now);
    else if (slot > 0) {
      row[base] = out[AT] + out[RESET];
      writeOne(section, slot, row, base);
    }
    return fits;
  }

  #judgeAll(slot: number, cost: number, plan: Plan, charge: boolean, now: number): boolean {
    let admitted = true;
    for (let i = 0; i < plan.terms.length; i++) {
      if (this.#decide(slot, plan, i, cost, now)[RETRY] !== 0) admitted = false;
    }
    this.writes = false;
    for (let i = 0; i < plan.terms.length; i++) {
      const { out } = this.#sections[plan.places[i]];
      const writes = out[WRITES];
      // Another policy denies, but here the request counts, and the wait is worked out after that.
      if (!admitted)
        out[DELAY] = writes === ALWAYS && out[RETRY] === 0 ? this.#waitAfter(plan, i, cost, now) : 0;
      if (writes === NOTHING) continue;
      if (charge && (admitted || writes === ALWAYS)) this.writes = true;
      else this.#decideUncharged(slot, plan, i, now);
    }
    if (slot > 0 && this.writes) this.write(slot, plan);
    return admitted;
  }

  /**
   * Judges a charge of each policy by itself, up to its units and no more than what remains, and stores it as
   * {@link judge} does.
   */
  judgeCharge(slot: number, units: readonly number[], plan: Plan, now: number): void {
    this.writes = false;
    for (let i = 0; i < plan.terms.length; i++) {
      const room = this.#decide(slot, plan, i, 0, now)[REMAINING];
      const taken = Math.min(units[i], room);
      const out = this.#decide(slot, plan, i, taken, now);
      out[DELAY] = taken;
      if (out[WRITES] !== NOTHING) this.writes = true;
    }
    if (slot > 0 && this.writes) this.write(slot, plan);
  }

  /**
   * Adds units, which are negative, to what was charged, also beyond the limits, and stores it as {@link judge} does.
   * Returns how many of each could not be kept.
   */
  settle(
    slot: number,
    units: readonly number[],
    plan: Plan,
    charges: readonly Charge[],
    now: number,
  ): readonly number[] {
    const lacking = units.map(() => 0);
    for (let i = 0; i < plan.places.length; i++) {
      const section = this.#sections[plan.places[i]];
      const { numbers } = plan.terms[i];
      const out = this.#decide(slot, plan, i, 0, now);
      if (units[i] === 0) out[WRITES] = NOTHING;
      else if (section.algorithm === undefined)
        this.#settleLog(slot, section, numbers, -units[i], charges[i]);
      else {
        const settled = out.slice();
        lacking[i] = section.algorithm.refund(numbers, settled, NEXT, now, units[i], charges[i]);
        section.algorithm.decide(numbers, settled, NEXT, now, 0, out);
        if (out[RESET] > 0) out[WRITES] = ALWAYS;
      }
    }
    this.writes = plan.places.some((place) => this.#sections[place].out[WRITES] !== NOTHING);
    if (slot > 0) this.write(slot, plan);
    return lacking;
  }

  #settleLog(
    slot: number,
    { journals, out }: Section,
    numbers: readonly number[],
    units: number,
    charge: Charge,
  ): void {
    const window = numbers[1];
    if (journals.get(slot)?.take(charge.at, -units)) return;
    if (charge.at <= out[AT] - window) return;
    // Nothing was charged at first, so there is no entry of it.
    out[NEXT + 1] = units;
    out[RESET] = window;
    out[WRITES] = ALWAYS;
  }

  /** Gives a slot that was free to a key. */
  begin(slot: number): void {
    this.#rows.reach(slot);
    this.#rows.piece(slot)[this.#rows.base(slot)] = 0;
  }

  /** Stores what the request that was judged last changes. */
  write(slot: number, plan: Plan): void {
    const row = this.#rows.piece(slot);
    const base = this.#rows.base(slot);
    // Policies that this request was not judged by may hold on longer.
    let expires = plan.places.length === this.#sections.length ? 0 : row[base];
    for (let i = 0; i < plan.places.length; i++) {
      const section = this.#sections[plan.places[i]];
      const { out } = section;
      expires = Math.max(expires, out[AT] + out[RESET]);
      if (out[WRITES] !== NOTHING) writeOne(section, slot, row, base);
    }
    row[base] = expires;
  }

  /** Whether the key in this slot is as new. Of a free slot `false`. */
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
  refund(
    slot: number,
    units: readonly number[],
    plan: Plan,
    charges: readonly Charge[],
    now: number,
  ): boolean {
    const row = this.#rows.piece(slot);
    const base = this.#rows.base(slot);
    let blank = plan.places.length === this.#sections.length;
    plan.places.forEach((place, i) => {
      const section = this.#sections[place];
      const { numbers } = plan.terms[i];
      if (units[i] === 0) {
        blank = false;
        return;
      }
      if (section.algorithm === undefined) section.journals.get(slot)?.take(charges[i].at, units[i]);
      else section.algorithm.refund(numbers, row, base + section.offset, now, units[i], charges[i]);
      if (this.#decide(slot, plan, i, 0, now)[RESET] === 0) this.#clear(slot, section);
      else blank = false;
    });
    return blank;
  }

  /** Makes the slot as new. */
  clear(slot: number): void {
    for (const section of this.#sections) this.#clear(slot, section);
    this.#rows.piece(slot)[this.#rows.base(slot)] = Infinity;
  }

  #clear(slot: number, section: Section): void {
    const base = this.#rows.base(slot) + section.offset;
    const row = this.#rows.piece(slot);
    for (let i = 0; i < section.width; i++) row[base + i] = 0;
    if (section.algorithm === undefined) section.journals.set(slot, undefined);
  }

  #decide(slot: number, plan: Plan, i: number, cost: number, now: number): Row {
    const section = this.#sections[plan.places[i]];
    const row = this.#rows.piece(slot);
    return decide(section, plan.terms[i].numbers, slot, row, this.#rows.base(slot), cost, now);
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
}

/** Decides by the state in `row[base…]`, or by the journal of `slot`. */
function decide(
  section: Section,
  numbers: readonly number[],
  slot: number,
  row: Row,
  base: number,
  cost: number,
  now: number,
): Row {
  const { algorithm, out } = section;
  if (algorithm !== undefined) algorithm.decide(numbers, row, base + section.offset, now, cost, out);
  else slidingWindowLog.decide(numbers, section.journals.get(slot) ?? NO_JOURNAL, now, cost, out);
  return out;
}

function writeOne(section: Section, slot: number, row: Row, base: number): void {
  const { algorithm, out } = section;
  if (algorithm === undefined) append(section, slot);
  else for (let i = 0; i < section.width; i++) row[base + section.offset + i] = out[NEXT + i];
}

function append({ journals, out }: Section, slot: number): void {
  let journal = journals.get(slot);
  if (journal === undefined) {
    journal = new Journal();
    journals.set(slot, journal);
  }
  journal.append(out[NEXT], out[AT], out[NEXT + 1]);
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
