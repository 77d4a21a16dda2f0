/**
 * Clocks: where `now` comes from when it is not the store's own.
 *
 * @module
 */

import { expected } from './errors.js';
import type { Clock } from './types.js';

/** A clock that stands still until it is told otherwise. */
export interface ManualClock extends Clock {
  /** Jumps to `at`, forwards or backwards. */
  set(at: number): void;
  /** Moves by `ms`, which may be negative. */
  advance(ms: number): void;
}

/**
 * Returns a clock that only moves when told: for tests, simulations and replays.
 *
 * @param at - where it starts, whole ms since the epoch.
 * @throws ArgumentError if it would stand on anything but an integer from 0 to 2^52.
 *
 * @example
 * import { createLimiter, manualClock } from '@sluice/core';
 * const clock = manualClock(0);
 * const limiter = createLimiter({ policies: [{ limit: 1, window: '1s', algorithm: 'fixed-window' }], clock });
 * limiter.consume('a').allowed; // true
 * limiter.consume('a').allowed; // false
 * clock.advance(1000);
 * limiter.consume('a').allowed; // true
 */
export function manualClock(at = 0): ManualClock {
  let now = instant(at);
  return {
    now: () => now,
    set(to) {
      now = instant(to);
    },
    advance(ms) {
      now = instant(now + ms);
    },
  };
}

/** So that an instant plus the longest waits is still a safe integer. The year 144,683. */
const LATEST = 2 ** 52;

/** Returns `at` if it is an instant: whole ms from 0 to 2^52. */
export function instant(at: unknown): number {
  if (!Number.isInteger(at) || (at as number) < 0 || (at as number) > LATEST) {
    throw expected('ERR_SLUICE_ARGUMENT', 'clock.now()', 'whole milliseconds since the epoch', at);
  }
  return at as number;
}
