/**
 * The entries of a sliding-window log, in memory, packed into as few cells as they need.
 *
 * An entry is an instant and the running sum up to it. Both are in one cell where they fit, `offset * 2^21 + sum`: the
 * instant as its offset from an origin, below 2^32 ms, and the sum modulo 2^21, which is enough as long as all entries
 * together cost less. Otherwise an entry takes two cells.
 *
 * @module
 */

import { MOST } from '../algorithms/exact.js';
import { firstIndex, type LogReader } from '../algorithms/sliding-window-log.js';

/** What is stored of a log. Then come the entries, in a ring. */
export type Cells = number[] | Float64Array;

/** The place in the ring of the oldest entry. */
const HEAD = 0;
const LENGTH = 1;
/** The running sum before the oldest entry. */
const BEFORE = 2;
const ENTRIES = 3;

/** Running sums in one cell with an instant are modulo this. */
const SUMS = 2 ** 21;

/** Offsets in one cell with a sum are below this, in ms. */
const SPAN = 2 ** 32;

/** An origin is only set anew if it serves for a day. */
const DAY = 86_400_000;

/** The origin of a log whose entries take two cells. */
const WIDE = -Infinity;

/** So many more than there are is too few to be worth a copy. */
const LEAST_ROOM = 4;

/** An array takes 150 bytes less than a typed one, but does not suit a large size. */
const LONG = 4096;

/**
 * One log at a time, the one that was opened last: an object for each would take as much as ten entries.
 *
 * What has left the window stays until something is appended.
 */
export class Journal implements LogReader {
  length = 0;
  #cells: Cells;
  /** The instant that offsets count from. */
  #origin = WIDE;
  #head = 0;
  #before = 0;
  #capacity = 1;
  /** The cells of a log of one entry, which has none of its own. */
  readonly #lone = cellsOf(2);

  constructor() {
    this.#cells = this.#lone;
  }

  /** What is to be stored, with the {@link origin}. */
  get cells(): Cells {
    return this.#cells;
  }

  get origin(): number {
    return this.#origin;
  }

  open(cells: Cells, origin: number): void {
    this.#cells = cells;
    this.#origin = origin;
    this.#head = cells[HEAD];
    this.length = cells[LENGTH];
    this.#before = cells[BEFORE];
    this.#capacity = (cells.length - ENTRIES) / (origin === WIDE ? 2 : 1);
  }

  /** Opens a log of one entry, or of none if `cost` is 0. */
  openLone(at: number, cost: number): void {
    const cells = this.#lone;
    this.#cells = cells;
    this.#origin = WIDE;
    this.#head = 0;
    this.length = cost === 0 ? 0 : 1;
    this.#before = 0;
    this.#capacity = 1;
    cells[ENTRIES] = at;
    cells[ENTRIES + 1] = cost;
  }

