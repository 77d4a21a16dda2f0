/**
 * Leaky bucket: a queue of `capacity` units that lets requests out evenly, at `rate` units per `period` ms.
 *
 * The level is the debt of a token bucket, and what fits is the same. What differs is the meaning: an admitted request
 * starts when what was before it has leaked, so it waits ceil(level before it / rate), whatever it costs itself, and
 * even if that is nothing; and its place can only be given back while it is the last of the queue.
 *
 * numbers and state: as in token-bucket.ts, with the capacity for the burst.
 *
 * @module
 */

import { floorMulDiv } from './exact.js';
import { type Algorithm, DELAY, IF_ADMITTED, NEXT, RESET, WRITES } from './outcome.js';
import { time, tokenBucket } from './token-bucket.js';

export const leakyBucket: Algorithm = {
  numbers(policy, limit) {
    const numbers = tokenBucket.numbers(policy, limit);
    if (policy.maxDelayMs === undefined || limit === 0) return numbers;
    // What takes a place waits for at most capacity - 1 units, so for at most ceil((capacity - 1) * period / rate). That
    // is no longer than maxDelay just if capacity - 1 <= maxDelay * rate / period, maxDelay being a whole number.
    const [capacity, rate, period, own] = numbers;
    return [Math.min(capacity, floorMulDiv(policy.maxDelayMs, rate, period) + 1), rate, period, own];
  },

  width: tokenBucket.width,

  decide(numbers, state, base, now, cost, out) {
    tokenBucket.decide(numbers, state, base, now, cost, out);
    if (out[WRITES] === IF_ADMITTED) {
      out[DELAY] = time(out[NEXT] - cost, out[NEXT + 1], numbers[1], numbers[2]);
    } else if (cost === 0) {
      // It takes no place, so the level goes on leaking as it was.
      out[DELAY] = out[RESET];
    }
  },

  refund(numbers, state, base, now, units, charge) {
    const level = state[base] + (state[base + 1] > 0 ? 1 : 0);
    if (units < 0 || (state[base + 2] === charge.at && level === charge.level)) {
      return tokenBucket.refund(numbers, state, base, now, units, charge);
    }
    return 0;
  },
};
