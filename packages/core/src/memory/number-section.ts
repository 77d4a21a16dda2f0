/**
 * State of a fixed number of numbers, as the algorithm has it.
 *
 * @module
 */

import { algorithms } from '../algorithms/index.js';
import { ALWAYS, type Algorithm, NEXT, RESET, RETRY, type Row, WRITES } from '../algorithms/outcome.js';
import type { Charge, ParsedPolicy } from '../types.js';
import type { Section } from './section.js';

/** The name of an algorithm that keeps its state so. */
type NumberAlgorithm = keyof typeof algorithms;

export class NumberSection implements Section {
  readonly width: number;
  readonly out: Row;
  protected readonly offset: number;
  protected algorithm: Algorithm;

  constructor(policy: ParsedPolicy, offset: number) {
    this.algorithm = algorithms[policy.algorithm as NumberAlgorithm];
    const width = this.algorithm.width(this.algorithm.numbers(policy, 0));
    this.width = width;
    this.out = new Float64Array(NEXT + width);
    this.offset = offset;
  }

  adopt(policy: ParsedPolicy): void {
    this.algorithm = algorithms[policy.algorithm as NumberAlgorithm];
  }

  decide(numbers: readonly number[], row: Row, base: number, now: number, cost: number): Row {
    this.algorithm.decide(numbers, row, base + this.offset, now, cost, this.out);
    return this.out;
  }

  write(_numbers: readonly number[], row: Row, base: number): void {
    const begin = base + this.offset;
    for (let i = 0; i < this.width; i++) row[begin + i] = this.out[NEXT + i];
  }

  again(numbers: readonly number[], now: number, cost: number): void {
    this.algorithm.decide(numbers, this.out.slice(NEXT), 0, now, cost, this.out);
  }

  waitAfter(numbers: readonly number[], now: number, cost: number): number {
    const { out } = this;
    const decided = out.slice();
    // The last number is countDenied: it has been counted once.
    this.again([...numbers.slice(0, -1), 0], now, cost);
    const wait = out[RETRY];
    out.set(decided);
    return wait;
  }

  refund(
    numbers: readonly number[],
    row: Row,
    base: number,
    now: number,
    units: number,
    charge: Charge,
  ): void {
    this.algorithm.refund(numbers, row, base + this.offset, now, units, charge);
  }

  settle(
    numbers: readonly number[],
    _row: Row,
    _base: number,
    now: number,
    units: number,
    charge: Charge,
  ): number {
    const settled = this.out.slice();
    const lacking = this.algorithm.refund(numbers, settled, NEXT, now, units, charge);
    this.algorithm.decide(numbers, settled, NEXT, now, 0, this.out);
    // What is to be stored is what was settled: taking it over by other numbers is left to the next request.
    this.out.set(settled.subarray(NEXT), NEXT);
    if (this.out[RESET] > 0) this.out[WRITES] = ALWAYS;
    return lacking;
  }

  recede(numbers: readonly number[], row: Row, base: number, at: number, now: number): number {
    return this.algorithm.recede?.(numbers, row, base + this.offset, at, now) ?? at;
  }

  take(from: Section, fromRow: Row, fromBase: number, row: Row, base: number): void {
    const begin = base + this.offset;
    const fromBegin = fromBase + (from as NumberSection).offset;
    for (let i = 0; i < this.width; i++) row[begin + i] = fromRow[fromBegin + i];
  }

  clear(row: Row, base: number): void {
    const begin = base + this.offset;
    for (let i = 0; i < this.width; i++) row[begin + i] = 0;
  }
}