  instant(i: number): number {
    const place = this.#place(i);
    if (this.#origin === WIDE) return this.#cells[ENTRIES + 2 * place];
    return this.#origin + Math.floor(this.#cells[ENTRIES + place] / SUMS);
  }

  sum(i: number): number {
    if (this.#origin === WIDE) return i < 0 ? this.#before : this.#cells[ENTRIES + 2 * this.#place(i) + 1];
    if (i < 0) return 0;
    const sum = rest(this.#cells[ENTRIES + this.#place(i)]) - this.#before;
    return sum < 0 ? sum + SUMS : sum;
  }

  /**
   * Forgets the first `drop` entries, but not all, and adds `cost` at `at`, which is not before the last entry.
   *
   * @param limit - mostly the most entries there can be: a refund leaves some that cost nothing.
   */
  append(drop: number, at: number, cost: number, limit: number): void {
    if (drop > 0) {
      this.#before = this.#running(drop - 1);
      this.#head = this.#place(drop);
      this.length -= drop;
    }
    const merges = this.instant(this.length - 1) === at;
    const length = merges ? this.length : this.length + 1;
    // All that was there a lap of the ring ago has left, which pays for a copy.
    const lapped = !merges && this.#head > 0 && this.#head + length === this.#capacity;
    const room = merges ? this.#capacity : this.#roomFor(length, limit, lapped);
    const resizes = room !== this.#capacity;
    const wide = this.#origin === WIDE;
    if ((wide && (resizes || lapped)) || !this.#holds(at, cost)) this.#rewrite(room, at, cost);
    else if (resizes) this.#resize(room);
    const running = this.#running(this.length - 1) + cost;
    this.length = length;
    this.#put(length - 1, at, running);
    this.#save();
  }

  /** Takes up to `units` from the entry at `at`, or adds negative ones to it; returns whether it is still there. */
  take(at: number, units: number): boolean {
    const i = firstIndex(this, (entry) => this.instant(entry) >= at);
    if (i === this.length || this.instant(i) !== at) return false;
    const last = this.length - 1;
    const newest = this.instant(last);
    if (!this.#holds(newest, -units)) this.#rewrite(this.#capacity, newest, -units);
    const taken = takenOf(units, this.sum(i) - this.sum(i - 1), this.sum(last));
    for (let j = i; j <= last; j++) this.#put(j, this.instant(j), this.#running(j) - taken);
    this.#save();
    return true;
  }

  /** Where in the ring entry `i` stands. */
  #place(i: number): number {
    const place = this.#head + i;
    return place < this.#capacity ? place : place - this.#capacity;
  }

  /** The running sum as it is stored. */
  #running(i: number): number {
    const cell = this.#cells[ENTRIES + this.#place(i)];
    return this.#origin === WIDE ? this.sum(i) : rest(cell);
  }

  #put(i: number, at: number, running: number): void {
    const place = this.#place(i);
    if (this.#origin === WIDE) {
      this.#cells[ENTRIES + 2 * place] = at;
      this.#cells[ENTRIES + 2 * place + 1] = running;
    } else this.#cells[ENTRIES + place] = (at - this.#origin) * SUMS + rest(running);
  }

  #save(): void {
    this.#cells[HEAD] = this.#head;
    this.#cells[LENGTH] = this.length;
    this.#cells[BEFORE] = this.#before;
  }

  /** Whether `cost` more, the newest entry being at `at` then, fits into cells of this kind. */
  #holds(at: number, cost: number): boolean {
    const sum = this.sum(this.length - 1) + cost;
    if (this.#origin === WIDE) return sum <= MOST;
    return sum < SUMS && at - this.#origin < SPAN;
  }

  /** How many entries there is to be room for once there are `length`: as many as now, unless that is too few, or far too many. */
  #roomFor(length: number, limit: number, lapped: boolean): number {
    const capacity = this.#capacity;
    const full = length > capacity;
    if (!full && !lapped && 2 * length > capacity) return capacity;
    const more = length + Math.max(LEAST_ROOM, length >> (full ? 2 : 3));
    const room = length <= limit ? Math.min(more, limit) : more;
    return full || capacity - room >= Math.max(LEAST_ROOM, capacity >> 4) ? room : capacity;
  }

  /** Moves entries that take one cell to other cells as they are. */
  #resize(capacity: number): void {
    const cells = cellsOf(capacity);
    for (let i = 0; i < this.length; i++) cells[ENTRIES + i] = this.#cells[ENTRIES + this.#place(i)];
    this.#cells = cells;
    this.#head = 0;
    this.#capacity = capacity;
  }

  /** Moves the entries to cells of the kind that holds `cost` more at `at`, and lets the sums begin at 0 again. */
  #rewrite(capacity: number, at: number, cost: number): void {
    const { length } = this;
    const first = this.instant(0);
    const before = this.sum(-1);
    const total = this.sum(length - 1) - before + cost;
    const wide = total >= SUMS || at - first >= SPAN - DAY;
    const cells = cellsOf(wide ? 2 * capacity : capacity);
    for (let i = 0; i < length; i++) {
      const instant = this.instant(i);
      const sum = this.sum(i) - before;
      if (wide) {
        cells[ENTRIES + 2 * i] = instant;
        cells[ENTRIES + 2 * i + 1] = sum;
      } else cells[ENTRIES + i] = (instant - first) * SUMS + sum;
    }
    this.#cells = cells;
    this.#origin = wide ? WIDE : first;
    this.#head = 0;
    this.#before = 0;
    this.#capacity = capacity;
  }
}

/** What is taken of `units` from an entry of `cost`. Of negative ones, which are added, as many as the sum of all can hold. */
export function takenOf(units: number, cost: number, total: number): number {
  return units < 0 ? Math.max(units, total - MOST) : Math.min(units, cost);
}

/** What is left of a whole number modulo {@link SUMS}. The operator `%` takes far longer. */
function rest(value: number): number {
  return value - Math.floor(value / SUMS) * SUMS;
}

function cellsOf(count: number): Cells {
  if (count > LONG) return new Float64Array(ENTRIES + count);
  const cells = new Array<number>(ENTRIES + count);
  // A fraction makes it an array of doubles, 8 bytes each, from the start.
  cells[HEAD] = 0.5;
  return cells;
}
