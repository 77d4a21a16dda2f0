/**
 * Addresses by their bits: one client has one address, in whatever way it is written.
 *
 * @module
 */

import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { expected } from '../errors.js';

/** An IPv4 address, also where it came inside IPv6, or an IPv6 address. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A customer's part of the IPv6 space: RIPE-690 gives a home a /56, which holds 2^72 addresses. */
const IPV6_PREFIX = 56;

/** The longest address has 45 characters; a zone, brackets and a port come on top. */
const LONGEST = 100;

/** How IPv6 begins that carries an IPv4 address in its last 32 bits. */
const MAPPED = [0, 0, 0, 0, 0, 0xffff];
const CARRIES_IPV4 = [
  // Translated at the edge: RFC 2765 (`::ffff:0:0:0/96`), RFC 6052 (`64:ff9b::/96`).
  [0, 0, 0, 0, 0xffff, 0],
  [0x64, 0xff9b, 0, 0, 0, 0],
];

/** RFC 8215, `64:ff9b:1::/48`: each address is one of IPv4, but at which of its bits is known to the network alone. */
const LOCALLY_TRANSLATED = [0x64, 0xff9b, 1];

/** RFC 3056, `2002::/16`: each IPv4 address has a /48 of it. */
const SIX_TO_FOUR = [0x2002];

/** IPv6 addresses met of late, by their text: the library takes a few microseconds for one. */
const recent = new Map<string, Address>();
const MOST_RECENT = 256;

/**
 * Returns the address that is written, or `undefined` if it is none. A port, brackets and a zone (RFC 4007) are
 * stripped, and IPv4-mapped IPv6 (RFC 4291, 2.5.5.2) is the IPv4 address that it is, in hexadecimal as well.
 */
export function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return parseIPv4(text);
  if (text.length > LONGEST) return undefined;
  const known = recent.get(text);
  if (known !== undefined) return known;
  const bare = stripPort(text);
  if (isIPv4(bare)) return parseIPv4(bare);
  if (!isIPv6(bare)) return undefined;
  const address = parseIPv6(bare);
  if (recent.size === MOST_RECENT) recent.clear();
  recent.set(text, address);
  return address;
}

function parseIPv4(text: string): ipaddr.IPv4 {
  return new ipaddr.IPv4(text.split('.').map(Number));
}

function parseIPv6(text: string): Address {
  // The library takes `::1.2.3.4` for `::ffff:1.2.3.4`, but `::102:304`, which is the same, for itself.
  const native = text.replace(/%.*$/, '').replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...octets: string[]) => {
    const [a, b, c, d] = octets.map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
  const address = ipaddr.IPv6.parse(native);
  return begins(address, MAPPED) ? carriedBy(address) : address;
}

/** `1.2.3.4:80` and `[::1]:80`, as some proxies write them, without the port. */
function stripPort(text: string): string {
  const [, bracketed, dotted] = /^\[([^\]]+)\](?::\d+)?$|^([\d.]+):\d+$/.exec(text) ?? [];
  return bracketed ?? dotted ?? text;
}

function begins({ parts }: ipaddr.IPv6, start: readonly number[]): boolean {
  return start.every((part, i) => parts[i] === part);
}

function carriedBy({ parts }: ipaddr.IPv6): ipaddr.IPv4 {
  const octets = [parts[6] >> 8, parts[6] & 0xff, parts[7] >> 8, parts[7] & 0xff];
  return new ipaddr.IPv4(octets);
}

/**
 * Returns the key of a client address, or `undefined` if it is none: `ip:203.0.113.7`, `ip:2001:db8:abcd:1200::/56`.
 *
 * One client, one key, in whatever spelling: IPv4 in IPv6 counts as the IPv4 address it is, ports and zones are
 * stripped, and IPv6 is cut to the prefix that belongs to one customer.
 *
 * @param ipv6Prefix - how many bits of an IPv6 address tell customers apart, from 32 to 64: the same that `rateLimit` is given, as
 *   with another one this is the key of nobody there. Default 56.
 *
 * @example
 * import { keyOfAddress } from '@sluice/core/http';
 * keyOfAddress('[::ffff:203.0.113.7]:443'); // 'ip:203.0.113.7'
 */
export function keyOfAddress(text: string | undefined, ipv6Prefix: number = IPV6_PREFIX): string | undefined {
  if (text === undefined) return undefined;
  // Most are written like this by sockets, and need no parsing.
  if (isIPv4(text)) return `ip:${text}`;
  if (text.startsWith('::ffff:') && isIPv4(text.slice(7))) return `ip:${text.slice(7)}`;
  const address = parseAddress(text);
  return address && keyOf(address, ipv6Prefix);
}

/** Returns the key of an address: see {@link keyOfAddress}. */
export function keyOf(address: Address, ipv6Prefix: number = IPV6_PREFIX): string {
  if (address instanceof ipaddr.IPv4) return `ip:${address.octets.join('.')}`;
  if (CARRIES_IPV4.some((start) => begins(address, start))) return keyOf(carriedBy(address));
  if (begins(address, LOCALLY_TRANSLATED)) return `ip:${address.toString()}`;
  return prefixKey(address, begins(address, SIX_TO_FOUR) ? 48 : ipv6Prefix);
}

/** The key of the first `length` bits, at most 64: so the longest run of zeros, which RFC 5952 leaves out, is the last. */
function prefixKey({ parts }: ipaddr.IPv6, length: number): string {
  const kept = parts.slice(0, Math.ceil(length / 16));
  const spare = kept.length * 16 - length;
  kept.push((kept.pop() as number) & (0xffff << spare));
  while (kept.at(-1) === 0) kept.pop();
  return `ip:${kept.map((part) => part.toString(16)).join(':')}::/${length}`;
}

/**
 * Returns `value`, or the default if there is none, if an IPv6 address may be cut to so many bits: an ISP hands out no
 * more than a /32, and a customer is handed no less than a /64.
 *
 * @throws ArgumentError if it may not.
 */
export function parseIpv6Prefix(value: unknown): number {
  if (value === undefined) return IPV6_PREFIX;
  if (!Number.isInteger(value) || (value as number) < 32 || (value as number) > 64) {
    throw expected('ERR_SLUICE_OPTION', 'ipv6Prefix', 'an integer from 32 to 64', value);
  }
  return value as number;
}
