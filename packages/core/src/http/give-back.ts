/**
 * Giving back what a request was charged that is not to count.
 *
 * @module
 */

import type { Limiter } from '../limiter.js';
import type { Decision } from '../types.js';

/**
 * Gives back all that the request was charged. Never rejects: what the store could not give back stays charged. The
 * store tells that it fails by itself, and nobody waits for this any more.
 */
export async function giveBack(limiter: Limiter, decision: Decision): Promise<void> {
  try {
    await limiter.refund(decision);
  } catch {}
}
