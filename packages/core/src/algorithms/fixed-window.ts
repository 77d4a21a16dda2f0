/**
 * Fixed window: one count per window, windows aligned to the epoch.
 *
 * `used + cost <= limit`. Up to twice the limit passes in a stretch across an edge.
 *
 * numbers: limit, window, own (the policy's own limit), countDenied. state: k (number of the window), window, used.
 *
 * @module
 */

import { MOST } from './exact.js';
import { ALWAYS, type Algorithm, IF_ADMITTED, NEVER, NEXT, NOTHING, ownLimit, report } from './outcome.js';

export const fixedWindow: Algorithm = {
  numbers: (policy, limit) => [limit, policy.windowMs, ownLimit(policy), policy.countDenied ? 1 : 0],

  width: () => 3,

  decide(numbers, state, base, now, cost, out) {
    const limit = numbers[0];
    const window = numbers[1];
    const own = numbers[2];
    const countDenied = numbers[3];
    const stored = state[base + 1];
    let at = now;
    let used = 0;
    if (stored > 0) {
      const start = state[base] * stored;
      if (start > at) at = start;
      if (Math.floor(at / stored) === state[base]) used = state[base + 2];
      // Written under another window: what was used stays used, in the window of the new kind; at most what the policy
      // holds, whatever this request's limit is, because it is stored for all.
      if (stored !== window && used > own) used = own;
    }
    const k = Math.floor(at / window);

    const room = limit - used;
    const fits = cost <= room || cost === 0;
    let writes = NOTHING;
    if (cost > 0 && countDenied === 1 && cost <= limit) {
      used = Math.min(used + cost, MOST);
      writes = ALWAYS;
    } else if (cost > 0 && fits) {
      used += cost;
      writes = IF_ADMITTED;
    } else if (stored > 0 && stored !== window && cost > 0 && cost <= limit) {
      // Or else each later request would find it all in its own window again, and wait for ever.
      writes = ALWAYS;
    }

    const left = (k + 1) * window - at;
    report(out, limit - used, fits ? 0 : cost > limit ? NEVER : left, used > 0 ? left : 0, at, writes);
    out[NEXT] = k;
    out[NEXT + 1] = window;
    out[NEXT + 2] = used;
  },

  refund(_numbers, state, base, _now, units, charge) {
    const window = state[base + 1];
    if (window > 0 && Math.floor(charge.at / window) === state[base]) {
      state[base + 2] = Math.min(Math.max(0, state[base + 2] - units), MOST);
    }
    return 0;
  },
};
