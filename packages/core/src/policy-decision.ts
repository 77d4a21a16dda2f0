/**
 * What each policy says of a request, and which of them speaks for all.
 *
 * @module
 */

import { BY_POLICY } from './algorithms/block.js';
import { NEVER } from './algorithms/outcome.js';
import type { Answer, DecisionBlock, ParsedPolicy, PolicyDecision, Term } from './types.js';

/** What one term says, from `from` on, of a request that waits so long for it. */
export function toldOf(term: Term, answer: Answer, from: number, wait: number): PolicyDecision {
  // Whole already; rounded, V8 keeps them in the object, where it would put what comes from a typed array beside it.
  const told = {
    name: term.name,
    limit: term.numbers[0],
    windowMs: term.windowMs,
    remaining: Math.floor(answer[from]),
    retryAfterMs: wait === NEVER ? Infinity : Math.floor(wait),
    resetMs: Math.floor(answer[from + 2]),
    allowed: answer[from + 1] === 0,
  };
  return answer[from] < 0 ? blockedOf(told) : told;
}

/** The same of a key that is blocked: by whom stands in place of what remains. */
function blockedOf(told: PolicyDecision): PolicyDecision {
  const blockedBy = told.remaining === -BY_POLICY ? 'policy' : 'hand';
  return { ...told, remaining: 0, resetMs: told.resetMs === NEVER ? Infinity : told.resetMs, blockedBy };
}

/** Which block denies, if one does: of the policy that speaks, if that has one. */
export function blockOf(speaks: PolicyDecision, each: readonly PolicyDecision[]): DecisionBlock | undefined {
  const blocked = speaks.blockedBy === undefined ? each.find((one) => one.blockedBy !== undefined) : speaks;
  return blocked?.blockedBy && { policy: blocked.name, by: blocked.blockedBy };
}

/** What a policy says that is off. */
export function unlimited(policy: ParsedPolicy): PolicyDecision {
  return {
    name: policy.name,
    limit: Infinity,
    windowMs: policy.windowMs,
    remaining: Infinity,
    retryAfterMs: 0,
    resetMs: 0,
    allowed: true,
  };
}

/**
 * The policy that speaks: denied, the longest wait; allowed, the fewest remaining; the first if equal.
 *
 * @param first - the first that has a limit: nobody before it can speak.
 */
export function binding(each: readonly PolicyDecision[], allowed: boolean, first: number): PolicyDecision {
  let speaks = each[first];
  for (let i = first + 1; i < each.length; i++) {
    const other = each[i];
    if (allowed ? other.remaining < speaks.remaining : other.retryAfterMs > speaks.retryAfterMs)
      speaks = other;
  }
  return speaks;
}
