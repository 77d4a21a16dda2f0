/**
 * What a limiter tells those who listen.
 *
 * @module
 */

import { ArgumentError, expected, type StoreError } from '../errors.js';
import { tell } from '../tell.js';
import type { Decision } from '../types.js';

/** A request, and what became of it. */
export interface DecidedEvent {
  /** Who was limited. */
  readonly key: string;
  /** As the limiter made it; in shadow mode, as it would have been. */
  readonly decision: Decision;
}

/** A request near the limit, where an approximation can be wrong. */
export interface NearEvent extends DecidedEvent {
  /** What would be in use with this request, of the limit that is nearest: 1 is all of it. */
  readonly share: number;
}

/** The store failed, and decisions are made without it from now on. */
export interface DegradedEvent {
  /** Why. */
  readonly error: StoreError;
}

/** The store decides again. */
export interface RecoveredEvent {
  /** How long it did not, in ms. */
  readonly afterMs: number;
}

/** A key was given up before it was as new, because the store was full. */
export interface EvictedEvent {
  /** Whose: the key, or its digest where it is longer than 128 characters. */
  readonly key: string;
  /** Whether its last request was denied: that happens only when all keys of the store are being denied. */
  readonly denied: boolean;
}

/** A candidate would have decided otherwise. */
export interface CandidateEvent extends DecidedEvent {
  /** What the candidate says. */
  readonly candidate: Decision;
}

/** The events of a limiter, by name. */
export interface LimiterEvents {
  /** A request was denied. */
  denied: DecidedEvent;
  /** A request came near to a limit: see `LimiterOptions.near`. */
  near: NearEvent;
  /** The store failed. Once, until it has recovered. */
  degraded: DegradedEvent;
  /** The store serves again. */
  recovered: RecoveredEvent;
  /** A `MemoryStore` was full. */
  evicted: EvictedEvent;
  /** The candidate and the limiter disagree on a request. */
  candidate: CandidateEvent;
}

/** Is told of each event of a name. What it throws is a warning of the process, and fails no request. */
export type LimiterListener<Name extends keyof LimiterEvents> = (event: LimiterEvents[Name]) => unknown;

const NAMES: readonly (keyof LimiterEvents)[] = [
  'denied',
  'near',
  'degraded',
  'recovered',
  'evicted',
  'candidate',
];

/** Who listens to a limiter. */
export class Listeners {
  readonly #byName = new Map<keyof LimiterEvents, Set<(event: never) => unknown>>();

  /** @throws ArgumentError if there is no such event, or the listener is no function. */
  add<Name extends keyof LimiterEvents>(name: Name, listener: LimiterListener<Name>): void {
    if (!NAMES.includes(name)) {
      const message = `Expected an event out of ${NAMES.join(', ')}, got ${JSON.stringify(name)}.`;
      throw new ArgumentError('ERR_SLUICE_ARGUMENT', message);
    }
    if (typeof listener !== 'function') {
      throw expected('ERR_SLUICE_ARGUMENT', 'listener', 'a function', listener);
    }
    const listeners = this.#byName.get(name) ?? new Set();
    this.#byName.set(name, listeners.add(listener));
  }

  remove<Name extends keyof LimiterEvents>(name: Name, listener: LimiterListener<Name>): void {
    const listeners = this.#byName.get(name);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#byName.delete(name);
  }

  has(name: keyof LimiterEvents): boolean {
    return this.#byName.has(name);
  }

  emit<Name extends keyof LimiterEvents>(name: Name, event: LimiterEvents[Name]): void {
    for (const listener of this.#byName.get(name) ?? []) tell(listener as LimiterListener<Name>, event);
  }
}
