/**
 * Units of one policy that were charged in advance, and have not been used.
 *
 * @module
 */

import type { LeaseTerm } from './lease-terms.js';

export class Holding {
  readonly #term: LeaseTerm;
  #units = 0;
  #endsMs: number = -Infinity;
  /** What its bucket has surely not taken for refilled yet: falls by what comes back to all of it. */
  #fresh = 0;
  #takenMs = 0;
  /** Where the store booked them. */
  at = 0;
  /** What the store had left besides, and when the key would have been as new, when it was asked last. */
  remaining: number = Infinity;
  resetMs = 0;

  constructor(term: LeaseTerm) {
    this.#term = term;
  }

  /** When they can no longer be used. */
  get endsMs(): number {
    return this.#units > 0 ? this.#endsMs : -Infinity;
  }

  /** How many can be used. */
  usable(nowMs: number): number {
    return nowMs < this.#endsMs ? this.#units : 0;
  }

  use(units: number): void {
    this.#units -= units;
  }

  /** Notes how the policy stands, by an answer to what was asked then. */
  note(remaining: number, resetMs: number, at: number, askedMs: number): void {
    this.remaining = remaining;
    this.resetMs = askedMs + resetMs;
    this.at = at;
  }

  /**
   * Adds units that were charged, after what has ended was put down.
   *
   * @param askedMs - when they were asked for: they were charged later, so they end too early rather than too late.
   * @param marginMs - how much further the store's clock may be than it says.
   */
  add(units: number, at: number, askedMs: number, marginMs: number): void {
    if (units === 0) return;
    const { alignedMs, perMs, lifeMs } = this.#term;
    const leftMs = alignedMs > 0 ? alignedMs - (at % alignedMs) - marginMs : lifeMs;
    const endsMs = askedMs + leftMs;
    // Together they last as long as those that were there before.
    this.#endsMs = this.#units > 0 ? Math.min(this.#endsMs, endsMs) : endsMs;
    this.#units += units;
    this.#fresh = Math.max(0, this.#fresh - perMs * (askedMs - this.#takenMs)) + units;
    this.#takenMs = askedMs;
  }

  /**
   * Puts down all units, and returns how many of them the store may be given back. Those that a bucket has refilled since
   * are no longer in it.
   */
  putDown(nowMs: number): number {
    const { alignedMs, perMs } = this.#term;
    const fresh = Math.floor(this.#fresh - perMs * (nowMs - this.#takenMs));
    const back = alignedMs > 0 ? this.#units : Math.max(0, Math.min(this.#units, fresh));
    this.#units = 0;
    this.#fresh = 0;
    this.#endsMs = -Infinity;
    return back;
  }
}
