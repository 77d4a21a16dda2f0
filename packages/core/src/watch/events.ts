/**
 * What a limiter tells those who listen.
 *
 * @module
 */

import { ArgumentError, expected, type StoreError } from '../errors.js';
import { tell } from '../tell.js';
import type { Decision } from '../types.js';

/** A request, and what became of it. */
export interface DecidedEvent<Key = string> {
  /** Who was limited. */
  readonly key: Key;
  /** As the limiter made it; in shadow mode, as it would have been. */
  readonly decision: Decision;
}

/** A request near the limit, where an approximation can be wrong. */
export interface NearEvent<Key = string> extends DecidedEvent<Key> {
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
export interface EvictedEvent<Key = string> {
  /** Whose: the key, or its digest where it is longer than 128 characters; of several kinds, that key by its kind. */
  readonly key: Key;
  /** Whether its last request was denied: that happens only when all keys of the store are being denied. */
  readonly denied: boolean;
}

/** A candidate would have decided otherwise. */
export interface CandidateEvent<Key = string> extends DecidedEvent<Key> {
  /** What the candidate says. */
  readonly candidate: Decision;
}

/** The events of a limiter, by name. */
export interface LimiterEvents<Key = string> {
  /** A request was denied. */
  denied: DecidedEvent<Key>;
  /** A request came near to a limit: see `LimiterOptions.near`. */
  near: NearEvent<Key>;
  /** The store failed. Once, until it has recovered. */
  degraded: DegradedEvent;
  /** The store serves again. */
  recovered: RecoveredEvent;
  /** A `MemoryStore` was full. */
  evicted: EvictedEvent<Key>;
  /** The candidate and the limiter disagree on a request. */
  candidate: CandidateEvent<Key>;
}

/** Is told of each event of a name. What it throws is a warning of the process, and fails no request. */
export type LimiterListener<Name extends keyof LimiterEvents, Key = string> = (
  event: LimiterEvents<Key>[Name],
) => unknown;

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
  readonly #keysOf: ((id: string) => unknown) | undefined;

  /** @param keysOf - what is told in place of the key that a limiter decides by, if not that key itself. */
  constructor(keysOf?: (id: string) => unknown) {
    this.#keysOf = keysOf;
  }

  /** @throws ArgumentError if there is no such event, or the listener is no function. */
  add<Name extends keyof LimiterEvents>(name: Name, listener: LimiterListener<Name>): void {
    checkName(name);
    if (typeof listener !== 'function') {
      throw expected('ERR_SLUICE_ARGUMENT', 'listener', 'a function', listener);
    }
    const listeners = this.#byName.get(name) ?? new Set();
    this.#byName.set(name, listeners.add(listener));
  }

  remove<Name extends keyof LimiterEvents>(name: Name, listener: LimiterListener<Name>): void {
    checkName(name);
    const listeners = this.#byName.get(name);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#byName.delete(name);
  }

  has(name: keyof LimiterEvents): boolean {
    return this.#byName.has(name);
  }

  emit<Name extends keyof LimiterEvents>(name: Name, event: LimiterEvents[Name]): void {
    const listeners = this.#byName.get(name);
    if (listeners === undefined) return;
    const told =
      this.#keysOf !== undefined && 'key' in event ? { ...event, key: this.#keysOf(event.key) } : event;
    for (const listener of listeners) tell(listener as LimiterListener<Name>, told as LimiterEvents[Name]);
  }
}

function checkName(name: keyof LimiterEvents): void {
  if (NAMES.includes(name)) return;
  const message = `Expected an event out of ${NAMES.join(', ')}, got ${JSON.stringify(name)}.`;
  throw new ArgumentError('ERR_SLUICE_ARGUMENT', message);
}
