/**
 * Keys from request headers.
 *
 * @module
 */

import type { IncomingHttpHeaders } from 'node:http';
import { expected } from '../errors.js';
import { digest } from '../key.js';

/** Anything that has request headers as Node parses them: the requests of Express and Fastify, the context of Koa. */
export interface WithHeaders {
  /** By names in lower case. */
  readonly headers: IncomingHttpHeaders;
}

/**
 * Returns a key function that takes the value of a request header, hashed, so that the store holds no secrets.
 *
 * A request without the header is limited by its address. Only take a header that was checked before: one that
 * anybody can write lets anybody choose a fresh quota, or spend somebody else's.
 *
 * @throws ArgumentError if `name` is not a header name.
 *
 * @example
 * import { byHeader } from '@sluice/core/http';
 * const key = byHeader('x-api-key');
 * key({ headers: { 'x-api-key': 'secret' } }); // 'x-api-key:' and 22 characters
 */
export function byHeader(name: string): (request: WithHeaders) => string | undefined {
  const field = fieldName(name, 'name');
  return ({ headers }) => {
    const value = fieldValue(headers, field);
    return value && `${field}:${digest(value).slice(1)}`;
  };
}

/**
 * Returns the name of a header as Node has it, in lower case.
 *
 * @throws ArgumentError if `name` is not a header name (RFC 9110, 5.1).
 */
export function fieldName(name: unknown, option: string): string {
  if (typeof name !== 'string' || !/^[\w!#$%&'*+.^`|~-]+$/.test(name)) {
    throw expected('ERR_SLUICE_OPTION', option, 'the name of a header', name);
  }
  return name.toLowerCase();
}

/**
 * Returns what a header says, its lines joined in their order (RFC 9110, 5.3), or `undefined` where it is not sent. Sent
 * empty is not sent: else all who do so would share a quota.
 */
export function fieldValue(headers: IncomingHttpHeaders, field: string): string | undefined {
  const value = Object.hasOwn(headers, field) ? headers[field] : undefined;
  const joined = Array.isArray(value) ? value.join(', ') : value;
  return joined !== undefined && /[^\s,]/.test(joined) ? joined : undefined;
}
