/**
 * From a key to the slot that holds its state.
 *
 * @module
 */

import { Column, Rows } from './column.js';
import { hashOf } from './hash.js';

/** So many keys are held in a `Map`. It finds a key in two thirds of the time: the engine keeps the hash with the string. */
const FEW = 16_384;

const LEAST_CELLS = 16;

/** How many cells a change of size moves with each key that comes or goes: it is done long before the next is due. */
const MOVED_AT_ONCE = 16;

/**
 * A `Map` while keys are few, then for good an open-addressing table with linear probing, whose cells hold slots: 0 marks
 * a free one. The hash of a key stands by its slot, so that a key that goes, which nobody asked for, is not read again.
 *
 * A `Map` takes two to four times the room and stops the process for tens of milliseconds when it grows at a million
 * keys. Here the cells move to another table a few at a time; until that is done, both are searched.
 */
export class KeyIndex {
  #few: Map<string, number> | undefined = new Map();
  /** What is left in the map, once there are too many for it. */
  #leaving: IterableIterator<[key: string, slot: number]> | undefined;
  #cells = new Int32Array(LEAST_CELLS);
  /** What a change of size has not moved yet. Whole runs of taken cells move at once, so that searches still end right. */
  #old: Int32Array | undefined;
  /** The next cell of the old table to move, and how many are left. */
  #next = 0;
  #left = 0;
  #size = 0;
  readonly #keys = new Column<string>();
  /** Of each slot that is in a cell. */
  readonly #hashes = new Rows(1, (length) => new Int32Array(length));
  /** What was asked for last, which is mostly what is added next, and its hash. */
  #asked = '';
  #hash = hashOf('');

  /** The slot of `key`, 0 if it has none. */
  get(key: string): number {
    if (this.#few !== undefined) {
      const slot = this.#few.get(key);
      if (slot !== undefined || this.#leaving === undefined) return slot ?? 0;
    }
    const hash = hashOf(key);
    this.#asked = key;
    this.#hash = hash;
    const slot = this.#search(this.#cells, hash, key);
    return slot === 0 && this.#old !== undefined ? this.#search(this.#old, hash, key) : slot;
  }

  /** The key that is in `slot`. */
  keyOf(slot: number): string {
    return this.#keys.get(slot) as string;
  }

  /** Adds a key that is new. */
  add(key: string, slot: number): void {
    this.#keys.set(slot, key);
    this.#size += 1;
    if (this.#few !== undefined && this.#leaving === undefined) {
      // One more, and the map would grow.
      if (this.#size > FEW) this.#leave(this.#few);
      else {
        this.#few.set(key, slot);
        return;
      }
    }
    this.#begin(slot, key === this.#asked ? this.#hash : hashOf(key));
    // Three quarters full at most: above that, searches grow long.
    if (4 * this.#size > 3 * this.#cells.length) this.#remake(2 * this.#cells.length);
    this.#move();
  }

  /** Forgets the key that is in `slot`. */
  delete(slot: number): void {
    if (this.#few !== undefined) {
      const key = this.keyOf(slot);
      this.#few.delete(key);
      // It may have been moved.
      if (this.#leaving !== undefined) this.#free(slot, hashOf(key));
    } else this.#free(slot, this.#hashOf(slot));
    this.#keys.set(slot, undefined);
    this.#size -= 1;
    if (this.#few !== undefined) return;
    if (8 * this.#size < this.#cells.length && this.#cells.length > LEAST_CELLS) {
      this.#remake(this.#cells.length / 2);
    }
    this.#move();
  }

  #hashOf(slot: number): number {
    return this.#hashes.piece(slot)[this.#hashes.base(slot)];
  }

  /** The slot in these cells that holds `key`, 0 if none does. */
  #search(cells: Int32Array, hash: number, key: string): number {
    const mask = cells.length - 1;
    let cell = hash & mask;
    for (;;) {
      const slot = cells[cell];
      if (slot === 0 || (this.#hashOf(slot) === hash && this.#keys.get(slot) === key)) return slot;
      cell = (cell + 1) & mask;
    }
  }

  /** Gives a cell to a slot that has none, and notes its hash. */
  #begin(slot: number, hash: number): void {
    this.#hashes.reach(slot);
    this.#hashes.piece(slot)[this.#hashes.base(slot)] = hash;
    put(this.#cells, hash, slot);
  }

  /** Frees the cell of a slot, if it has one. */
  #free(slot: number, hash: number): void {
    const cell = cellOf(this.#cells, hash, slot);
    if (this.#cells[cell] !== 0) this.#close(this.#cells, cell);
    else if (this.#old !== undefined) this.#close(this.#old, cellOf(this.#old, hash, slot));
  }

  /** Frees a cell, and moves up what stands behind it because it was taken. */
  #close(cells: Int32Array, cell: number): void {
    const mask = cells.length - 1;
    let hole = cell;
    for (let next = (hole + 1) & mask; cells[next] !== 0; next = (next + 1) & mask) {
      // What is nearer to its home than to the hole would stand before its home there.
      const fromHome = (next - this.#hashOf(cells[next])) & mask;
      if (fromHome < ((next - hole) & mask)) continue;
      cells[hole] = cells[next];
      hole = next;
    }
    cells[hole] = 0;
  }

  /** Begins to move from the map to cells. */
  #leave(few: Map<string, number>): void {
    this.#leaving = few.entries();
    this.#cells = new Int32Array(2 * FEW);
  }

  /** Begins to move to a table of another size, unless a move is under way. */
  #remake(length: number): void {
    if (this.#old !== undefined) return;
    this.#old = this.#cells;
    this.#cells = new Int32Array(length);
    this.#left = this.#old.length;
    // Behind a free cell a run begins, if any.
    this.#next = 0;
    while (this.#old[this.#next] !== 0) this.#next += 1;
  }

  /** Moves some keys on, and some cells up to the end of a run. */
  #move(): void {
    this.#moveFromMap();
    const old = this.#old;
    if (old === undefined) return;
    const mask = old.length - 1;
    for (let moved = 0; this.#left > 0; moved++) {
      const slot = old[this.#next];
      if (slot === 0 && moved >= MOVED_AT_ONCE) return;
      if (slot !== 0) put(this.#cells, this.#hashOf(slot), slot);
      old[this.#next] = 0;
      this.#next = (this.#next + 1) & mask;
      this.#left -= 1;
    }
    this.#old = undefined;
  }

  #moveFromMap(): void {
    for (let moved = 0; this.#leaving !== undefined && moved < MOVED_AT_ONCE; moved++) {
      const { done, value } = this.#leaving.next();
      if (done) {
        this.#few = undefined;
        this.#leaving = undefined;
        return;
      }
      const [key, slot] = value;
      // It stays in the map until all are moved: a map that shrinks stops the process as well.
      this.#begin(slot, hashOf(key));
    }
  }
}

/** The cell of `slot`, or the free one where the search for it ends. */
function cellOf(cells: Int32Array, hash: number, slot: number): number {
  const mask = cells.length - 1;
  let cell = hash & mask;
  while (cells[cell] !== 0 && cells[cell] !== slot) cell = (cell + 1) & mask;
  return cell;
}

/** Puts a slot that has no cell yet into the first free one. */
function put(cells: Int32Array, hash: number, slot: number): void {
  cells[cellOf(cells, hash, slot)] = slot;
}
