/**
 * What `decide` leaves behind: one row of numbers, the same in both languages.
 *
 * Rows are preallocated and reused, because an object per policy and request was a third of the time of a decision.
 *
 * @module
 */

import type { Charge, ParsedPolicy } from '../types.js';
import { MOST } from './exact.js';

/** The most that would fit now, after this request if it was charged. */
export const REMAINING = 0;
/** The least wait until the request fits: 0 if it does now, {@link NEVER} if it is above the capacity. */
export const RETRY = 1;
/** The least wait until the key is as new. */
export const RESET = 2;
/** The instant the charge is booked on: now, or the newest instant that the state knows if the clock stepped back. */
export const AT = 3;
/** How long the request waits in the queue. */
export const DELAY = 4;
/** What is to be stored: {@link NOTHING}, {@link IF_ADMITTED} or {@link ALWAYS}. */
export const WRITES = 5;
/** Where the state begins that is to be stored. */
export const NEXT = 6;

export const NEVER = -1;

/** Denied, or cost 0. */
export const NOTHING = 0;
/** The request fits: store if all the other policies admit it too. */
export const IF_ADMITTED = 1;
/** Store whatever the answer is: it counts although it was denied (`countDenied`), or was taken over from other numbers. */
export const ALWAYS = 2;

/** A row of an outcome and the state of one policy. */
export type Row = Float64Array;

/**
 * One algorithm: arithmetic on (numbers of the policy, state, now, cost). It knows no clock, no I/O and no randomness.
 *
 * `decide` reads the state at `state[base…]`, all zeros for a key that is new, changes nothing there, and fills `out`.
 */
export interface Algorithm {
  /** The policy as numbers, judged by `limit` in place of the policy's own. The Lua sibling takes the same. */
  numbers(policy: ParsedPolicy, limit: number): readonly number[];
  /** How many numbers of state a key has. */
  width(numbers: readonly number[]): number;
  decide(numbers: readonly number[], state: Row, base: number, now: number, cost: number, out: Row): void;
  /**
   * Takes units back from what was charged, in `state[base…]` in place. Negative ones are added to it, also beyond the
   * limit: then the state is one that `decide` has brought up to `now`. Returns how many of those it could not keep.
   */
  refund(
    numbers: readonly number[],
    state: Row,
    base: number,
    now: number,
    units: number,
    charge: Charge,
  ): number;
  /**
   * Moves a state that stands at `at`, ahead of `now`, back as far as it can be told to have stood before, in
   * `state[base…]` in place, not before now; returns when it stands. Absent where what was before is forgotten.
   */
  recede?(numbers: readonly number[], state: Row, base: number, at: number, now: number): number;
}

/** Returns the policy's own limit as a number that every store can hold: `Infinity` as 2^53 - 1. */
export function ownLimit(policy: ParsedPolicy): number {
  return Math.min(policy.limit, MOST);
}

/** Fills in what a request is told, which is what the Lua sibling returns; only a queue then sets a {@link DELAY}. */
export function report(
  out: Row,
  remaining: number,
  retry: number,
  reset: number,
  at: number,
  writes: number,
): void {
  out[REMAINING] = Math.max(0, remaining);
  out[RETRY] = retry;
  out[RESET] = reset;
  out[AT] = at;
  out[DELAY] = 0;
  out[WRITES] = writes;
}
