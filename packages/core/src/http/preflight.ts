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
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && Boolean(headers.origin) && Boolean(headers['access-control-request-method']);
}
