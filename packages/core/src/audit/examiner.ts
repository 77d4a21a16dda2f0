/**
 * One policy, beside the exact log.
 *
 * @module
 */

import { algorithms } from '../algorithms/index.js';
import {
  ALWAYS,
  type Algorithm,
  IF_ADMITTED,
  NEXT,
  NOTHING,
  REMAINING,
  RETRY,
  WRITES,
} from '../algorithms/outcome.js';
import type { Decision, ParsedPolicy, PolicyDecision } from '../types.js';
import { History } from './history.js';
import type { PolicyAudit } from './report.js';

/** The numbers of the policy under one limit. */
interface Numbers {
  readonly limit: number;
  readonly live: readonly number[];
  /** Denied requests count. */
  readonly counting: readonly number[];
}

/** Whether a policy estimates what came in the last window. Buckets promise something else, and keep it exactly. */
export function estimates({ algorithm }: ParsedPolicy): boolean {
  return algorithm === 'fixed-window' || algorithm === 'sliding-window-counter';
}

/** Judges what one policy decided, and counts. */
export class Examiner {
  readonly policy: ParsedPolicy;
  readonly #place: number;
  readonly #algorithm: Algorithm;
  readonly #width: number;
  readonly #out: Float64Array;
  #numbers: Numbers;
  #decisions = 0;
  #exactDenies = 0;
  #falseAllows = 0;
  #falseDenies = 0;
  #sameFalseAllows = 0;
  #sameFalseDenies = 0;
  #worstBurst = 0;
  #keys = 0;
  #unexplained = 0;

  /** @param place - where the policy stands among those of the limiter. */
  constructor(policy: ParsedPolicy, place: number) {
    this.policy = policy;
    this.#place = place;
    this.#algorithm = algorithms[policy.algorithm as keyof typeof algorithms];
    this.#numbers = this.#numbersOf(0);
    this.#width = this.#algorithm.width(this.#numbers.live);
    this.#out = new Float64Array(NEXT + this.#width);
  }

  /** Begins the history of a key. */
  begin(): History {
    this.#keys += 1;
    return new History(this.policy, this.#width);
  }

  /** Whether the policy had a say: a cost of 0 is always admitted, and without a limit it is not asked. */
  concerns({ cost, policies }: Decision): boolean {
    return cost > 0 && policies[this.#place].limit !== Infinity;
  }

  /** Takes note of what was decided now. */
  observe(history: History, decision: Decision, now: number): void {
    const { cost, allowed } = decision;
    const own = decision.policies[this.#place];
    const { limit } = own;
    if (this.#numbers.limit !== limit) this.#numbers = this.#numbersOf(limit);
    history.judgedBy(limit);

    if (!this.#explains(history, decision, own, now)) this.#unexplained += 1;
    const countingFits = this.#count(history, cost, now);
    const arrivedFits = history.arrived.fits(limit, cost, now);
    if (cost <= limit) history.arrive(cost, now);

    // All or nothing: what another policy denies was admitted by nobody, and changes only what counts denied requests.
    const decides = allowed || decision.policies.every((other) => other === own || other.allowed);
    let exactFits = arrivedFits;
    if (!this.policy.countDenied) {
      exactFits = history.exact.fits(limit, cost, now);
      if (exactFits && decides) history.admitExactly(cost, now);
    }
    if (allowed) this.#worstBurst = Math.max(this.#worstBurst, history.admit(cost, now) / limit);
    if (!decides) return;

    this.#decisions += 1;
    if (!exactFits) this.#exactDenies += 1;
    if (own.allowed && !exactFits) this.#falseAllows += 1;
    if (!own.allowed && exactFits) this.#falseDenies += 1;
    if (countingFits && !arrivedFits) this.#sameFalseAllows += 1;
    if (!countingFits && arrivedFits) this.#sameFalseDenies += 1;
  }

  report(): PolicyAudit {
    return {
      decisions: this.#decisions,
      exactDenies: this.#exactDenies,
      independent: { falseAllows: this.#falseAllows, falseDenies: this.#falseDenies },
      sameHistory: { falseAllows: this.#sameFalseAllows, falseDenies: this.#sameFalseDenies },
      worstBurst: this.#worstBurst,
      keys: this.#keys,
      unexplained: this.#unexplained,
    };
  }

  /** Counts a request whatever comes of it; returns whether the policy would admit it. */
  #count({ counted }: History, cost: number, now: number): boolean {
    const out = this.#out;
    this.#algorithm.decide(this.#numbers.counting, counted, 0, now, cost, out);
    if (out[WRITES] === ALWAYS) counted.set(out.subarray(NEXT));
    return out[RETRY] === 0;
  }

  /** Repeats the decision on what was observed; returns whether it leaves as much as the limiter said. */
  #explains({ live }: History, { allowed, cost }: Decision, own: PolicyDecision, now: number): boolean {
    const out = this.#out;
    const { live: numbers } = this.#numbers;
    this.#algorithm.decide(numbers, live, 0, now, cost, out);
    const writes = out[WRITES];
    if (writes === IF_ADMITTED && !allowed) this.#algorithm.decide(numbers, live, 0, now, 0, out);
    else if (writes !== NOTHING) live.set(out.subarray(NEXT));
    // Of a key that is blocked from now on, nothing remains.
    return own.blockedBy !== undefined || out[REMAINING] === own.remaining;
  }

  #numbersOf(limit: number): Numbers {
    const { policy } = this;
    return {
      limit,
      live: this.#algorithm.numbers(policy, limit),
      counting: this.#algorithm.numbers({ ...policy, countDenied: true }, limit),
    };
  }
}
