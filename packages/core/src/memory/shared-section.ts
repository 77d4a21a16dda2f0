/**
 * State of which all but the first number is the same for most keys: that is kept once, and a row has a number for it.
 *
 * @module
 */

import { NEXT, type Row } from '../algorithms/outcome.js';
import type { Charge, ParsedPolicy } from '../types.js';
import { NumberSection } from './number-section.js';
import type { Section } from './section.js';
import { SharedRows } from './shared-rows.js';

export class SharedSection extends NumberSection {
  override readonly width = 2;
  readonly #shared: SharedRows;
  /** A state as the algorithm has it. */
  readonly #state: Row;

  constructor(policy: ParsedPolicy, offset: number) {
    super(policy, offset);
    const width = this.algorithm.width(this.algorithm.numbers(policy, 0));
    this.#shared = new SharedRows(width - 1);
    this.#state = new Float64Array(width);
  }

  override decide(numbers: readonly number[], row: Row, base: number, now: number, cost: number): Row {
    this.algorithm.decide(numbers, this.#load(row, base), 0, now, cost, this.out);
    return this.out;
  }

  override write(_numbers: readonly number[], row: Row, base: number): void {
    const begin = base + this.offset;
    row[begin] = this.out[NEXT];
    row[begin + 1] = this.#shared.exchange(row[begin + 1], this.out, NEXT + 1);
  }

  override refund(
    numbers: readonly number[],
    row: Row,
    base: number,
    now: number,
    units: number,
    charge: Charge,
  ): void {
    const state = this.#load(row, base);
    this.algorithm.refund(numbers, state, 0, now, units, charge);
    // What is shared is what it was written under, and stays.
    row[base + this.offset] = state[0];
  }

  /** What the state says stays the same. */
  override recede(numbers: readonly number[], row: Row, base: number, at: number, now: number): number {
    return this.algorithm.recede?.(numbers, this.#load(row, base), 0, at, now) ?? at;
  }

  override take(from: Section, fromRow: Row, fromBase: number, row: Row, base: number): void {
    const state = (from as SharedSection).#load(fromRow, fromBase);
    const begin = base + this.offset;
    row[begin] = state[0];
    // Without a period it is that of a key that is new.
    if (state[state.length - 1] !== 0) row[begin + 1] = this.#shared.exchange(0, state, 1);
  }

  override clear(row: Row, base: number): void {
    this.#shared.release(row[base + this.offset + 1]);
    super.clear(row, base);
  }

  #load(row: Row, base: number): Row {
    const begin = base + this.offset;
    this.#state[0] = row[begin];
    this.#shared.read(row[begin + 1], this.#state, 1);
    return this.#state;
  }
}
