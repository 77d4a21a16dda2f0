/**
 * Token bucket: `burst` tokens at most, refilled at `rate` tokens per `period` ms (limit and window by their greatest
 * common divisor), full at the start.
 *
 * Kept as debt, what is missing from the full bucket: `tokens` whole ones and `part` of one in units of 1 / period.
 * Then nothing is ever rounded: in a millisecond the debt falls by exactly rate / period of a token, and no number
 * passes 2^53, whatever burst and window are. `tokens + (part > 0) + cost <= burst`.
 *
 * numbers: burst, rate, period. state: tokens, part, at, rate, period (those it was written under).
 *
 * @module
 */

import { ceilMulDiv, floorMulDiv, gcd, MOST, restMulDiv } from './exact.js';
import { type Algorithm, IF_ADMITTED, NEVER, NEXT, NOTHING, type Row, report } from './outcome.js';

export const tokenBucket: Algorithm = {
  numbers(policy, limit) {
    const divisor = gcd(limit, policy.windowMs);
    // A limit of 0 admits nothing, so there is nothing to hold either.
    const burst = limit === 0 ? 0 : (policy.capacity ?? limit);
    return [burst, limit / divisor, policy.windowMs / divisor];
  },

  width: () => 5,

  decide(numbers, state, base, now, cost, out) {
    const burst = numbers[0];
    const rate = numbers[1];
    const period = numbers[2];

    age(numbers, state, base, now, out);
    let tokens = out[NEXT];
    const part = out[NEXT + 1];

    const room = burst - tokens - (part > 0 ? 1 : 0);
    const fits = cost <= room || cost === 0;
    const charged = cost > 0 && fits;
    const retry = fits ? 0 : cost > burst ? NEVER : time(tokens - (burst - cost), part, rate, period);
    if (charged) tokens += cost;

    out[NEXT] = tokens;
    report(
      out,
      charged ? room - cost : room,
      retry,
      time(tokens, part, rate, period),
      out[NEXT + 2],
      charged ? IF_ADMITTED : NOTHING,
    );
  },

  refund(_numbers, state, base, _now, units) {
    state[base] -= units;
    if (state[base] < 0) state[base] = state[base + 1] = 0;
  },
};

/** Writes the debt as it stands now to out[NEXT…]: aged at the rate it was written under, then in units of this one. */
function age(numbers: readonly number[], state: Row, base: number, now: number, out: Row): void {
  const burst = numbers[0];
  const rate = numbers[1];
  const period = numbers[2];
  let tokens = state[base];
  let part = state[base + 1];
  const at = Math.max(now, state[base + 2]);
  const storedRate = state[base + 3];
  const storedPeriod = state[base + 4];
  if (storedPeriod > 0) {
    const elapsed = at - state[base + 2];
    tokens -= floorMulDiv(elapsed, storedRate, storedPeriod);
    part -= restMulDiv(elapsed, storedRate, storedPeriod);
    if (part < 0) {
      part += storedPeriod;
      tokens -= 1;
    }
    if (tokens < 0) tokens = part = 0;
    if (storedPeriod !== period) part = ceilMulDiv(part, period, storedPeriod);
    if (part === period) {
      part = 0;
      tokens += 1;
    }
    if (tokens >= burst) {
      tokens = burst;
      part = 0;
    }
  }
  out[NEXT] = tokens;
  out[NEXT + 1] = part;
  out[NEXT + 2] = at;
  out[NEXT + 3] = rate;
  out[NEXT + 4] = period;
}

/** The ms in which `tokens` and `part` come back, rounded up. */
export function time(tokens: number, part: number, rate: number, period: number): number {
  const debt = tokens * period + part;
  if (debt === 0) return 0;
  if (debt <= MOST) return Math.ceil(debt / rate);
  const rest = restMulDiv(tokens, period, rate);
  const wholes = floorMulDiv(tokens, period, rate) + Math.floor(part / rate);
  const partRest = part % rate;
  if (rest === 0 && partRest === 0) return Math.min(wholes, MOST);
  return Math.min(wholes + (rest > rate - partRest ? 2 : 1), MOST);
}
