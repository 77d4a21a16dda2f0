/**
 * The limiter of keys of several kinds: inside, one id stands for all of them.
 *
 * @module
 */

import { checkObject, refuseUnknown } from './check.js';
import { ArgumentError } from './errors.js';
import { type KeyKinds, parseLimits } from './kinds.js';
import type { JointUpdateOptions, Keys, Limiter, RequestOptions } from './limiter.js';
import type { Decision, Duration, Eventually, ParsedPolicy } from './types.js';
import type { LimiterEvents, LimiterListener } from './watch/events.js';
import type { LimiterReport, WatchedLimiter } from './watch/watched-limiter.js';

export class JointLimiter<A extends boolean> implements Limiter<A, Keys> {
  readonly name: string;
  readonly kinds: KeyKinds;
  readonly #limiter: WatchedLimiter<A>;
  readonly #async: boolean;

  /** @param limiter - decides by ids of the kinds. */
  constructor(limiter: WatchedLimiter<A>, kinds: KeyKinds, async: boolean) {
    this.name = limiter.name;
    this.kinds = kinds;
    this.#limiter = limiter;
    this.#async = async;
  }

  get policies(): readonly ParsedPolicy[] {
    return this.#limiter.policies;
  }

  consume(keys: Keys, options?: RequestOptions): Eventually<A, Decision> {
    return this.#by(keys, (id) => this.consumeById(id, options));
  }

  peek(keys: Keys, options?: RequestOptions): Eventually<A, Decision> {
    return this.#by(keys, (id) => this.#limiter.peek(id, this.kinds.requestOf(id, options)));
  }

  reset(keys: Keys): Eventually<A, void> {
    return this.#by(keys, (id) => this.#limiter.reset(id));
  }

  block(keys: Keys, duration: Duration): Eventually<A, void> {
    return this.#by(keys, (id) => this.#limiter.block(id, duration));
  }

  unblock(keys: Keys): Eventually<A, void> {
    return this.#by(keys, (id) => this.#limiter.unblock(id));
  }

  /** Consumes for the keys that the id stands for. */
  consumeById(id: string, options?: RequestOptions): Eventually<A, Decision> {
    return this.#limiter.consume(id, this.kinds.requestOf(id, options));
  }

  refund(decision: Decision, units?: number): Eventually<A, void> {
    return this.#limiter.refund(decision, units);
  }

  settle(decision: Decision, units: number): Eventually<A, void> {
    return this.#limiter.settle(decision, units);
  }

  update(options: JointUpdateOptions): void {
    checkObject(options, 'options', 'an object with limits', 'ERR_SLUICE_ARGUMENT');
    refuseUnknown(options, ['limits'], 'update', 'ERR_SLUICE_ARGUMENT');
    const { policies, kinds } = parseLimits(options.limits);
    checkKinds(this.kinds, kinds, 'an update');
    this.#limiter.adopt(policies);
  }

  close(): void {
    this.#limiter.close();
  }

  on<Name extends keyof LimiterEvents>(name: Name, listener: LimiterListener<Name, Keys>): this {
    // Those who listen are told keys, though the limiter inside decides by ids.
    this.#limiter.on(name, listener as unknown as LimiterListener<Name>);
    return this;
  }

  off<Name extends keyof LimiterEvents>(name: Name, listener: LimiterListener<Name, Keys>): this {
    this.#limiter.off(name, listener as unknown as LimiterListener<Name>);
    return this;
  }

  report(): LimiterReport | undefined {
    return this.#limiter.report();
  }

  #by<T>(keys: Keys, work: (id: string) => Eventually<A, T>): Eventually<A, T> {
    if (!this.#async) return work(this.kinds.idOf(keys));
    try {
      return work(this.kinds.idOf(keys));
    } catch (error) {
      return Promise.reject(error) as Eventually<A, T>;
    }
  }
}

/**
 * Throws an ArgumentError unless `others` are the same kinds in the same order.
 *
 * @param whose - who has the others.
 */
export function checkKinds(kinds: KeyKinds, others: KeyKinds, whose: string): void {
  const [own, got] = [kinds, others].map(({ names }) => names.join(', '));
  if (own === got) return;
  throw new ArgumentError(
    'ERR_SLUICE_POLICY',
    `Expected ${whose} to have the kinds of keys that the limiter has, in their order, which are ${own}, got ${got}.`,
  );
}
