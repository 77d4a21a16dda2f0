/**
 * The limiter as users have it: what decides inside, and all who look on.
 *
 * @module
 */

import type { Audit } from '../audit/audit.js';
import type { AuditReport } from '../audit/report.js';
import { checkObject, refuseUnknown } from '../check.js';
import type { Decider, StoreChange } from '../decider.js';
import { type Settler, withoutEffect } from '../decision.js';
import type { Limiter, RequestOptions, UpdateOptions } from '../limiter.js';
import { checkUpdate, parsePolicies } from '../policy.js';
import type { Decision, Duration, Eventually, ParsedPolicy } from '../types.js';
import type { Candidate, CandidateReport } from './candidate.js';
import type { LimiterEvents, LimiterListener, Listeners } from './events.js';
import { type NearRange, shareOf } from './near.js';
import type { Observer } from './observer.js';

/** What was counted since a limiter was made. */
export interface LimiterReport {
  /** The requests that it decided. */
  readonly decisions: number;
  /** Those that it denied; in shadow mode, those that it would have denied. */
  readonly denied: number;
  /** How its candidate compares, if it has one. */
  readonly candidate?: CandidateReport;
  /** What its audit has found, if it has one. */
  readonly audit?: AuditReport;
}

/** How a limiter is watched from the start. */
export interface Watch<A extends boolean> {
  /** Whether what is denied goes on all the same. */
  readonly shadow: boolean;
  readonly near: NearRange;
  readonly listeners: Listeners;
  readonly candidate: Candidate<A> | undefined;
  readonly audit: Audit | undefined;
}

export class WatchedLimiter<A extends boolean> implements Limiter<A>, Settler {
  readonly name: string;
  policies: readonly ParsedPolicy[];
  readonly #decider: Decider<A>;
  readonly #watch: Watch<A>;
  readonly #observers: readonly Observer[];
  /** Whether requests are counted: where something is tried. */
  readonly #counts: { decisions: number; denied: number } | undefined;
  /** Whether anyone looks on: most limiters decide unwatched. */
  #watched = false;

  constructor(decider: Decider<A>, watch: Watch<A>) {
    this.name = decider.name;
    this.policies = decider.policies;
    this.#decider = decider;
    this.#watch = watch;
    this.#observers = [watch.candidate, watch.audit].filter((observer) => observer !== undefined);
    if (watch.shadow || this.#observers.length > 0) this.#counts = { decisions: 0, denied: 0 };
    this.#listen();
  }

  consume(key: string, options?: RequestOptions): Eventually<A, Decision> {
    const made = this.#decider.consume(key, options);
    if (!this.#watched) return made;
    if (made instanceof Promise)
      return made.then((later) => this.#see(key, later)) as Eventually<A, Decision>;
    return this.#see(key, made as Decision) as Eventually<A, Decision>;
  }

  peek(key: string, options?: RequestOptions): Eventually<A, Decision> {
    const made = this.#decider.peek(key, options);
    if (!this.#watch.shadow) return made;
    if (made instanceof Promise) return made.then(withoutEffect) as Eventually<A, Decision>;
    return withoutEffect(made as Decision) as Eventually<A, Decision>;
  }

  refund(decision: Decision, units?: number): Eventually<A, void> {
    const done = this.#decider.refund(decision, units);
    for (const observer of this.#observers) observer.refund?.(decision, units);
    return done;
  }

  settle(decision: Decision, units: number): Eventually<A, void> {
    const done = this.#decider.settle(decision, units);
    for (const observer of this.#observers) observer.settle?.(decision, units);
    return done;
  }

  reset(key: string): Eventually<A, void> {
    const done = this.#decider.reset(key);
    for (const observer of this.#observers) observer.reset?.(key);
    return done;
  }

  block(key: string, duration: Duration): Eventually<A, void> {
    const done = this.#decider.block(key, duration);
    for (const observer of this.#observers) observer.block?.(key, duration);
    return done;
  }

  unblock(key: string): Eventually<A, void> {
    const done = this.#decider.unblock(key);
    for (const observer of this.#observers) observer.unblock?.(key);
    return done;
  }

  close(): void {
    this.#decider.close();
    for (const observer of this.#observers) observer.close?.();
  }

  update(options: UpdateOptions): void {
    checkObject(options, 'options', 'an object with policies', 'ERR_SLUICE_ARGUMENT');
    refuseUnknown(options, ['policies'], 'update', 'ERR_SLUICE_ARGUMENT');
    this.adopt(parsePolicies(options.policies));
  }

  /** Lets these policies decide, if that loses nothing of what was used. */
  adopt(policies: readonly ParsedPolicy[]): void {
    checkUpdate(this.policies, policies);
    this.#decider.update(policies);
    this.policies = policies;
  }

  on<Name extends keyof LimiterEvents>(name: Name, listener: LimiterListener<Name>): this {
    this.#watch.listeners.add(name, listener);
    this.#listen();
    return this;
  }

  off<Name extends keyof LimiterEvents>(name: Name, listener: LimiterListener<Name>): this {
    this.#watch.listeners.remove(name, listener);
    this.#listen();
    return this;
  }

  report(): LimiterReport | undefined {
    if (this.#counts === undefined) return undefined;
    const { candidate, audit } = this.#watch;
    return {
      ...this.#counts,
      ...(candidate && { candidate: candidate.report() }),
      ...(audit && { audit: audit.report() }),
    };
  }

  /** Has those parts tell that somebody listens to, and no others. */
  #listen(): void {
    const { listeners } = this.#watch;
    this.#watched = this.#counts !== undefined || listeners.has('denied') || listeners.has('near');
    this.#decider.onEvicted(
      // Later, as the store is in the midst of a decision, perhaps of another limiter.
      listeners.has('evicted')
        ? (key, denied) => queueMicrotask(() => listeners.emit('evicted', { key, denied }))
        : undefined,
    );
    const heard = listeners.has('degraded') || listeners.has('recovered');
    this.#decider.onStoreChange(heard ? this.#storeChanged : undefined);
  }

  #see(key: string, decision: Decision): Decision {
    const { listeners, near, shadow } = this.#watch;
    if (this.#counts !== undefined) {
      this.#counts.decisions += 1;
      if (!decision.allowed) this.#counts.denied += 1;
    }
    const told = shadow ? withoutEffect(decision) : decision;
    for (const observer of this.#observers) observer.observe(key, decision, told);
    if (!decision.allowed) listeners.emit('denied', { key, decision });
    if (listeners.has('near') && !decision.degraded && decision.block === undefined) {
      const share = shareOf(decision);
      if (share >= near.from && share <= near.to) listeners.emit('near', { key, decision, share });
    }
    return told;
  }

  readonly #storeChanged: StoreChange = (error, afterMs) => {
    const { listeners } = this.#watch;
    if (error === undefined) listeners.emit('recovered', { afterMs });
    else listeners.emit('degraded', { error });
  };
}
