/**
 * State of the sliding-window counter, which is as long as the policy has buckets.
 *
 * What was written in another number of buckets does not fit into the row. It stands beside it, as it was written, until
 * something is stored: the row has the number of its buckets then, and its own number, negative.
 *
 * @module
 */

import type { Row } from '../algorithms/outcome.js';
import { slidingWindowCounter } from '../algorithms/sliding-window-counter.js';
import type { Charge } from '../types.js';
import { NumberSection } from './number-section.js';
import { NumberedRows } from './numbered-rows.js';
import type { Section } from './section.js';

/** How many numbers a state has besides one for each bucket. */
const BESIDES = slidingWindowCounter.width([0, 0, 0]);

export class CounterSection extends NumberSection {
  /** By the number of their buckets: states of other numbers of buckets. */
  readonly #others = new Map<number, NumberedRows>();

  override decide(numbers: readonly number[], row: Row, base: number, now: number, cost: number): Row {
    const begin = base + this.offset;
    if (row[begin + 1] < 0) return this.#decideOther(numbers, row, base, now, cost);
    slidingWindowCounter.decide(numbers, row, begin, now, cost, this.out);
    return this.out;
  }

  #decideOther(numbers: readonly number[], row: Row, base: number, now: number, cost: number): Row {
    const begin = base + this.offset;
    const of = row[begin];
    const others = this.#of(of);
    const number = -row[begin + 1];
    const at = others.base(number);
    slidingWindowCounter.decide(numbers, others.piece(number), at, now, cost, this.out, of);
    return this.out;
  }

  override write(numbers: readonly number[], row: Row, base: number): void {
    if (row[base + this.offset + 1] < 0) this.#forget(row, base);
    super.write(numbers, row, base);
  }

  override refund(
    numbers: readonly number[],
    row: Row,
    base: number,
    now: number,
    units: number,
    charge: Charge,
  ): void {
    const begin = base + this.offset;
    const number = -row[begin + 1];
    if (number > 0) {
      const of = row[begin];
      const others = this.#of(of);
      const state = others.piece(number);
      slidingWindowCounter.refund(numbers, state, others.base(number), now, units, charge, of);
    } else slidingWindowCounter.refund(numbers, row, begin, now, units, charge);
  }

  override take(from: Section, fromRow: Row, fromBase: number, row: Row, base: number): void {
    const section = from as CounterSection;
    const fromBegin = fromBase + section.offset;
    const number = -fromRow[fromBegin + 1];
    if (number > 0) {
      const of = fromRow[fromBegin];
      const others = section.#of(of);
      this.#put(others.piece(number), others.base(number), of, row, base);
    } else this.#put(fromRow, fromBegin, section.width - BESIDES, row, base);
  }

  override clear(row: Row, base: number): void {
    if (row[base + this.offset + 1] < 0) this.#forget(row, base);
    super.clear(row, base);
  }

  /** States of so many buckets. */
  #of(buckets: number): NumberedRows {
    let others = this.#others.get(buckets);
    if (others === undefined) {
      others = new NumberedRows(BESIDES + buckets);
      this.#others.set(buckets, others);
    }
    return others;
  }

  /** Puts a state of so many buckets into the row, which is as new, or beside it. */
  #put(state: Row, at: number, of: number, row: Row, base: number): void {
    const begin = base + this.offset;
    if (BESIDES + of === this.width) {
      for (let i = 0; i < this.width; i++) row[begin + i] = state[at + i];
    } else if (state[at + 1] > 0) {
      row[begin] = of;
      row[begin + 1] = -this.#of(of).add(state, at);
    }
  }

  /** Lets go of what stands beside the row. */
  #forget(row: Row, base: number): void {
    const begin = base + this.offset;
    this.#of(row[begin]).free(-row[begin + 1]);
  }
}
