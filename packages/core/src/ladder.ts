/**
 * What a limiter does while its store fails.
 *
 * @module
 */

import { isRecord, oneOf, parseUnits } from './check.js';
import type { Decider, StoreChange } from './decider.js';
import { type Maker, readAnswer, receiptOf, type Settler } from './decision.js';
import { expected, isStoreError, type StoreError } from './errors.js';
import type { RequestOptions } from './limiter.js';
import { planOf } from './policy.js';
import type { Decision, Duration, ParsedPolicy, Plan } from './types.js';

/** What to do while the store fails: see `LimiterOptions.onStoreError`. */
export type OnStoreError = 'local' | 'allow' | 'deny' | 'throw';

const CHOICES: readonly OnStoreError[] = ['local', 'allow', 'deny', 'throw'];

/** Returns the choice, `'local'` where none was made. */
export function parseOnStoreError(value: unknown): OnStoreError {
  return oneOf(CHOICES, value === undefined ? 'local' : value, 'onStoreError', 'ERR_SLUICE_OPTION');
}

/** Returns the share, 1 where none was given. */
export function parseLocalShare(value: unknown): number {
  if (value === undefined) return 1;
  if (typeof value !== 'number' || !(value > 0 && value <= 1)) {
    throw expected('ERR_SLUICE_OPTION', 'localShare', 'a number above 0 and at most 1', value);
  }
  return value;
}

/** Who decides in the store's place. */
export interface Fallback {
  /** The store has decided. */
  answered(): void;
  /** Decides a request, checked already, that the store failed to. */
  decide(failure: StoreError, key: string, request: RequestOptions, charge: boolean): Decision;
  /** Whether it made the decision. */
  made(decision: Decision): boolean;
  /** Gives back what a decision of its own charged. */
  refund(decision: Decision, units: number | undefined): Promise<void>;
  /** Corrects what a decision of its own charged. */
  settle(decision: Decision, units: number): Promise<void>;
  /** Forgets the key. */
  reset(key: string): void;
  /** Blocks the key, which is checked here. */
  block(key: string, duration: Duration): void;
  /** Ends its blocks. */
  unblock(key: string): void;
  /** Lets these policies decide from now on. */
  update(policies: readonly ParsedPolicy[]): void;
  close(): void;
}

/** A limiter on a store that may fail, and one who decides then. */
export class Ladder implements Decider<true>, Settler {
  readonly name: string;
  readonly #limiter: Decider<true>;
  readonly #fallback: Fallback;
  #storeChanged: StoreChange | undefined;
  /** When the store began to fail, if it does. */
  #failingSince: number | undefined;

  constructor(limiter: Decider<true>, fallback: Fallback) {
    this.name = limiter.name;
    this.#limiter = limiter;
    this.#fallback = fallback;
  }

  get policies(): readonly ParsedPolicy[] {
    return this.#limiter.policies;
  }

  consume(key: string, options?: RequestOptions): Promise<Decision> {
    return this.#decide(key, options, true);
  }

  peek(key: string, options?: RequestOptions): Promise<Decision> {
    return this.#decide(key, options, false);
  }

  async refund(decision: Decision, units?: number): Promise<void> {
    await (this.#fallback.made(decision) ? this.#fallback : this.#limiter).refund(decision, units);
  }

  async settle(decision: Decision, units: number): Promise<void> {
    await (this.#fallback.made(decision) ? this.#fallback : this.#limiter).settle(decision, units);
  }

  async reset(key: string): Promise<void> {
    if (typeof key === 'string') this.#fallback.reset(key);
    await this.#limiter.reset(key);
  }

  async block(key: string, duration: Duration): Promise<void> {
    this.#fallback.block(key, duration);
    await this.#limiter.block(key, duration);
  }

  async unblock(key: string): Promise<void> {
    this.#fallback.unblock(key);
    await this.#limiter.unblock(key);
  }

  close(): void {
    this.#limiter.close();
    this.#fallback.close();
  }

  update(policies: readonly ParsedPolicy[]): void {
    this.#limiter.update(policies);
    this.#fallback.update(policies);
  }

  onEvicted(listener: Parameters<Decider['onEvicted']>[0]): void {
    this.#limiter.onEvicted(listener);
  }

  onStoreChange(listener: StoreChange | undefined): void {
    this.#storeChanged = listener;
  }

  #answered(): void {
    this.#fallback.answered();
    if (this.#failingSince === undefined) return;
    const afterMs = Math.round(performance.now() - this.#failingSince);
    this.#failingSince = undefined;
    this.#storeChanged?.(undefined, afterMs);
  }

  #failed(failure: StoreError): void {
    if (this.#failingSince !== undefined) return;
    this.#failingSince = performance.now();
    this.#storeChanged?.(failure, 0);
  }

  async #decide(key: string, options: RequestOptions | undefined, charge: boolean): Promise<Decision> {
    // As it is now: until the store has failed, the caller may have used the object again.
    const request = isRecord(options) ? copyOf(options) : options;
    try {
      const decision = await (charge
        ? this.#limiter.consume(key, request)
        : this.#limiter.peek(key, request));
      // Where no policy has a limit, the store was not asked.
      if (decision.limit !== Infinity) this.#answered();
      return decision;
    } catch (failure) {
      if (!isStoreError(failure)) throw failure;
      this.#failed(failure);
      return this.#fallback.decide(failure, key, request ?? {}, charge);
    }
  }
}

function copyOf({ limit, ...others }: RequestOptions): RequestOptions {
  if (limit === undefined) return others;
  return { ...others, limit: isRecord(limit) && !Object.isFrozen(limit) ? { ...limit } : limit };
}

/** Admits or refuses everything, and knows nothing. */
export class Blind implements Fallback, Maker {
  readonly degraded = true;
  readonly owner: this = this;
  #policies: readonly ParsedPolicy[];
  readonly #allow: boolean;

  constructor(policies: readonly ParsedPolicy[], allow: boolean) {
    this.#policies = policies;
    this.#allow = allow;
  }

  decide(_failure: StoreError, key: string, { cost = 1, limit }: RequestOptions): Decision {
    const plan = planFor(this.#policies, limit);
    const answer = plan.terms.flatMap(() => [NaN, this.#allow ? 0 : NaN, NaN, NaN, 0]);
    return readAnswer(this.#policies, cost, answer, this, key, plan, false);
  }

  made(decision: Decision): boolean {
    return receiptOf(decision)?.limiter === this;
  }

  /** Nothing was charged, so there is nothing to give back. */
  async refund(_decision: Decision, units: number | undefined): Promise<void> {
    if (units !== undefined) parseUnits(units, 'units');
  }

  async settle(_decision: Decision, units: number): Promise<void> {
    parseUnits(units, 'units');
  }

  answered(): void {}

  reset(): void {}

  block(): void {}

  unblock(): void {}

  update(policies: readonly ParsedPolicy[]): void {
    this.#policies = policies;
  }

  close(): void {}
}

/** Returns the plan of a request that brings `limit`, which was checked already. */
export function planFor(policies: readonly ParsedPolicy[], limit: RequestOptions['limit']): Plan {
  return planOf(
    policies,
    policies.map((policy) => {
      if (typeof limit !== 'object') return limit ?? policy.limit;
      return Object.hasOwn(limit, policy.name) ? limit[policy.name] : policy.limit;
    }),
  );
}
