/**
 * What a denied client reads: a problem document (RFC 9457) of a type that
 * draft-ietf-httpapi-ratelimit-headers registers.
 *
 * @module
 */

import { secondsOf } from './headers.js';

/** The media type of the body. */
export const PROBLEM_TYPE = 'application/problem+json';

/** The body of a 503: nobody knows whether the client is over its limit, nor when that will be known. */
export const UNAVAILABLE_BODY: string = JSON.stringify({
  type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
  title: 'Temporary Reduced Capacity',
  status: 503,
  detail: 'This request cannot be checked against its limit at the moment.',
});

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
