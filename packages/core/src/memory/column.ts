/**
 * Storage that grows by pieces: a large array that grows by copying stops the process for as long as the copy takes.
 *
 * @module
 */

/** Slots per piece. */
const PIECE = 1024;
const SHIFT = 10;
const MASK = PIECE - 1;

/** Rows of `width` numbers, one per slot. Read with `piece(slot)` at `base(slot)`. */
export class Rows<T extends Float64Array | Int32Array | Uint8Array> {
  readonly #width: number;
  readonly #make: (length: number) => T;
  readonly #pieces: T[] = [];

  constructor(width: number, make: (length: number) => T) {
    this.#width = width;
    this.#make = make;
  }

  piece(slot: number): T {
    return this.#pieces[slot >>> SHIFT];
  }

  base(slot: number): number {
    return (slot & MASK) * this.#width;
  }

  /** Makes room for `slot`. */
  reach(slot: number): void {
    while (this.#pieces.length <= slot >>> SHIFT) this.#pieces.push(this.#make(PIECE * this.#width));
  }
}

/** One value per slot. */
export class Column<T> {
  readonly #pieces: (T | undefined)[][] = [];

  get(slot: number): T | undefined {
    return this.#pieces[slot >>> SHIFT]?.[slot & MASK];
  }

  set(slot: number, value: T | undefined): void {
    while (this.#pieces.length <= slot >>> SHIFT) this.#pieces.push(new Array(PIECE).fill(undefined));
    this.#pieces[slot >>> SHIFT][slot & MASK] = value;
  }
}
