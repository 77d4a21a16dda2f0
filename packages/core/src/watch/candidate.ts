/**
 * Policies that are tried beside those that decide.
 *
 * @module
 */

import { checkObject, refuseUnknown } from '../check.js';
import type { Decider } from '../decider.js';
import type { RequestOptions } from '../limiter.js';
import { parsePolicies } from '../policy.js';
import type { Decision, Duration, Eventually, ParsedPolicy, Policy } from '../types.js';
import type { Observer } from './observer.js';

/** Policies that decide in the shadow of a limiter's own. */
export interface CandidateOptions {
  /** As a limiter's. They have state of their own, under the limiter's name and `~candidate`. */
  readonly policies: readonly Policy[];
}

/** How a candidate's decisions compare with the limiter's. */
export interface CandidateReport {
  /** The requests that both decided. */
  readonly decisions: number;
  /** Those that the candidate denied. */
  readonly denied: number;
  /** Those that only the candidate denied: what would be refused in addition. */
  readonly onlyCandidateDenied: number;
  /** Those that only the limiter denied: what would be let through in addition. */
  readonly onlyLimiterDenied: number;
  /** The requests that one of them could not decide, as the store failed. */
  readonly failed: number;
}

/** @throws ArgumentError if it is no candidate. */
export function parseCandidate(candidate: unknown): readonly ParsedPolicy[] | undefined {
  if (candidate === undefined) return undefined;
  checkObject(candidate, 'candidate', 'an object with policies', 'ERR_SLUICE_OPTION');
  refuseUnknown(candidate, ['policies'], 'candidate', 'ERR_SLUICE_OPTION');
  return parsePolicies((candidate as CandidateOptions).policies);
}

type RequestOf = (key: string, options: RequestOptions) => RequestOptions | undefined;

/** Decides every request once more, and compares. */
export class Candidate<A extends boolean> implements Observer {
  readonly #decider: Decider<A>;
  readonly #requestOf: RequestOf;
  readonly #differs: (key: string, decision: Decision, candidate: Decision) => void;
  /** What it decided of a request that the limiter decided, for refunds and settlements. */
  readonly #decisions = new WeakMap<Decision, Eventually<A, Decision>>();
  readonly #counts = { decisions: 0, denied: 0, onlyCandidateDenied: 0, onlyLimiterDenied: 0, failed: 0 };

  /**
   * @param differs - called of each request that only one of both denied.
   * @param requestOf - what is asked of a key, where that is not the same for all.
   */
  constructor(
    decider: Decider<A>,
    differs: (key: string, decision: Decision, candidate: Decision) => void,
    requestOf: RequestOf = (_, options) => options,
  ) {
    this.#decider = decider;
    this.#differs = differs;
    this.#requestOf = requestOf;
  }

  observe(key: string, decision: Decision, told: Decision): void {
    // Not by the limits that the request brought along: those are of other policies.
    const own = this.#decider.consume(key, this.#requestOf(key, { cost: decision.cost }));
    this.#decisions.set(told, own);
    if (own instanceof Promise) own.then((later) => this.#compare(key, decision, later), this.#fail);
    else this.#compare(key, decision, own as Decision);
  }

  refund(decision: Decision, units: number | undefined): void {
    this.#later(decision, (own) => this.#decider.refund(own, units));
  }

  settle(decision: Decision, units: number): void {
    this.#later(decision, (own) => this.#decider.settle(own, units));
  }

  reset(key: string): void {
    quietly(this.#decider.reset(key));
  }

  block(key: string, duration: Duration): void {
    quietly(this.#decider.block(key, duration));
  }

  unblock(key: string): void {
    quietly(this.#decider.unblock(key));
  }

  close(): void {
    this.#decider.close();
  }

  report(): CandidateReport {
    return { ...this.#counts };
  }

  #compare(key: string, decision: Decision, own: Decision): void {
    // What was decided without the store says nothing of the policies.
    if (decision.degraded) {
      this.#fail();
      return;
    }
    this.#counts.decisions += 1;
    if (!own.allowed) this.#counts.denied += 1;
    if (own.allowed === decision.allowed) return;
    if (own.allowed) this.#counts.onlyLimiterDenied += 1;
    else this.#counts.onlyCandidateDenied += 1;
    this.#differs(key, decision, own);
  }

  readonly #fail = (): void => {
    this.#counts.failed += 1;
  };

  #later(decision: Decision, work: (own: Decision) => void | Promise<void>): void {
    const own = this.#decisions.get(decision);
    if (own instanceof Promise) quietly(own.then(work));
    else if (own !== undefined) quietly(work(own as Decision));
  }
}

/** Nobody waits for what happens in the shadow, and its failures are counted where it decides. */
function quietly(work: void | Promise<void>): void {
  if (work instanceof Promise) work.catch(() => {});
}
