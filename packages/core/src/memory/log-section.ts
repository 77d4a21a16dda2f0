/**
 * State of the sliding-window log, which grows with use.
 *
 * A row has two numbers: of a lone entry the instant and the cost; of a journal the origin of its instants, and its
 * number, negative.
 *
 * @module
 */

import { ALWAYS, AT, NEXT, RESET, type Row, WRITES } from '../algorithms/outcome.js';
import { slidingWindowLog } from '../algorithms/sliding-window-log.js';
import type { Charge } from '../types.js';
import { type Cells, Journal, takenOf } from './journal.js';
import { Pool } from './pool.js';
import type { Section } from './section.js';

export class LogSection implements Section {
  readonly width = 2;
  readonly out: Row = new Float64Array(NEXT + 2);
  readonly #offset: number;
  readonly #journals = new Pool<Cells>();
  /** The log that was opened last. */
  readonly #log = new Journal();

  constructor(offset: number) {
    this.#offset = offset;
  }

  /** There is one algorithm only. */
  adopt(): void {}

  decide(numbers: readonly number[], row: Row, base: number, now: number, cost: number): Row {
    slidingWindowLog.decide(numbers, this.#open(row, base), now, cost, this.out);
    return this.out;
  }

  write(numbers: readonly number[], row: Row, base: number): void {
    const begin = base + this.#offset;
    const drop = this.out[NEXT];
    const cost = this.out[NEXT + 1];
    const at = this.out[AT];
    // Still open: nothing else was decided since.
    const log = this.#log;
    if (drop === log.length) this.#keepLone(row, base, at, cost);
    else if (row[begin + 1] > 0 && row[begin] === at) row[begin + 1] += cost;
    else {
      log.append(drop, at, cost, numbers[0]);
      if (log.length === 1) this.#keepLone(row, base, at, log.sum(0) - log.sum(-1));
      else this.#keep(row, base);
    }
  }

  /** It takes nothing over from other numbers. */
  again(): void {}

  /** It counts nothing that is denied. */
  waitAfter(): number {
    return 0;
  }

  refund(
    _numbers: readonly number[],
    row: Row,
    base: number,
    _now: number,
    units: number,
    charge: Charge,
  ): void {
    this.#take(row, base, charge.at, units);
  }

  settle(
    numbers: readonly number[],
    row: Row,
    base: number,
    now: number,
    units: number,
    charge: Charge,
  ): number {
    if (this.#take(row, base, charge.at, units)) {
      this.decide(numbers, row, base, now, 0);
      return 0;
    }
    const window = numbers[1];
    const { out } = this;
    if (charge.at <= out[AT] - window) return 0;
    // Nothing was charged at first, so there is no entry of it.
    out[NEXT + 1] = -units;
    out[RESET] = window;
    out[WRITES] = ALWAYS;
    return 0;
  }

  /** What has left by then is forgotten. */
  recede(_numbers: readonly number[], _row: Row, _base: number, at: number): number {
    return at;
  }

  take(from: Section, fromRow: Row, fromBase: number, row: Row, base: number): void {
    const begin = base + this.#offset;
    const log = from as LogSection;
    const fromBegin = fromBase + log.#offset;
    const second = fromRow[fromBegin + 1];
    row[begin] = fromRow[fromBegin];
    row[begin + 1] = second < 0 ? -this.#journals.add(log.#journals.get(-second)) : second;
  }

  clear(row: Row, base: number): void {
    this.#keepLone(row, base, 0, 0);
  }

  #open(row: Row, base: number): Journal {
    const begin = base + this.#offset;
    const second = row[begin + 1];
    if (second < 0) this.#log.open(this.#journals.get(-second), row[begin]);
    else this.#log.openLone(row[begin], second);
    return this.#log;
  }

  /** Takes up to `units` from the entry at `at`, or adds negative ones to it; returns whether it is still there. */
  #take(row: Row, base: number, at: number, units: number): boolean {
    const begin = base + this.#offset;
    const second = row[begin + 1];
    if (second >= 0) {
      if (second === 0 || row[begin] !== at) return false;
      row[begin + 1] -= takenOf(units, second, second);
      return true;
    }
    const taken = this.#open(row, base).take(at, units);
    if (taken) this.#keep(row, base);
    return taken;
  }

  /** Stores the log that was opened last, which has several entries. */
  #keep(row: Row, base: number): void {
    const begin = base + this.#offset;
    const { cells, origin } = this.#log;
    row[begin] = origin;
    if (row[begin + 1] < 0) this.#journals.set(-row[begin + 1], cells);
    else row[begin + 1] = -this.#journals.add(cells);
  }

  /** Stores one entry, or none if `cost` is 0. */
  #keepLone(row: Row, base: number, at: number, cost: number): void {
    const begin = base + this.#offset;
    if (row[begin + 1] < 0) this.#journals.free(-row[begin + 1]);
    row[begin] = at;
    row[begin + 1] = cost;
  }
}
