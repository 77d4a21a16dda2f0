/**
 * Sliding-window log: every admitted request, exact at every instant.
 *
 * Counts the entries with instant in (t - window, t]: one that is exactly a window old is out. `total + cost <= limit`.
 * Entries hold their instant and the running sum up to them, so that both ends of the window are found by bisection.
 *
 * numbers: limit, window. state: a log, oldest entry first.
 *
 * @module
 */

import type { ParsedPolicy } from '../types.js';
import { IF_ADMITTED, NEVER, NEXT, NOTHING, type Row, report } from './outcome.js';

/** Read access to the entries of one key. */
export interface LogReader {
  readonly length: number;
  /** When entry `i` was admitted. */
  instant(i: number): number;
  /** The cost of the entries up to and with `i`, from some start of its own. `sum(-1)` is what was before the first. */
  sum(i: number): number;
}

/** `decide` on a log. To be stored: forget the first `out[NEXT]` entries, then add `out[NEXT + 1]` at `out[AT]`. */
export const slidingWindowLog = {
  numbers: (policy: ParsedPolicy, limit: number): readonly number[] => [limit, policy.windowMs],

  decide(numbers: readonly number[], log: LogReader, now: number, cost: number, out: Row): void {
    const limit = numbers[0];
    const window = numbers[1];
    const last = log.length - 1;
    const at = last >= 0 ? Math.max(now, log.instant(last)) : now;
    const first = firstAfter(log, at - window);
    const before = log.sum(first - 1);
    const total = log.sum(last) - before;

    const room = limit - total;
    const fits = cost <= room || cost === 0;
    const writes = cost > 0 && fits ? IF_ADMITTED : NOTHING;

    let retry = 0;
    if (!fits && cost > limit) retry = NEVER;
    else if (!fits) {
      const leaves = firstIndex(log, (i) => log.sum(i) >= before + (cost - room));
      // Debt beyond 2^53 is not exact: of all of it, the last entry is what to wait for.
      retry = log.instant(Math.min(leaves, last)) + window - at;
    }

    let reset = 0;
    if (writes === IF_ADMITTED) reset = window;
    else if (total > 0) {
      // A refund can leave entries that cost nothing at the end: the newest that still counts decides.
      const newest = firstIndex(log, (i) => log.sum(i) >= log.sum(last));
      reset = log.instant(newest) + window - at;
    }
    report(out, writes === IF_ADMITTED ? room - cost : room, retry, reset, at, writes);
    out[NEXT] = first;
    out[NEXT + 1] = cost;
  },
};

/** The first index of which `holds` is true, by bisection: once true, it stays true. The length if there is none. */
export function firstIndex(log: LogReader, holds: (i: number) => boolean): number {
  let low = 0;
  let high = log.length;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * The first entry after an instant, as {@link firstIndex} finds it. Few leave at a time, so the part that is bisected
 * begins at the front, and doubles until the entry is inside.
 */
function firstAfter(log: LogReader, instant: number): number {
  let low = 0;
  let high = 0;
  while (high < log.length && log.instant(high) <= instant) {
    low = high + 1;
    high = 2 * low;
  }
  high = Math.min(high, log.length);
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (log.instant(middle) > instant) high = middle;
    else low = middle + 1;
  }
  return low;
}
