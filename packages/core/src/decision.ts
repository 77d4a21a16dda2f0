/**
 * From a store's numbers to a {@link Decision}.
 *
 * @module
 */

import type { Answer, Charge, Decision, ParsedPolicy, Plan, PolicyDecision } from './types.js';
import { ANSWER_WIDTH } from './types.js';

/** What a limiter remembers of a decision, for a refund. */
export interface Receipt {
  readonly limiter: object;
  readonly key: string;
  readonly plan: Plan;
  /** The units that have not been given back yet; 0 for what was denied or only peeked at. */
  left: number;
}

/** A decision and, out of sight, its receipt. */
class SluiceDecision implements Decision {
  readonly allowed: boolean;
  readonly policy: string;
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly resetMs: number;
  readonly delayMs: number;
  readonly cost: number;
  readonly policies: readonly PolicyDecision[];
  readonly #receipt: Receipt;
  readonly #instants: number[];

  constructor(
    allowed: boolean,
    binding: PolicyDecision,
    delayMs: number,
    cost: number,
    policies: readonly PolicyDecision[],
    receipt: Receipt,
    instants: number[],
  ) {
    this.allowed = allowed;
    this.policy = binding.name;
    this.limit = binding.limit;
    this.remaining = binding.remaining;
    this.retryAfterMs = binding.retryAfterMs;
    this.resetMs = binding.resetMs;
    this.delayMs = delayMs;
    this.cost = cost;
    this.policies = policies;
    this.#receipt = receipt;
    this.#instants = instants;
  }

  static receiptOf(decision: unknown): Receipt | undefined {
    return typeof decision === 'object' && decision !== null && #receipt in decision
      ? decision.#receipt
      : undefined;
  }

  static instantOf(decision: unknown): number | undefined {
    return typeof decision === 'object' && decision !== null && #instants in decision
      ? decision.#instants[0]
      : undefined;
  }

  static charges(decision: SluiceDecision): Charge[] {
    const { plan, left } = decision.#receipt;
    return plan.terms.map((term, i) => {
      const { remaining } = decision.policies[plan.places[i]];
      const refunded = decision.cost - left;
      return { at: decision.#instants[i], level: term.numbers[0] - remaining - refunded };
    });
  }
}

/** Returns the receipt of a decision that a limiter made, or `undefined` if none did. */
export const receiptOf: (decision: unknown) => Receipt | undefined = SluiceDecision.receiptOf;

/** Returns the instant that a limiter decided at, by the clock that it decided by, if it asked one. */
export const instantOf: (decision: unknown) => number | undefined = SluiceDecision.instantOf;

/** Returns what the decision was charged, per term of its plan. */
export function chargesOf(decision: Decision): readonly Charge[] {
  return SluiceDecision.charges(decision as SluiceDecision);
}

/** Reads a store's answer. `receipt.left` is set to what was charged. */
export function readAnswer(
  policies: readonly ParsedPolicy[],
  cost: number,
  answer: Answer,
  receipt: Receipt,
  charge: boolean,
): Decision {
  const { places, terms } = receipt.plan;
  let allowed = true;
  for (let i = 0; i < terms.length; i++) if (answer[i * ANSWER_WIDTH + 1] !== 0) allowed = false;
  const each: PolicyDecision[] = [];
  const instants: number[] = [];
  let delayMs = 0;
  let next = 0;
  for (let place = 0; place < policies.length; place++) {
    if (places[next] !== place) {
      each.push(unlimited(policies[place]));
      continue;
    }
    const from = next * ANSWER_WIDTH;
    const retry = answer[from + 1];
    const delay = answer[from + 4];
    if (allowed && delay > delayMs) delayMs = delay;
    instants.push(answer[from + 3]);
    each.push({
      name: policies[place].name,
      limit: terms[next].numbers[0],
      windowMs: terms[next].windowMs,
      remaining: answer[from],
      retryAfterMs: retry === -1 ? Infinity : allowed || retry > 0 ? retry : delay,
      resetMs: answer[from + 2],
      allowed: retry === 0,
    });
    next += 1;
  }
  if (charge && allowed) receipt.left = cost;
  return new SluiceDecision(allowed, binding(each, allowed), delayMs, cost, each, receipt, instants);
}

function unlimited(policy: ParsedPolicy): PolicyDecision {
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

/** The policy that speaks: denied, the longest wait; allowed, the fewest remaining; the first if equal. */
function binding(each: readonly PolicyDecision[], allowed: boolean): PolicyDecision {
  let speaks = each[0];
  for (let i = 1; i < each.length; i++) {
    const other = each[i];
    if (allowed ? other.remaining < speaks.remaining : other.retryAfterMs > speaks.retryAfterMs)
      speaks = other;
  }
  return speaks;
}
