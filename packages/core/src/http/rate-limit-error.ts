/**
 * A denied request as an error, for those who want it in their framework's error path.
 *
 * @module
 */

import type { Decision } from '../types.js';
import type { Header } from './headers.js';

/**
 * A request was denied, and `throw: true` asked for an error. Its status and headers are those of the response that
 * the request would have got; Express, Fastify and Koa answer with them unless you do.
 *
 * Tell it from other errors by its `code`, which also works across two copies of the package.
 *
 * @example
 * import { RateLimitError } from '@sluice/core/http';
 * const statusOf = (error: unknown) => (error instanceof RateLimitError ? error.status : 500);
 */
export class RateLimitError extends Error {
  /** Also across two copies of the package. */
  override readonly name = 'RateLimitError';
  /** The same for all. */
  readonly code = 'ERR_SLUICE_DENIED';
  /** 429; or 503 where the store failed and `onStoreError` is `'deny'`, or where too many requests are held. */
  readonly status: number;
  /** The same, by the name that Fastify knows it under. */
  readonly statusCode: number;
  /** The message may be shown to the client. */
  readonly expose = true;
  /** `Retry-After`, `Cache-Control`, and those that tell of the limit. */
  readonly headers: Record<string, string>;
  /** What the limiter said. */
  readonly decision: Decision;

  constructor(message: string, status: number, headers: readonly Header[], decision: Decision) {
    super(message);
    this.status = status;
    this.statusCode = status;
    this.headers = Object.fromEntries(headers);
    this.decision = decision;
  }
}
