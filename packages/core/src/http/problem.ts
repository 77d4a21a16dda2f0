/**
 * What a denied client reads: a problem document (RFC 9457) of the type that
 * draft-ietf-httpapi-ratelimit-headers registers.
 *
 * @module
 */

import { secondsOf } from './headers.js';

/** The media type of the body. */
export const PROBLEM_TYPE = 'application/problem+json';

/**
 * Returns the body of a 429.
 *
 * @param violated - the names of the policies that deny.
 * @param retryAfterMs - `Infinity` if the request can never fit.
 */
export function problemBody(violated: readonly string[], retryAfterMs: number): string {
  const never = retryAfterMs === Infinity;
  const retryAfter = Math.max(1, secondsOf(retryAfterMs));
  return JSON.stringify({
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Quota Exceeded',
    status: 429,
    detail: never
      ? 'This request asks for more than its limit ever admits. Waiting does not help.'
      : `Too many requests. Try again in ${retryAfter} ${retryAfter === 1 ? 'second' : 'seconds'}.`,
    'violated-policies': violated,
    ...(never ? {} : { retryAfter }),
  });
}
