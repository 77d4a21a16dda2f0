/**
 * GCRA, the generic cell rate algorithm: a token bucket kept as one instant, the theoretical arrival time (ITU-T I.371).
 *
 * That instant counts in units of 1 / rate ms from {@link EPOCH}, so that it is a whole number; the debt is how far it
 * lies ahead of now, and a token is `period` units. `debt + cost * period <= burst * period`.
 *
 * numbers: burst, rate, period. state: tat, rate, period (those it was written under).
 *
 * @module
 */

import { ceilMulDiv, MOST } from './exact.js';
import { type Algorithm, IF_ADMITTED, NEVER, NEXT, NOTHING, type Row, report } from './outcome.js';
import { tokenBucket } from './token-bucket.js';

/** 2035-01-01T00:00Z. Half-way between 1970 and 2100, the instants that must be exact, which leaves the most room for the rate. */
export const EPOCH = 2_051_222_400_000;

export const gcra: Algorithm = {
  numbers: tokenBucket.numbers,

  width: () => 3,

  decide(numbers, state, base, now, cost, out) {
    const burst = numbers[0];
    const rate = numbers[1];
    const period = numbers[2];

    let debt = debtAt(state, base, now);
    const storedPeriod = state[base + 2];
    if (storedPeriod > 0 && storedPeriod !== period) debt = ceilMulDiv(debt, period, storedPeriod);
    // More than the capacity is only seen after the clock stepped back, or after the capacity shrank.
    debt = Math.min(debt, burst * period);

    const room = Math.floor((burst * period - debt) / period);
    const fits = cost <= room || cost === 0;
    const charged = cost > 0 && fits;
    const retry = fits ? 0 : cost > burst ? NEVER : Math.ceil((debt + cost * period - burst * period) / rate);
    if (charged) debt += cost * period;
    report(
      out,
      charged ? room - cost : room,
      retry,
      debt === 0 ? 0 : Math.ceil(debt / rate),
      now,
      charged ? IF_ADMITTED : NOTHING,
    );
    out[NEXT] = (now - EPOCH) * rate + debt;
    out[NEXT + 1] = rate;
    out[NEXT + 2] = period;
  },

  refund(numbers, state, base, now, units) {
    const storedPeriod = state[base + 2];
    const debt = Math.min(debtAt(state, base, now), numbers[0] * storedPeriod);
    state[base] = (now - EPOCH) * state[base + 1] + Math.max(0, debt - units * storedPeriod);
  },
};

/** How far the theoretical arrival time lies ahead, in the units it was written in. */
function debtAt(state: Row, base: number, now: number): number {
  return Math.max(0, state[base] - (now - EPOCH) * state[base + 1]);
}

/** Whether every number that `decide` forms from 1970 to 2100 is exact. */
export function isExact(numbers: readonly number[]): boolean {
  const [burst, rate, period] = numbers;
  return EPOCH * rate + 2 * burst * period <= MOST;
}
