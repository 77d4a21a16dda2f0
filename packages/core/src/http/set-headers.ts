/**
 * Setting headers on a response.
 *
 * @module
 */

import { type Exposing, exposeHeaders, type MaybeCrossOrigin } from './expose.js';
import type { Header } from './headers.js';

/**
 * Sets `headers` on a response, and exposes them to scripts of another origin. Returns `false`, and has done nothing, if
 * something else has sent its head by now.
 *
 * @example
 * import { createServer } from 'node:http';
 * import { setHeaders } from '@sluice/core/http';
 * createServer((request, response) => {
 *   if (setHeaders(request, response, [['X-RateLimit-Limit', '100']])) response.end();
 * });
 */
export function setHeaders(
  request: MaybeCrossOrigin,
  response: Exposing,
  headers: readonly Header[],
): boolean {
  if (headers.length === 0) return !response.headersSent;
  try {
    // Looked for once, as each look at a response costs in Express.
    const { setHeader } = response;
    for (const [name, value] of headers) setHeader.call(response, name, value);
  } catch (error) {
    // Not asked before, for the same reason.
    if (response.headersSent) return false;
    throw error;
  }
  exposeHeaders(request, response, headers);
  return true;
}
