/**
 * Rows of numbers, each by a number of its own.
 *
 * @module
 */

import type { Row } from '../algorithms/outcome.js';
import { Rows } from './column.js';

/** Fewer are not worth making room for anew. */
const MANY = 1024;

export class NumberedRows {
  /** How many there are. */
  size = 0;
  readonly #width: number;
  /** By number: the row. Of a number that is free: the next free one. */
  #rows: Rows<Float64Array>;
  #made = 0;
  #free = 0;

  constructor(width: number) {
    this.#width = width;
    this.#rows = rowsOf(width);
  }

  /** Row `number` is in `piece(number)`, from `base(number)` on. */
  piece(number: number): Row {
    return this.#rows.piece(number);
  }

  base(number: number): number {
    return this.#rows.base(number);
  }

  /** Copies the row `from[at…]`, and returns its number, at least 1. */
  add(from: Row, at: number): number {
    let number = this.#free;
    if (number === 0) {
      number = ++this.#made;
      this.#rows.reach(number);
    } else this.#free = this.piece(number)[this.base(number)];
    const rows = this.piece(number);
    const base = this.base(number);
    for (let i = 0; i < this.#width; i++) rows[base + i] = from[at + i];
    this.size += 1;
    return number;
  }

  /** Forgets the row, and gives its number to another. The room of many goes with the last of them. */
  free(number: number): void {
    this.piece(number)[this.base(number)] = this.#free;
    this.#free = number;
    this.size -= 1;
    if (this.size > 0 || this.#made < MANY) return;
    this.#rows = rowsOf(this.#width);
    this.#made = 0;
    this.#free = 0;
  }
}

function rowsOf(width: number): Rows<Float64Array> {
  return new Rows(width, (length) => new Float64Array(length));
}
