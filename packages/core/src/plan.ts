/**
 * Parts of plans.
 *
 * @module
 */

import type { Plan } from './types.js';

/** Returns the terms of a plan that stand at these places in it. */
export function partOf(plan: Plan, which: readonly number[]): Plan {
  return { terms: which.map((i) => plan.terms[i]), places: which.map((i) => plan.places[i]) };
}
