/**
 * What a denied client reads: a problem document (RFC 9457) of a type that
 * draft-ietf-httpapi-ratelimit-headers registers.
 *
 * @module
 */

import { secondsOf } from './headers.js';

/** A client is over its limit; or the server cannot say so, or cannot hold it until its turn comes. */
export type DenialStatus = 429 | 503;

/** The media type of the body. */
export const PROBLEM_TYPE = 'application/problem+json';

/**
 * Returns the sentence that says why a request is denied, and when to come back.
 *
 * @param retryAfterMs - `Infinity` if the request can never fit, `NaN` if nobody knows.
 */
export function problemDetail(status: DenialStatus, retryAfterMs: number): string {
  if (Number.isNaN(retryAfterMs)) return 'This request cannot be checked against its limit at the moment.';
  if (retryAfterMs === Infinity) {
    return 'This request asks for more than its limit ever admits. Waiting does not help.';
  }
  const retryAfter = retryAfterOf(retryAfterMs);
  const what = status === 503 ? 'Too many requests are waiting.' : 'Too many requests.';
  return `${what} Try again in ${retryAfter} ${retryAfter === 1 ? 'second' : 'seconds'}.`;
}

/** The wait in whole seconds, as `Retry-After` tells it: at least 1, as 0 makes clients come back at once. */
export function retryAfterOf(retryAfterMs: number): number {
  return Math.max(1, secondsOf(retryAfterMs));
}

/**
 * Returns the body of a denial.
 *
 * @param violated - the names of the policies that deny.
 * @param retryAfterMs - `Infinity` if the request can never fit, `NaN` if nobody knows.
 */
export function problemBody(status: DenialStatus, violated: readonly string[], retryAfterMs: number): string {
  const detail = problemDetail(status, retryAfterMs);
  const wait = Number.isFinite(retryAfterMs) ? { retryAfter: retryAfterOf(retryAfterMs) } : {};
  if (status === 503) {
    return JSON.stringify({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      title: 'Temporary Reduced Capacity',
      status,
      detail,
      ...wait,
    });
  }
  return JSON.stringify({
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Quota Exceeded',
    status,
    detail,
    'violated-policies': violated,
    ...wait,
  });
}
