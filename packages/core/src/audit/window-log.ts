/**
 * What came in the last window, exactly, and no more of it than can matter.
 *
 * @module
 */

import { MOST } from '../algorithms/exact.js';
import { AT, NEXT, REMAINING, RETRY } from '../algorithms/outcome.js';
import { firstIndex, slidingWindowLog } from '../algorithms/sliding-window-log.js';
import { Entries } from './entries.js';

const out = new Float64Array(NEXT + 2);

/** A sliding-window log that is told what to add, whatever it would say itself. */
export class WindowLog {
  readonly #windowMs: number;
  readonly #entries = new Entries();

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** How many entries it holds. */
  get length(): number {
    return this.#entries.length;
  }

  /** Whether `cost` fits under `limit`. */
  fits(limit: number, cost: number, now: number): boolean {
    slidingWindowLog.decide([limit, this.#windowMs], this.#entries, now, cost, out);
    return out[RETRY] === 0;
  }

  /** The units in the window that ends now. */
  total(now: number): number {
    slidingWindowLog.decide([MOST, this.#windowMs], this.#entries, now, 0, out);
    return MOST - out[REMAINING];
  }

  /**
   * Adds `cost`, and forgets what has left the window, and entries behind which there are `most` units in any case.
   *
   * They count only in windows that hold those units too, so up to a limit of `most` no answer depends on them: whatever
   * comes, there are at most so many entries.
   */
  add(cost: number, now: number, most: number): void {
    const entries = this.#entries;
    slidingWindowLog.decide([MOST, this.#windowMs], entries, now, 0, out);
    const spare = entries.sum(entries.length - 1) + cost - most;
    const needed = firstIndex(entries, (i) => entries.sum(i) > spare);
    entries.append(Math.max(out[NEXT], needed), out[AT], cost);
  }
}
