/**
 * What a denied client reads: a problem document (RFC 9457) of a type that
 * draft-ietf-httpapi-ratelimit-headers registers.
 *
 * @module
 */

import type { BlockedBy } from '../types.js';
import { secondsOf } from './headers.js';

/** A client is over its limit; or the server cannot say so, or cannot hold it until its turn comes. */
export type DenialStatus = 429 | 503;

/** Why a client is blocked. */
const BLOCKED: Readonly<Record<BlockedBy, string>> = {
  policy: 'This client is blocked, after too many requests over its limit.',
  hand: 'This client is blocked by the operator of this service.',
};

/** The media type of the body. */
export const PROBLEM_TYPE = 'application/problem+json';

/**
 * Returns the sentences that say why a request is denied, and when to come back.
 *
 * @param retryAfterMs - `Infinity` if the request can never fit, `NaN` if nobody knows.
 * @param blockedBy - who has blocked the client, if it is blocked.
 */
export function problemDetail(status: DenialStatus, retryAfterMs: number, blockedBy?: BlockedBy): string {
  if (Number.isNaN(retryAfterMs)) return 'This request cannot be checked against its limit at the moment.';
  if (retryAfterMs === Infinity) {
    // A block by the policy ends: what does not is that the request asks for too much.
    const tooMuch = 'This request asks for more than its limit ever admits.';
    return `${blockedBy === 'hand' ? BLOCKED.hand : tooMuch} Waiting does not help.`;
  }
  const retryAfter = retryAfterOf(retryAfterMs);
  const busy = status === 503 ? 'Too many requests are waiting.' : 'Too many requests.';
  const what = blockedBy === undefined ? busy : BLOCKED[blockedBy];
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
 * @param blockedBy - who has blocked the client, if it is blocked.
 */
export function problemBody(
  status: DenialStatus,
  violated: readonly string[],
  retryAfterMs: number,
  blockedBy?: BlockedBy,
): string {
  const detail = problemDetail(status, retryAfterMs, blockedBy);
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
  const [type, title] =
    blockedBy === undefined
      ? ['quota-exceeded', 'Quota Exceeded']
      : ['abnormal-usage-detected', 'Abnormal Usage Detected'];
  return JSON.stringify({
    type: `https://iana.org/assignments/http-problem-types#${type}`,
    title,
    status,
    detail,
    'violated-policies': violated,
    ...(blockedBy && { blockedBy }),
    ...wait,
  });
}
