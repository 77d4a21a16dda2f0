/**
 * What decides inside a limiter.
 *
 * @module
 */

import type { StoreError } from './errors.js';
import type { RequestOptions } from './limiter.js';
import type { Decision, Duration, Eventually, ParsedPolicy } from './types.js';

/** A limiter without what is built on top of its decisions. */
export interface Decider<A extends boolean = boolean> {
  readonly name: string;
  /** What decides now. */
  readonly policies: readonly ParsedPolicy[];
  consume(key: string, options?: RequestOptions): Eventually<A, Decision>;
  peek(key: string, options?: RequestOptions): Eventually<A, Decision>;
  refund(decision: Decision, units?: number): Eventually<A, void>;
  settle(decision: Decision, units: number): Eventually<A, void>;
  reset(key: string): Eventually<A, void>;
  block(key: string, duration: Duration): Eventually<A, void>;
  unblock(key: string): Eventually<A, void>;
  close(): void;
  /** Lets these policies decide from now on: of the same names and algorithms, in the same order. */
  update(policies: readonly ParsedPolicy[]): void;
  /** Who is told that a key was given up before it was as new. */
  onEvicted(listener: ((key: string, denied: boolean) => void) | undefined): void;
  /** Who is told that the store fails to decide, and that it decides again. */
  onStoreChange(listener: StoreChange | undefined): void;
}

/** Called with why the store fails, or with `undefined` and for how many ms it did. */
export type StoreChange = (failure: StoreError | undefined, afterMs: number) => void;
