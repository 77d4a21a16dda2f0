/**
 * What a browser asks before it sends a request to another origin.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http';

/**
 * Whether the request is a CORS preflight ([Fetch](https://fetch.spec.whatwg.org/#cors-preflight-request)). The script
 * that waits for it has no part in it, and cannot read a 429 that answers it.
 */
export function isPreflight(request: IncomingMessage): boolean {
  // Node makes the headers when they are first asked for: not for this.
  if (request.method !== 'OPTIONS') return false;
  const { headers } = request;
  const { origin, 'content-length': length = '0', 'transfer-encoding': encoding } = headers;
  // It has no body.
  const isEmpty = length === '0' && encoding === undefined;
  return Boolean(origin) && Boolean(headers['access-control-request-method']) && isEmpty;
}
