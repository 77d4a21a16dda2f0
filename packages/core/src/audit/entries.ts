/**
 * The entries of one log, as long as they matter.
 *
 * @module
 */

import type { LogReader } from '../algorithms/sliding-window-log.js';

/** Instants and running sums side by side, oldest first. What was forgotten is passed over until room is needed. */
export class Entries implements LogReader {
  #pairs = new Float64Array(2);
  #head = 0;
  #end = 0;
  /** The running sum before the entry at the head. */
  #before = 0;

  get length(): number {
    return this.#end - this.#head;
  }

  instant(i: number): number {
    return this.#pairs[2 * (this.#head + i)];
  }

  sum(i: number): number {
    return i < 0 ? this.#before : this.#pairs[2 * (this.#head + i) + 1];
  }

  /** Forgets the first `drop` entries and adds `cost` at `at`, which is not before the last entry. */
  append(drop: number, at: number, cost: number): void {
    this.#before = this.sum(drop - 1);
    this.#head += drop;
    if (this.length > 0 && this.instant(this.length - 1) === at) {
      this.#pairs[2 * this.#end - 1] += cost;
      return;
    }
    if (2 * this.#end === this.#pairs.length) this.#rewrite();
    this.#pairs[2 * this.#end] = at;
    this.#pairs[2 * this.#end + 1] = this.sum(this.length - 1) + cost;
    this.#end += 1;
  }

  /** Moves the entries to the front of an array with room for as many more, and lets the sums begin at 0 again. */
  #rewrite(): void {
    const { length } = this;
    const pairs = new Float64Array(4 * length + 2);
    for (let i = 0; i < length; i++) {
      pairs[2 * i] = this.instant(i);
      pairs[2 * i + 1] = this.sum(i) - this.#before;
    }
    this.#pairs = pairs;
    this.#head = this.#before = 0;
    this.#end = length;
  }
}
