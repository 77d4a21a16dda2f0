/**
 * How long units that were charged in advance may be used, by algorithm, so that no limit is ever passed.
 *
 * @module
 */

import { ownPlan } from '../policy.js';
import type { ParsedPolicy, Plan, Term } from '../types.js';

/** Of the time in which a bucket refills, units of it may be used so much after they were charged. */
const MOST_OF_REFILL = 0.1;

/** How leases of one policy end. */
export interface LeaseTerm {
  /**
   * The length of the window, or of its buckets: what was charged in one is used in that one, so the counts are the same as
   * if it had been charged when it was used. 0 of a bucket of tokens.
   */
  readonly alignedMs: number;
  /** Tokens per ms that come back to a bucket; 0 of a window. */
  readonly perMs: number;
  /** The longest that units may be used after they were charged. */
  readonly lifeMs: number;
  /** Whether a horizon is too short for a unit to come back: then it does not pay to ask once in each. */
  readonly slow: boolean;
}

/** A plan by which units can be charged in advance. */
export interface LeasePlan {
  /** As the store judges: of buckets that hold less, see {@link leasePlanOf}. */
  readonly plan: Plan;
  readonly terms: readonly LeaseTerm[];
}

/**
 * Returns how to charge by `plan` in advance; `undefined` where that cannot be: of limits that a request brought, and of
 * buckets from which less than a unit comes back in the time that a lease may last.
 *
 * What is used in a stretch of time was charged in it, or in the life of a lease before. In that a bucket lets through as
 * much more as comes back to it meanwhile, so it is taken to hold so much less.
 */
export function leasePlanOf(
  plan: Plan,
  policies: readonly ParsedPolicy[],
  horizonMs: number,
): LeasePlan | undefined {
  if (!isOwn(plan, policies)) return undefined;
  const leases = plan.terms.map((term, i) => leaseTermOf(term, policies[plan.places[i]], horizonMs));
  const terms = leases.flatMap((lease) => lease ?? []);
  if (terms.length < leases.length || terms.length === 0) return undefined;
  return {
    plan: { places: plan.places, terms: plan.terms.map((term, i) => lowered(term, terms[i])) },
    terms,
  };
}

function leaseTermOf(term: Term, policy: ParsedPolicy, horizonMs: number): LeaseTerm | undefined {
  const perMs = policy.limit / policy.windowMs;
  if (policy.algorithm === 'fixed-window' || policy.algorithm === 'sliding-window-counter') {
    const alignedMs = policy.windowMs / policy.buckets;
    return { alignedMs, perMs: 0, lifeMs: alignedMs, slow: perMs * horizonMs < 1 };
  }
  const lifeMs = Math.min(horizonMs, Math.floor(MOST_OF_REFILL * term.windowMs));
  if (perMs * lifeMs < 1) return undefined;
  return { alignedMs: 0, perMs, lifeMs, slow: false };
}

function lowered(term: Term, { perMs, lifeMs }: LeaseTerm): Term {
  const [capacity, ...numbers] = term.numbers;
  return { ...term, numbers: [capacity - Math.ceil(perMs * lifeMs), ...numbers] };
}

/** Whether these are the limits of the policies. */
function isOwn(plan: Plan, policies: readonly ParsedPolicy[]): boolean {
  const own = ownPlan(policies);
  return (
    own.terms.length === plan.terms.length &&
    own.terms.every(({ numbers }, i) => numbers.every((number, j) => number === plan.terms[i].numbers[j]))
  );
}
