/**
 * GCRA, the generic cell rate algorithm: a token bucket kept as one instant, the theoretical arrival time (ITU-T I.371).
 *
 * That instant counts in units of 1 / rate ms from {@link EPOCH}, so that it is a whole number; the debt is how far it
 * lies ahead of now, and a token is `period` units. `debt + cost * period <= burst * period`.
 *
 * numbers: burst, rate, period, own (as in token-bucket.ts). state: tat, burst, rate, period (as in token-bucket.ts).
 *
 * @module
 */

import { ceilMulDiv, MOST } from './exact.js';
import { ALWAYS, type Algorithm, IF_ADMITTED, NEVER, NEXT, NOTHING, type Row, report } from './outcome.js';
import { tokenBucket } from './token-bucket.js';

/** 2035-01-01T00:00Z. Half-way between 1970 and 2100, the instants that must be exact, which leaves the most room for the rate. */
const EPOCH = 2_051_222_400_000;

export const gcra: Algorithm = {
  numbers: tokenBucket.numbers,

  width: () => 4,

  decide(numbers, state, base, now, cost, out) {
    const burst = numbers[0];
    const rate = numbers[1];
    const period = numbers[2];

    const known = state[base + 3] !== 0;
    let storedRate = known ? state[base + 2] : rate;
    let storedPeriod = known ? Math.abs(state[base + 3]) : period;
    let debt = debtAt(state, base, now);
    const own = numbers[3] === 1 && state[base + 3] > 0;
    const changed = own && (storedRate !== rate || storedPeriod !== period || debt > burst * storedPeriod);
    if (changed) {
      debt = Math.min(ceilMulDiv(debt, period, storedPeriod), burst * period);
      storedRate = rate;
      storedPeriod = period;
    }

    let room = burst - Math.ceil(debt / storedPeriod);
    const fits = cost <= room || cost === 0;
    let retry = 0;
    if (!fits) retry = cost > burst ? NEVER : Math.ceil((debt - (burst - cost) * storedPeriod) / storedRate);
    const charged = cost > 0 && fits;
    if (charged) {
      debt = ceilMulDiv(debt, period, storedPeriod) + cost * period;
      room = burst - Math.ceil(debt / period);
    }
    const written = charged || changed || !known;
    if (written) {
      storedRate = rate;
      storedPeriod = period;
    }
    const reset = debt === 0 ? 0 : Math.ceil(debt / storedRate);

    // What was taken over is stored even if the request is denied: or else it would be taken over again later.
    const writes = charged ? IF_ADMITTED : changed && !fits && cost <= burst ? ALWAYS : NOTHING;
    report(out, room, retry, reset, now, writes);
    out[NEXT] = (now - EPOCH) * storedRate + debt;
    out[NEXT + 1] = written ? burst : state[base + 1];
    out[NEXT + 2] = storedRate;
    out[NEXT + 3] = written ? (numbers[3] === 1 ? period : -period) : state[base + 3];
  },

  refund(_numbers, state, base, now, units) {
    const period = Math.abs(state[base + 3]);
    const before = debtAt(state, base, now);
    // No more than the capacity, so that it stays exact: more could not be told from a clock that stepped back.
    const debt = Math.max(0, Math.min(before - units * period, state[base + 1] * period));
    state[base] = (now - EPOCH) * state[base + 2] + debt;
    return units < 0 ? -units - Math.floor((debt - before) / period) : 0;
  },

  /** As far as there is room for the debt that it had. The state says the same. */
  recede(_numbers, state, base, at, now) {
    const room = state[base + 1] * Math.abs(state[base + 3]) - debtAt(state, base, at);
    return at - Math.min(at - now, Math.floor(room / state[base + 2]));
  },
};

/**
 * How far the theoretical arrival time lies ahead, in the units it was written in. More than the capacity it was
 * written under is only seen after the clock stepped back.
 */
function debtAt(state: Row, base: number, now: number): number {
  const debt = state[base] - (now - EPOCH) * state[base + 2];
  return Math.max(0, Math.min(debt, state[base + 1] * Math.abs(state[base + 3])));
}

/** Whether every number that `decide` forms from 1970 to 2100 is exact. */
export function isExact(numbers: readonly number[]): boolean {
  const [burst, rate, period] = numbers;
  return EPOCH * rate + 2 * burst * period <= MOST;
}
