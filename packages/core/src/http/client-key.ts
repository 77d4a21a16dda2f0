/**
 * Who is asking: from an address or a header to a key.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { expected } from '../errors.js';
import { digest } from '../key.js';

/** A customer's part of the IPv6 space: RIPE-690 gives a home a /56, which holds 2^72 addresses. */
const IPV6_PREFIX = 56;

/** Where IPv6 carries an IPv4 address in its last 32 bits: mapped by a socket, or translated at the edge (RFC 6145, 6052). */
const CARRIES_IPV4 = ['ipv4Mapped', 'rfc6145', 'rfc6052'];

/** Anything that has request headers as Node parses them: the requests of Express and Fastify, the context of Koa. */
export interface WithHeaders {
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
  if (typeof name !== 'string' || !/^[\w!#$%&'*+.^`|~-]+$/.test(name)) {
    throw expected('ERR_SLUICE_OPTION', 'name', 'the name of a header', name);
  }
  const field = name.toLowerCase();
  return ({ headers }) => {
    const value = Object.hasOwn(headers, field) ? headers[field] : undefined;
    // Sent empty is not sent: else all who do so would share a quota.
    if (value === undefined || value.length === 0) return undefined;
    return `${field}:${digest(Array.isArray(value) ? value.join(', ') : value).slice(1)}`;
  };
}

/**
 * Returns the key of a client address, or `undefined` if it is none.
 *
 * One client, one key, in whatever spelling: IPv4 in IPv6 counts as the IPv4 address it is, ports and zones are
 * stripped, and IPv6 is cut to the /56 that belongs to one customer.
 */
export function keyOfAddress(address: string | undefined): string | undefined {
  if (address === undefined || address.length > 100) return undefined;
  if (isIPv4(address)) return `ip:${address}`;
  const bare = stripPort(address);
  if (isIPv4(bare)) return `ip:${bare}`;
  if (!isIPv6(bare)) return undefined;
  const parsed = ipaddr.IPv6.parse(bare.replace(/%.*$/, ''));
  const bytes = parsed.toByteArray();
  if (CARRIES_IPV4.includes(parsed.range())) return `ip:${bytes.slice(12).join('.')}`;
  return `ip:${new ipaddr.IPv6(bytes.fill(0, IPV6_PREFIX / 8)).toString()}/${IPV6_PREFIX}`;
}

/** `1.2.3.4:80` and `[::1]:80`, as some proxies write them, without the port. */
function stripPort(address: string): string {
  const [, bracketed, dotted] = /^\[([^\]]+)\](?::\d+)?$|^([\d.]+):\d+$/.exec(address) ?? [];
  return bracketed ?? dotted ?? address;
}

const connections = new WeakMap<object, string>();
const thisProcess = randomBytes(8).toString('hex');
let made = 0;

/**
 * The key of a client that has no address: one that hung up, or one on a Unix socket. Each connection is limited by
 * itself, so that none can use up what the others have.
 */
export function keyOfConnection(socket: object): string {
  let key = connections.get(socket);
  if (key === undefined) {
    if (made === 0) {
      process.emitWarning(
        'A request has no client address; its connection is limited by itself. On a Unix socket, set the trust proxy setting of your framework or give `key`.',
        { code: 'SLUICE_NO_ADDRESS' },
      );
    }
    made += 1;
    key = `connection:${thisProcess}-${made}`;
    connections.set(socket, key);
  }
  return key;
}
