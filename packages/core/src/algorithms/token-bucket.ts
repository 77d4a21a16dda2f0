/**
 * Token bucket: `burst` tokens at most, refilled at `rate` tokens per `period` ms (limit and window by their greatest
 * common divisor), full at the start.
 *
 * Kept as debt, what is missing from the full bucket: `tokens` whole ones and `part` of one in units of 1 / period.
 * Then nothing is ever rounded: in a millisecond the debt falls by exactly rate / period of a token, and no number
 * passes 2^53, whatever burst and window are. `tokens + (part > 0) + cost <= burst`.
 *
 * A policy that has changed takes the debt over, but not more than its capacity. A limit for one request takes nothing
 * over, and what was charged under one is not taken over: it counts and ages as it was written until something more is
 * charged. Otherwise limits that take turns would forgive each other's debt.
 *
 * numbers: burst, rate, period, own (1 if the limit is the policy's own, 0 if it is this request's).
 * state: tokens, part, at, rate, period (those it was written under; the period negative if under one request's limit,
 *   the rate negative if debt beyond the capacity is meant: a request cost more than was expected).
 *
 * @module
 */

import { ceilMulDiv, floorMulDiv, gcd, MOST, restMulDiv } from './exact.js';
import { ALWAYS, type Algorithm, IF_ADMITTED, NEVER, NEXT, NOTHING, type Row, report } from './outcome.js';

export const tokenBucket: Algorithm = {
  numbers(policy, limit) {
    const divisor = gcd(limit, policy.windowMs);
    // A limit of 0 admits nothing, so there is nothing to hold either.
    const burst = limit === 0 ? 0 : (policy.capacity ?? limit);
    const own = limit === policy.limit ? 1 : 0;
    return [burst, limit / divisor, policy.windowMs / divisor, own];
  },

  width: () => 5,

  decide(numbers, state, base, now, cost, out) {
    const burst = numbers[0];
    const rate = numbers[1];
    const period = numbers[2];

    const known = state[base + 4] !== 0;
    let storedRate = known ? Math.abs(state[base + 3]) : rate;
    let storedPeriod = known ? Math.abs(state[base + 4]) : period;
    const at = Math.max(now, state[base + 2]);
    age(state, base, at, out);
    let tokens = out[NEXT];
    let part = out[NEXT + 1];
    const own = numbers[3] === 1 && state[base + 4] > 0;
    const over = tokens > burst && state[base + 3] > 0;
    const changed = own && (storedRate !== rate || storedPeriod !== period || over);
    if (changed) {
      part = ceilMulDiv(part, period, storedPeriod);
      if (tokens >= burst) {
        tokens = burst;
        part = 0;
      }
      storedRate = rate;
      storedPeriod = period;
    }

    let room = burst - tokens - (part > 0 ? 1 : 0);
    const fits = cost <= room || cost === 0;
    let retry = 0;
    if (!fits) {
      retry = cost > burst ? NEVER : time(tokens - (burst - cost), part, storedRate, storedPeriod);
    }
    const charged = cost > 0 && fits;
    if (charged) {
      part = ceilMulDiv(part, period, storedPeriod);
      tokens += cost;
      if (part === period) {
        part = 0;
        tokens += 1;
      }
      room = burst - tokens - (part > 0 ? 1 : 0);
      storedRate = rate;
      storedPeriod = period;
    }
    const reset = time(tokens, part, storedRate, storedPeriod);

    // What was taken over is stored even if the request is denied: or else it would be taken over again later.
    const writes = charged ? IF_ADMITTED : changed && !fits && cost <= burst ? ALWAYS : NOTHING;
    report(out, room, retry, reset, at, writes);
    out[NEXT] = tokens;
    out[NEXT + 1] = part;
    out[NEXT + 2] = at;
    const written = charged || changed || !known;
    out[NEXT + 3] = written ? rate : state[base + 3];
    out[NEXT + 4] = written ? (numbers[3] === 1 ? period : -period) : state[base + 4];
  },

  refund(numbers, state, base, _now, units) {
    // Under a limit of 0 debt would never come back.
    if (units < 0 && numbers[0] === 0) return -units;
    state[base] = Math.min(state[base] - units, MOST);
    if (state[base] < 0) state[base] = state[base + 1] = 0;
    if (units < 0) state[base + 3] = -Math.abs(state[base + 3]);
    return 0;
  },

  /** As far as there is room for the debt that it had. */
  recede(numbers, state, base, at, now) {
    const rate = Math.abs(state[base + 3]);
    const period = Math.abs(state[base + 4]);
    const room = Math.max(0, numbers[0] - state[base] - (state[base + 1] > 0 ? 1 : 0));
    const back = Math.min(at - now, floorMulDiv(room, period, rate));
    state[base] += floorMulDiv(back, rate, period);
    state[base + 1] += restMulDiv(back, rate, period);
    if (state[base + 1] >= period) {
      state[base] += 1;
      state[base + 1] -= period;
    }
    state[base + 2] = at - back;
    return at - back;
  },
};

/** Writes the debt as it stands at `at` to out[NEXT] and the place behind, in the units it was written in. */
function age(state: Row, base: number, at: number, out: Row): void {
  let tokens = state[base];
  let part = state[base + 1];
  const rate = Math.abs(state[base + 3]);
  const period = Math.abs(state[base + 4]);
  if (period > 0) {
    const elapsed = at - state[base + 2];
    tokens -= floorMulDiv(elapsed, rate, period);
    part -= restMulDiv(elapsed, rate, period);
    if (part < 0) {
      part += period;
      tokens -= 1;
    }
    if (tokens < 0) tokens = part = 0;
  }
  out[NEXT] = tokens;
  out[NEXT + 1] = part;
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
