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
  /** In place of a piece that was not needed yet. */
  readonly #none: T;
  readonly #pieces: T[] = [];

  constructor(width: number, make: (length: number) => T) {
    this.#width = width;
    this.#make = make;
    this.#none = make(0);
  }

  piece(slot: number): T {
    return this.#pieces[slot >>> SHIFT];
  }

  base(slot: number): number {
    return (slot & MASK) * this.#width;
  }

  /** Whether there is room for `slot`. */
  has(slot: number): boolean {
    const place = slot >>> SHIFT;
    return place < this.#pieces.length && this.#pieces[place] !== this.#none;
  }

  /** Makes room for `slot`, and for none that is far from it. */
  reach(slot: number): void {
    const place = slot >>> SHIFT;
    while (this.#pieces.length <= place) this.#pieces.push(this.#none);
    if (this.#pieces[place] === this.#none) this.#pieces[place] = this.#make(PIECE * this.#width);
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
