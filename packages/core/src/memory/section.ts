/**
 * One policy's part of a row: how its state stands there, and who judges by it.
 *
 * @module
 */

import type { Row } from '../algorithms/outcome.js';
import type { Charge, ParsedPolicy } from '../types.js';

/** All that read or write state take the row and where it begins. All zeros are the state of a key that is new. */
export interface Section {
  /** How many numbers of a row are its own. */
  readonly width: number;
  /** What the last call of `decide` said. */
  readonly out: Row;
  /** Lets this policy, whose state looks the same, take over from the one that it was made for. */
  adopt(policy: ParsedPolicy): void;
  /** Judges by what is stored, changes nothing there, and returns `out`. */
  decide(numbers: readonly number[], row: Row, base: number, now: number, cost: number): Row;
  /** Stores what was decided last. */
  write(numbers: readonly number[], row: Row, base: number): void;
  /** Judges at a later instant by what was decided last, as if that were stored. */
  again(numbers: readonly number[], now: number, cost: number): void;
  /** The wait of the same cost once more, after what was decided last has been stored. `out` stays as it is. */
  waitAfter(numbers: readonly number[], now: number, cost: number): number;
  /** Takes units back from what was charged. */
  refund(
    numbers: readonly number[],
    row: Row,
    base: number,
    now: number,
    units: number,
    charge: Charge,
  ): void;
  /**
   * Adds units, which are negative, to what was charged, also beyond the limit; cost 0 was decided right before. What
   * comes of it is in `out`, to be stored. Returns how many could not be kept.
   */
  settle(
    numbers: readonly number[],
    row: Row,
    base: number,
    now: number,
    units: number,
    charge: Charge,
  ): number;
  /**
   * Moves a state that stands at `at`, ahead of `now`, back as far as it can be told to have stood before, not before
   * now; returns when it stands.
   */
  recede(numbers: readonly number[], row: Row, base: number, at: number, now: number): number;
  /**
   * Copies the state that `from` holds, which is of the same kind, to its own part, which is as new. Until that of `from`
   * is made as new, which comes next, both may hold the same.
   */
  take(from: Section, fromRow: Row, fromBase: number, row: Row, base: number): void;
  /** Makes its part as new. */
  clear(row: Row, base: number): void;
}
