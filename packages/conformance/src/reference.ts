/**
 * An oracle: what a limiter must answer, worked out from the definitions of the algorithms in whole numbers without a
 * bound. It shares no line with the product.
 *
 * @module
 */

import type { Policy } from '@sluice/core';
import { Gcra, LeakyBucket, TokenBucket } from './reference/buckets.js';
import { type Entry, leastWait, MOST, type Model, max, min, remaining } from './reference/model.js';
import { Counter, FixedWindow, Log } from './reference/windows.js';

/** What the oracle says; of a decision, all that is a matter of definition. */
export interface Expected {
  readonly allowed: boolean;
  /** The place of the policy that binds. */
  readonly binding: number;
  readonly delayMs: number;
  readonly policies: readonly ExpectedOfPolicy[];
}

/** What one policy says. */
interface ExpectedOfPolicy {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly resetMs: number;
}

/** A policy whose window is in milliseconds. */
export type PlainPolicy = Policy & { readonly window: number };

/** What a request was charged, for a refund. */
interface Receipt {
  readonly charges: readonly (Entry | undefined)[];
  left: bigint;
}

const UNLIMITED: ExpectedOfPolicy = {
  allowed: true,
  limit: Infinity,
  remaining: Infinity,
  retryAfterMs: 0,
  resetMs: 0,
};

/** One key under some policies. */
export class ReferenceKey {
  /** The instant at which everything happens until it is changed. */
  now = 0;
  readonly #policies: readonly PlainPolicy[];
  #models: readonly Model[];
  readonly #receipts = new Map<Expected, Receipt>();

  constructor(policies: readonly PlainPolicy[]) {
    this.#policies = policies;
    this.#models = policies.map(modelOf);
  }

  /** `limits`: those of this request, one per policy. */
  consume(cost: number, limits: readonly number[]): Expected {
    return this.#judge(BigInt(cost), limits, true);
  }

  peek(cost: number, limits: readonly number[]): Expected {
    return this.#judge(BigInt(cost), limits, false);
  }

  refund(decision: Expected, units?: number): void {
    const receipt = this.#receipts.get(decision);
    if (receipt === undefined) return;
    const back = units === undefined ? receipt.left : min(BigInt(units), receipt.left);
    receipt.left -= back;
    if (back === 0n) return;
    receipt.charges.forEach((charge, i) => {
      if (charge !== undefined) this.#models[i].refund(BigInt(this.now), charge, back);
    });
  }

  reset(): void {
    this.#models = this.#policies.map(modelOf);
  }

  #judge(cost: bigint, limits: readonly number[], charge: boolean): Expected {
    const finite = limits.map((limit) => limit !== Infinity);
    const fits = this.#models.map((_, i) => !finite[i] || this.#fits(i, cost, limits[i]));
    const allowed = fits.every(Boolean);
    const delays = this.#models.map((model, i) =>
      finite[i] ? model.delay(BigInt(this.now), cost, BigInt(limits[i])) : 0n,
    );
    const charges: (Entry | undefined)[] = [];
    const policies = this.#models.map((model, i): ExpectedOfPolicy => {
      if (!finite[i]) return UNLIMITED;
      const limit = BigInt(limits[i]);
      const capacity = model.capacity(limit);
      const counted = this.#countsDenied(i) && cost <= capacity;
      // What counts although another policy denies has to wait for what it counted.
      const waits = !fits[i] || (counted && !allowed);
      const retry = cost > capacity ? Infinity : waits ? this.#wait(i, cost, limit, counted) : 0;
      if (charge && cost > 0n && (allowed || counted)) {
        charges[i] = model.charge(this.#view(i, limit).at, cost, limit);
      }
      const view = this.#view(i, limit);
      return {
        allowed: fits[i],
        limit: Number(capacity),
        remaining: Number(remaining(view, capacity)),
        retryAfterMs: retry,
        resetMs: Number(min(leastWait(view.isNew), MOST)),
      };
    });
    const delay = allowed ? delays.reduce((a, b) => max(a, b)) : 0n;
    const expected = { allowed, binding: bindingOf(policies, allowed), delayMs: Number(delay), policies };
    if (charge && allowed) this.#receipts.set(expected, { charges, left: cost });
    return expected;
  }

  #fits(i: number, cost: bigint, limit: number): boolean {
    return cost === 0n || this.#view(i, BigInt(limit)).fits(0n, cost);
  }

  /** The wait of a denied request, which may itself count. */
  #wait(i: number, cost: bigint, limit: bigint, counted: boolean): number {
    if (counted) this.#models[i].charge(this.#view(i, limit).at, cost, limit);
    const view = this.#view(i, limit);
    const wait = leastWait((ms) => view.fits(ms, cost));
    if (counted) this.#models[i].undo();
    return Number(min(wait, MOST));
  }

  #view(i: number, limit: bigint): ReturnType<Model['view']> {
    return this.#models[i].view(BigInt(this.now), limit);
  }

  #countsDenied(i: number): boolean {
    const policy = this.#policies[i];
    return 'countDenied' in policy && policy.countDenied === true;
  }
}

/** Denied: the longest wait; allowed: the fewest remaining; the first if equal. */
function bindingOf(policies: readonly ExpectedOfPolicy[], allowed: boolean): number {
  const best = allowed
    ? Math.min(...policies.map((policy) => policy.remaining))
    : Math.max(...policies.map((policy) => policy.retryAfterMs));
  return policies.findIndex((policy) => (allowed ? policy.remaining : policy.retryAfterMs) === best);
}

function modelOf(policy: PlainPolicy): Model {
  const window = BigInt(policy.window);
  if (policy.algorithm === 'fixed-window') return new FixedWindow(window);
  if (policy.algorithm === 'sliding-window-log') return new Log(window);
  if (policy.algorithm === 'token-bucket') return new TokenBucket(window, policy.burst);
  if (policy.algorithm === 'gcra') return new Gcra(window, policy.burst);
  if (policy.algorithm === 'leaky-bucket') return new LeakyBucket(window, policy.capacity);
  return new Counter(window, policy);
}
