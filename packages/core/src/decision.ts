/**
 * From a store's numbers to a {@link Decision}.
 *
 * @module
 */

import { binding, blockOf, toldOf, unlimited } from './policy-decision.js';
import type {
  Answer,
  Charge,
  Compensation,
  Decision,
  DecisionBlock,
  ParsedPolicy,
  Plan,
  PolicyDecision,
} from './types.js';
import { ANSWER_WIDTH } from './types.js';

/** Who makes decisions. */
export interface Maker {
  /** Whether it makes them without the store that it should ask. */
  readonly degraded: boolean;
  /** Who settles them: the limiter that the user has, of which it may be a part. */
  readonly owner: Settler;
}

/** Who corrects what decisions charged. */
export interface Settler {
  settle(decision: Decision, units: number): void | Promise<void>;
}

/** What a limiter remembers of a decision, for a refund or settlement. */
export interface Receipt {
  readonly limiter: Maker;
  readonly key: string;
  readonly plan: Plan;
  /** The units that have not been given back yet; 0 for what was denied or only peeked at. */
  readonly left: number;
  /** Whether anything was charged, if only 0 units. */
  readonly charged: boolean;
  /** What was charged, per term of the plan. */
  readonly charges: readonly Charge[];
  /**
   * Per term of the plan, of what was added to the charge, the units that its policy could not keep: those are not given
   * back to it.
   */
  readonly lacking: readonly number[];
  /** Notes that units are given back, or negative ones were added, and how much more is lacking since. */
  take(units: number, more: ArrayLike<number>): void;
}

const UNCHARGED = -1;

/** Apart from the decisions, as hardly one has any. */
const known = new WeakMap<object, readonly number[]>();

function lackingOf(decision: object, plan: Plan): readonly number[] {
  return known.get(decision) ?? plan.terms.map(() => 0);
}

/** A decision and, out of sight, its receipt. No private method: each instance would carry a mark for it. */
class SluiceDecision implements Decision {
  readonly allowed: boolean;
  readonly policy: string;
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly resetMs: number;
  readonly delayMs: number;
  readonly cost: number;
  readonly degraded: boolean;
  readonly policies: readonly PolicyDecision[];
  /** Not even `undefined` where there is none: hardly a decision has one. */
  declare compensation?: Compensation;
  /** The same. */
  declare block?: DecisionBlock;
  readonly #limiter: Maker;
  readonly #key: string;
  readonly #plan: Plan;
  /** {@link UNCHARGED} for what was denied or only peeked at. */
  #left: number;
  /** Per term; of a lone term, its own. */
  readonly #instants: number | readonly number[];

  constructor(
    allowed: boolean,
    binding: PolicyDecision,
    delayMs: number,
    cost: number,
    policies: readonly PolicyDecision[],
    limiter: Maker,
    key: string,
    plan: Plan,
    left: number,
    instants: number | readonly number[],
  ) {
    this.allowed = allowed;
    this.policy = binding.name;
    this.limit = binding.limit;
    this.remaining = binding.remaining;
    this.retryAfterMs = binding.retryAfterMs;
    this.resetMs = binding.resetMs;
    this.delayMs = delayMs;
    this.cost = cost;
    this.degraded = limiter.degraded;
    this.policies = policies;
    this.#limiter = limiter;
    this.#key = key;
    this.#plan = plan;
    this.#left = left;
    this.#instants = instants;
  }

  settle(units: number): void | Promise<void> {
    return this.#limiter.owner.settle(this, units);
  }

