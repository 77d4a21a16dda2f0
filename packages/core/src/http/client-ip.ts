/**
 * Who is asking, where a framework's own setting cannot say it: proxies by their ranges, any header, `Forwarded`.
 *
 * @module
 */

import { checkObject, refuseUnknown } from '../check.js';
import { type Address, keyOf, parseAddress, parseIpv6Prefix } from './address.js';
import { fieldName, fieldValue, type WithHeaders } from './by-header.js';
import { forwardedHops, hopsOf } from './forwarded.js';
import { parseTrust, type Trust, type Trusts, trustsEveryone, warnOfTrustingEveryone } from './trust.js';

/** Anything that has headers and a peer: the requests of Express, Fastify and Node, the context of Koa. */
export interface WithPeer extends WithHeaders {
  /** The connection, which knows the peer's address while there is one. */
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** The options of {@link clientIp}. */
export interface ClientIpOptions {
  /**
   * The proxies whose word is taken: addresses, ranges (`'10.0.0.0/8'`), and `'loopback'`, `'linklocal'` and
   * `'uniquelocal'`. Or how many proxies there are, for want of their addresses: only where no client can come past
   * them.
   */
  readonly trust: Trust;
  /**
   * Where they write it. `'forwarded'` is read by RFC 7239, all others as a list of addresses. Take one that every one
   * of them sets or adds to. Default `'x-forwarded-for'`.
   */
  readonly header?: string | undefined;
  /** How many bits of an IPv6 address tell customers apart: 32 to 64. Default 56. */
  readonly ipv6Prefix?: number | undefined;
}

/** Longer chains are no client's, but made to be long. */
const MOST_HOPS = 100;

/**
 * Returns a key function that takes the address of the client behind the proxies that are trusted, as
 * `ip:203.0.113.7` or `ip:2001:db8:abcd:1200::/56`.
 *
 * It goes from the peer to the left of the header while it trusts, and stops at the first whom it does not: so the
 * client never chooses its key. Behind a hop that is no address, such as `unknown`, it does not look: then the peer is
 * asking. Where there is no peer address either (a Unix socket, a client that hung up), it returns `undefined`.
 *
 * @throws ArgumentError if an option is wrong.
 *
 * @example
 * import { clientIp } from '@sluice/core/http';
 * const key = clientIp({ trust: ['10.0.0.0/8'], header: 'forwarded' });
 * const request = { headers: { forwarded: 'for="[2001:db8::7]:4711"' }, socket: { remoteAddress: '10.0.0.1' } };
 * key(request); // 'ip:2001:db8::/56'
 */
export function clientIp(options: ClientIpOptions): (request: WithPeer) => string | undefined {
  checkObject(options, 'options', 'an object', 'ERR_SLUICE_OPTION');
  refuseUnknown(options, ['trust', 'header', 'ipv6Prefix'], 'clientIp', 'ERR_SLUICE_OPTION');
  const trusts = parseTrust(options.trust);
  const field = fieldName(options.header ?? 'x-forwarded-for', 'header');
  const ipv6Prefix = parseIpv6Prefix(options.ipv6Prefix);
  const read = field === 'forwarded' ? forwardedHops : hopsOf;
  const counts = typeof options.trust === 'number';
  if (trustsEveryone((address, hop) => trusts(parseAddress(address), hop))) warnOfTrustingEveryone();

  return ({ headers, socket }) => {
    const { remoteAddress } = socket;
    const peer = remoteAddress === undefined ? undefined : parseAddress(remoteAddress);
    const client = trusts(peer, 0)
      ? behind(peer, read(fieldValue(headers, field) ?? ''), trusts, counts)
      : peer;
    return client && keyOf(client, ipv6Prefix);
  };
}

/** The first hop that is not trusted. If all are, the last: or the peer, if a certain number of them was expected. */
function behind(
  peer: Address | undefined,
  hops: Iterable<string>,
  trusts: Trusts,
  counts: boolean,
): Address | undefined {
  let last = peer;
  let hop = 0;
  for (const text of hops) {
    hop += 1;
    const address = parseAddress(text);
    if (address === undefined || hop > MOST_HOPS) return peer;
    if (!trusts(address, hop)) return address;
    last = address;
  }
  return counts ? peer : last;
}
