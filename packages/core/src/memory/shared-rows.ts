/**
 * Rows of numbers that many keys have in common, each kept once, by a number, as long as anyone holds it.
 *
 * @module
 */

import type { Row } from '../algorithms/outcome.js';
import { Rows } from './column.js';

/** A power of two. */
const RECENT = 64;

export class SharedRows {
  readonly #width: number;
  /** By number: the row, and how many hold it. Of a number that is free: the next free one. Number 0 is all zeros. */
  readonly #rows: Rows<Float64Array>;
  readonly #numbers = new Map<string, number>();
  /** Numbers given lately, by a hash of the row: most rows are found here, and a name takes as long as a decision to make. */
  readonly #recent = new Int32Array(RECENT);
  #made = 0;
  #free = 0;

  constructor(width: number) {
    this.#width = width;
    this.#rows = new Rows(width + 1, (length) => new Float64Array(length));
    this.#rows.reach(0);
  }

  /** How many there are. */
  get size(): number {
    return this.#numbers.size;
  }

  /** Copies row `number` to `into[at…]`. */
  read(number: number, into: Row, at: number): void {
    const rows = this.#rows.piece(number);
    const base = this.#rows.base(number);
    for (let i = 0; i < this.#width; i++) into[at + i] = rows[base + i];
  }

  /** Returns the number of the row `from[at…]`, which is not all zeros, for one who held `held` (0: none) until now. */
  exchange(held: number, from: Row, at: number): number {
    if (this.#is(held, from, at)) return held;
    const hash = this.#hash(from, at);
    let number = this.#recent[hash];
    if (!this.#is(number, from, at)) {
      number = this.#find(from, at);
      this.#recent[hash] = number;
    }
    this.#rows.piece(number)[this.#rows.base(number) + this.#width] += 1;
    this.release(held);
    return number;
  }

  /** Lets go of a number, of 0 too. */
  release(number: number): void {
    if (number === 0) return;
    const rows = this.#rows.piece(number);
    const base = this.#rows.base(number);
    const end = base + this.#width;
    rows[end] -= 1;
    if (rows[end] > 0) return;
    this.#numbers.delete(nameOf(rows, base, end));
    rows.fill(0, base, end);
    rows[end] = this.#free;
    this.#free = number;
  }

  #hash(from: Row, at: number): number {
    let hash = 0;
    for (let i = 0; i < this.#width; i++) hash = 31 * hash + from[at + i];
    return hash & (RECENT - 1);
  }

  #is(number: number, from: Row, at: number): boolean {
    const rows = this.#rows.piece(number);
    const base = this.#rows.base(number);
    for (let i = 0; i < this.#width; i++) if (rows[base + i] !== from[at + i]) return false;
    return true;
  }

  #find(from: Row, at: number): number {
    const name = nameOf(from, at, at + this.#width);
    let number = this.#numbers.get(name);
    if (number === undefined) {
      number = this.#take();
      this.#numbers.set(name, number);
      const rows = this.#rows.piece(number);
      const base = this.#rows.base(number);
      for (let i = 0; i < this.#width; i++) rows[base + i] = from[at + i];
    }
    return number;
  }

  /** Returns a number that nobody holds. */
  #take(): number {
    const number = this.#free;
    if (number === 0) {
      this.#made += 1;
      this.#rows.reach(this.#made);
      return this.#made;
    }
    const rows = this.#rows.piece(number);
    const end = this.#rows.base(number) + this.#width;
    this.#free = rows[end];
    rows[end] = 0;
    return number;
  }
}

function nameOf(row: Row, from: number, to: number): string {
  let name = '';
  for (let i = from; i < to; i++) name += `${row[i]} `;
  return name;
}
