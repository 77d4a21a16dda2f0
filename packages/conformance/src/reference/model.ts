/**
 * What an algorithm is, in whole numbers without a bound: a history, and the question whether a cost fits.
 *
 * Everything else follows from that question by its definition: what is left is the largest cost that fits, a wait is
 * the least one after which a cost fits. Nothing here is fast, and nothing is clever.
 *
 * @module
 */

/** A key at one instant. */
export interface View {
  /** The instant that stands for now: later than now only if the clock stepped back. */
  readonly at: bigint;
  /** Whether `cost` fits `wait` ms later if nothing else happens. */
  fits(wait: bigint, cost: bigint): boolean;
  /** Whether nothing of what was used counts any more `wait` ms later. */
  isNew(wait: bigint): boolean;
}

/** The history of one key under one policy. */
export interface Model {
  /** The most that could ever fit, if the limit is `limit`. */
  capacity(limit: bigint): bigint;
  view(now: bigint, limit: bigint): View;
  /** Charges what was found to fit, or what counts although it did not. */
  charge(at: bigint, cost: bigint, limit: bigint): Entry;
  /** How long a request waits that is admitted now. */
  delay(now: bigint, cost: bigint, limit: bigint): bigint;
  /** Gives units back where they were charged. */
  refund(now: bigint, charge: Entry, units: bigint): void;
  /** Undoes the last charge. */
  undo(): void;
}

/** One charge: when, and how much of it still counts. */
export interface Entry {
  readonly at: bigint;
  cost: bigint;
}

export const MOST: bigint = 2n ** 53n - 1n;

export function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

export function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

/** The greatest common divisor; `b` if `a` is 0. */
export function gcd(a: bigint, b: bigint): bigint {
  return a === 0n ? b : gcd(b % a, a);
}

/** The ceiling of a / b. */
export function ceilDiv(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b;
}

/** The sum of the costs of the entries for which `counts` is true. */
export function sum(entries: readonly Entry[], counts: (entry: Entry) => boolean): bigint {
  return entries.reduce((total, entry) => (counts(entry) ? total + entry.cost : total), 0n);
}

/** Takes up to `units` off the entries for which `counts` is true. */
export function takeBack(entries: readonly Entry[], units: bigint, counts: (entry: Entry) => boolean): void {
  let left = units;
  for (const entry of entries.filter(counts)) {
    const taken = min(left, entry.cost);
    entry.cost -= taken;
    left -= taken;
  }
}

/** The largest cost up to `capacity` that fits now. */
export function remaining(view: View, capacity: bigint): bigint {
  let fits = 0n;
  let tooMuch = capacity + 1n;
  while (tooMuch - fits > 1n) {
    const middle = (fits + tooMuch) / 2n;
    if (view.fits(0n, middle)) fits = middle;
    else tooMuch = middle;
  }
  return fits;
}

/** The least wait after which `holds` is true, which once true stays true. */
export function leastWait(holds: (wait: bigint) => boolean): bigint {
  if (holds(0n)) return 0n;
  let early = 0n;
  let late = 1n;
  while (!holds(late)) {
    early = late;
    late *= 2n;
  }
  while (late - early > 1n) {
    const middle = (early + late) / 2n;
    if (holds(middle)) late = middle;
    else early = middle;
  }
  return late;
}
