/**
 * The entries of a sliding-window log, in memory.
 *
 * @module
 */

import { MOST } from '../algorithms/exact.js';
import { firstIndex, type LogReader } from '../algorithms/sliding-window-log.js';

/** Instants and running sums side by side, oldest first. What has left the window is passed over until room is needed. */
export class Journal implements LogReader {
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
    if (this.#head === this.#end) this.#head = this.#end = this.#before = 0;
    const total = this.sum(this.length - 1);
    if (this.length > 0 && this.instant(this.length - 1) === at) {
      if (total + cost > MOST) this.#rewrite(this.#pairs.length);
      this.#pairs[2 * this.#end - 1] += cost;
      return;
    }
    if (2 * this.#end === this.#pairs.length || total + cost > MOST) this.#rewrite(4 * this.length);
    this.#pairs[2 * this.#end] = at;
    this.#pairs[2 * this.#end + 1] = this.sum(this.length - 1) + cost;
    this.#end += 1;
  }

  /** Takes up to `units` from the entry at `at`, or adds negative ones to it; returns whether it is still there. */
  take(at: number, units: number): boolean {
    const i = firstIndex(this, (entry) => this.instant(entry) >= at);
    if (i === this.length || this.instant(i) !== at) return false;
    if (this.sum(this.length - 1) - units > MOST) this.#rewrite(this.#pairs.length);
    const most = this.sum(this.length - 1) - MOST;
    const taken = Math.max(Math.min(units, this.sum(i) - this.sum(i - 1)), most);
    for (let j = this.#head + i; j < this.#end; j++) this.#pairs[2 * j + 1] -= taken;
    return true;
  }

  /** Moves the entries to the front of an array of about `size` numbers and lets the sums begin at 0 again. */
  #rewrite(size: number): void {
    const { length } = this;
    const pairs = new Float64Array(Math.max(2 * length + 2, Math.min(size, 4 * length)));
    for (let i = 0; i < length; i++) {
      pairs[2 * i] = this.instant(i);
      pairs[2 * i + 1] = this.sum(i) - this.#before;
    }
    this.#pairs = pairs;
    this.#head = this.#before = 0;
    this.#end = length;
  }
}
