/**
 * Everything Sluice throws. Being over the limit is no error but a {@link Decision}, unless an adapter is asked for one.
 *
 * Tell errors apart by `code`, which also works across two copies of the package.
 *
 * @module
 */

import type { Decision } from './types.js';

/** The codes of all errors of Sluice; each has a heading in `docs/reference/errors.md`. */
export type ErrorCode =
  | 'ERR_SLUICE_POLICY'
  | 'ERR_SLUICE_OPTION'
  | 'ERR_SLUICE_ARGUMENT'
  | 'ERR_SLUICE_NAME_TAKEN'
  | 'ERR_SLUICE_CLOSED'
  | 'ERR_SLUICE_DENIED'
  | 'ERR_SLUICE_WAIT'
  | 'ERR_SLUICE_NEVER'
  | 'ERR_SLUICE_RESERVE'
  | 'ERR_SLUICE_MESSAGE'
  | 'ERR_SLUICE_STORE'
  | 'ERR_SLUICE_STORE_TIMEOUT'
  | 'ERR_SLUICE_STORE_OPEN'
  | 'ERR_SLUICE_STORE_CONNECTION'
  | 'ERR_SLUICE_STORE_READONLY'
  | 'ERR_SLUICE_STORE_OOM'
  | 'ERR_SLUICE_STORE_NOPERM'
  | 'ERR_SLUICE_STORE_BUSY'
  | 'ERR_SLUICE_STORE_LOADING'
  | 'ERR_SLUICE_STORE_CLUSTERDOWN'
  | 'ERR_SLUICE_STORE_MOVED'
  | 'ERR_SLUICE_STORE_ASK'
  | 'ERR_SLUICE_STORE_NOSCRIPT'
  | 'ERR_SLUICE_STORE_REPLY';

/** The codes of a {@link StoreError}. */
export type StoreErrorCode = Extract<ErrorCode, `ERR_SLUICE_STORE${string}`>;

/** What became of a request that the store failed to answer: it changed nothing, or nobody knows. */
export type Outcome = 'not-run' | 'unknown';

/**
 * A policy, option or argument that is not what it must be. The message says what was expected and what came.
 *
 * @example
 * import { createLimiter } from '@sluice/core';
 * try {
 *   createLimiter({ policies: [{ limit: -1, window: '1m' }] });
 * } catch (error) {
 *   console.log((error as Error).message); // Expected `limit` to be an integer >= 0 or Infinity, got -1.
 * }
 */
export class ArgumentError extends TypeError {
  /** Also across two copies of the package. */
  override readonly name = 'ArgumentError';
  /** What is wrong: see `docs/reference/errors.md`. */
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * The store could not answer: late, unreachable, refused, or its reply made no sense. `cause` is what it said. Nothing
 * is known to be over the limit.
 *
 * @example
 * import type { Limiter, StoreError } from '@sluice/core';
 * async function forget(limiter: Limiter<true>, key: string) {
 *   await limiter.reset(key).catch((error: StoreError) => console.error(error.code, error.outcome));
 * }
 */
export class StoreError extends Error {
  /** Also across two copies of the package. */
  override readonly name = 'StoreError';
  /** What failed: see `docs/reference/errors.md`. */
  readonly code: StoreErrorCode;
  /** `'not-run'` if it is certain that nothing was charged; `'unknown'` if the store may have charged it. */
  readonly outcome: Outcome;

  constructor(code: StoreErrorCode, message: string, outcome: Outcome, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.outcome = outcome;
  }
}

/**
 * `Limiter.acquire` found no place. Nothing was charged.
 *
 * @example
 * import { AcquireError, createLimiter } from '@sluice/core';
 * const limiter = createLimiter({ policies: [{ limit: 10, window: '1s' }] });
 * async function call(key: string) {
 *   try {
 *     await limiter.acquire(key, { maxWait: '5s' });
 *   } catch (error) {
 *     if (error instanceof AcquireError) console.log(`again in ${error.decision.retryAfterMs} ms`);
 *   }
 * }
 */
export class AcquireError extends Error {
  /** Also across two copies of the package. */
  override readonly name = 'AcquireError';
  /** `'ERR_SLUICE_WAIT'` if it would have had to wait longer than it may; `'ERR_SLUICE_NEVER'` if waiting does not help. */
  readonly code: Extract<ErrorCode, `ERR_SLUICE_${'WAIT' | 'NEVER'}`>;
  /** What `peek` would have said. */
  readonly decision: Decision;

  constructor(code: AcquireError['code'], message: string, decision: Decision) {
    super(message);
    this.code = code;
    this.decision = decision;
  }
}

/** Whether `error` is a {@link StoreError}, of this copy of the package or of another. */
export function isStoreError(error: unknown): error is StoreError {
  const { code } = (error ?? {}) as { code?: unknown };
  return error instanceof StoreError || (typeof code === 'string' && code.startsWith('ERR_SLUICE_STORE'));
}

/** A value as a reader of an error message would write it. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (Object.is(value, -0)) return '-0';
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (value instanceof Promise) return 'a promise';
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}

/** The one sentence of every argument error: what `name` was expected to be and what came. */
export function expected(code: ErrorCode, name: string, what: string, got: unknown): ArgumentError {
  return new ArgumentError(code, `Expected \`${name}\` to be ${what}, got ${show(got)}.`);
}