  static receiptOf(decision: unknown): Receipt | undefined {
    if (typeof decision !== 'object' || decision === null || !(#limiter in decision)) return undefined;
    return {
      limiter: decision.#limiter,
      key: decision.#key,
      plan: decision.#plan,
      left: Math.max(0, decision.#left),
      charged: decision.#left !== UNCHARGED,
      charges: chargesOf(decision, decision.#plan, [decision.#instants].flat(), decision.#left),
      lacking: lackingOf(decision, decision.#plan),
      take: (units, more) => {
        decision.#left -= units;
        const lacking = lackingOf(decision, decision.#plan).map((count, i) => count + more[i]);
        if (lacking.some((count) => count > 0)) known.set(decision, lacking);
        else known.delete(decision);
      },
    };
  }

  /** The same, but that the request may go on at once. What it charged can be corrected as before. */
  static withoutEffect(decision: Decision): Decision {
    if (!(#limiter in decision) || (decision.allowed && decision.delayMs === 0)) return decision;
    const told = new SluiceDecision(
      true,
      { ...decision, name: decision.policy, windowMs: 0, retryAfterMs: 0 },
      0,
      decision.cost,
      decision.policies,
      decision.#limiter,
      decision.#key,
      decision.#plan,
      decision.#left,
      decision.#instants,
    );
    if (decision.compensation !== undefined) told.compensation = decision.compensation;
    return told;
  }

  static instantOf(decision: unknown): number | undefined {
    if (typeof decision !== 'object' || decision === null || !(#instants in decision)) return undefined;
    const instants = decision.#instants;
    return typeof instants === 'number' ? instants : instants[0];
  }
}

/** What was charged at these instants, of which `left` units have not been given back. */
function chargesOf(decision: Decision, plan: Plan, instants: readonly number[], left: number): Charge[] {
  return plan.terms.map((term, i) => {
    const { remaining } = decision.policies[plan.places[i]];
    const refunded = decision.cost - left;
    const level = term.numbers[0] - remaining - refunded;
    return { at: instants[i], level: Math.min(level, Number.MAX_SAFE_INTEGER) };
  });
}

/** Returns the receipt of a decision that a limiter made, or `undefined` if none did. */
export const receiptOf: (decision: unknown) => Receipt | undefined = SluiceDecision.receiptOf;

/** Returns the decision as it is told in shadow mode: the request may go on, at once. Its policies say what they think. */
export const withoutEffect: (decision: Decision) => Decision = SluiceDecision.withoutEffect;

/** Returns the instant that a limiter decided at, by the clock that it decided by, if it asked one. */
export const instantOf: (decision: unknown) => number | undefined = SluiceDecision.instantOf;

/**
 * Returns, per term, how many of the units to be given back are among those that its policy could not keep when they
 * were added: they come first. None of negative units, which are added.
 */
export function sparedOf(lacking: readonly number[], units: number): number[] {
  return lacking.map((count) => Math.max(0, Math.min(count, units)));
}

/** Reads the answer of a store to a request of `limiter`. */
export function readAnswer(
  policies: readonly ParsedPolicy[],
  cost: number,
  answer: Answer,
  limiter: Maker,
  key: string,
  plan: Plan,
  charge: boolean,
): Decision {
  const { places, terms } = plan;
  if (policies.length === 1 && terms.length === 1) {
    // Most limiters have one policy: no loops, no lists for them. (And no look into `policies`, which is frozen: optimised
    // code calls a builtin for that.)
    const retry = answer[1];
    const left = charge && retry === 0 ? cost : UNCHARGED;
    const only = toldOf(terms[0], answer, 0, retry);
    const lone = new SluiceDecision(
      retry === 0,
      only,
      answer[0] < 0 ? 0 : answer[4],
      cost,
      [only],
      limiter,
      key,
      plan,
      left,
      answer[3],
    );
    return answer[0] < 0 ? withBlock(lone, only) : lone;
  }
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
    each.push(toldOf(terms[next], answer, from, allowed || retry !== 0 ? retry : delay));
    next += 1;
  }
  const left = charge && allowed ? cost : UNCHARGED;
  const speaks = binding(each, allowed, places.length > 0 ? places[0] : 0);
  const decision = new SluiceDecision(
    allowed,
    speaks,
    delayMs,
    cost,
    each,
    limiter,
    key,
    plan,
    left,
    instants,
  );
  if (allowed) return decision;
  if (answer.compensation !== undefined) decision.compensation = answer.compensation;
  return withBlock(decision, speaks);
}

/** Says which block denies, if one does. */
function withBlock(decision: SluiceDecision, speaks: PolicyDecision): Decision {
  const block = blockOf(speaks, decision.policies);
  if (block !== undefined) decision.block = block;
  return decision;
}
