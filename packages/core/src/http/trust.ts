/**
 * Whose word is taken for who is asking.
 *
 * @module
 */

import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { expected } from '../errors.js';
import { warnOnce } from '../warnings.js';
import { type Address, parseAddress } from './address.js';

/** Whom to trust: ranges of addresses, or how many proxies stand between the clients and this server. */
export type Trust = string | readonly string[] | number;

/** Whether the node at `address` is trusted, which is `hop` steps away: 0 is the peer. It has none on a Unix socket. */
export type Trusts = (address: Address | undefined, hop: number) => boolean;

type Range = readonly [address: Address, bits: number];

/** Names for ranges that are no part of the Internet, as in Express and Fastify. */
const NAMED = new Map<string, readonly string[]>([
  ['loopback', ['127.0.0.0/8', '::1/128']],
  ['linklocal', ['169.254.0.0/16', 'fe80::/10']],
  ['uniquelocal', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']],
]);

/**
 * Returns whom a `trust` option trusts.
 *
 * @throws ArgumentError if it says nothing that can be understood.
 */
export function parseTrust(trust: unknown): Trusts {
  if (typeof trust === 'number') {
    if (!Number.isSafeInteger(trust) || trust < 1) throw wrong('trust', trust);
    return (_address, hop) => hop < trust;
  }
  if (typeof trust !== 'string' && !Array.isArray(trust)) throw wrong('trust', trust);
  const ranges = (typeof trust === 'string' ? [trust] : trust).flatMap((text: unknown, i) =>
    (NAMED.get(text as string) ?? [text]).map((range) => {
      const parsed = typeof range === 'string' ? parseRange(range) : undefined;
      if (parsed === undefined) throw wrong(typeof trust === 'string' ? 'trust' : `trust[${i}]`, text);
      return parsed;
    }),
  );
  return (address) => address !== undefined && ranges.some((range) => contains(range, address));
}

function wrong(name: string, got: unknown): Error {
  const names = [...NAMED.keys()].map((known) => `'${known}'`).join(', ');
  const what = `addresses, ranges such as '10.0.0.0/8', ${names}, or a number of proxies >= 1`;
  return expected('ERR_SLUICE_OPTION', name, what, got);
}

function parseRange(text: string): Range | undefined {
  const [, start, length] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const address = start !== undefined && isIP(start) ? parseAddress(start) : undefined;
  if (address === undefined) return undefined;
  const most = address instanceof ipaddr.IPv4 ? 32 : 128;
  // IPv4-mapped: the first 96 bits are those that say so.
  const bits = length === undefined ? most : Number(length) - (most === 32 && start.includes(':') ? 96 : 0);
  return bits >= 0 && bits <= most ? [address, bits] : undefined;
}

function contains([start, bits]: Range, address: Address): boolean {
  if (start instanceof ipaddr.IPv4) return address instanceof ipaddr.IPv4 && address.match(start, bits);
  return address instanceof ipaddr.IPv6 && address.match(start, bits);
}

/** Addresses that are nobody's (RFC 5737, RFC 3849, RFC 9637), of both kinds: who trusts all of one trusts everyone. */
const STRANGERS = [
  ['192.0.2.1', '198.51.100.1', '203.0.113.1'],
  ['2001:db8::1', '3fff::1'],
];

/**
 * Whether strangers are trusted, however many hops away: then a client chooses its address.
 *
 * @example
 * import { trustsEveryone } from '@sluice/core/http';
 * trustsEveryone(() => true); // true
 * trustsEveryone((address) => address.startsWith('10.')); // false
 */
export function trustsEveryone(trusts: (address: string, hop: number) => unknown): boolean {
  return STRANGERS.some((kind) => kind.every((address) => trusts(address, Number.MAX_SAFE_INTEGER)));
}

/** Whom a framework is set to believe about who is asking, as far as one request shows it. */
export type Trusted = 'nobody' | 'some' | 'everyone';

/**
 * Returns whom `trusts` believes: `'nobody'` where it does not believe `peer`, from whom a request came.
 *
 * @example
 * import { trustedBy } from '@sluice/core/http';
 * trustedBy((address) => address === '10.0.0.1', '10.0.0.1'); // 'some'
 * trustedBy((address) => address === '10.0.0.1', '203.0.113.7'); // 'nobody'
 */
export function trustedBy(
  trusts: (address: string | undefined, hop: number) => unknown,
  peer: string | undefined,
): Trusted {
  if (!trusts(peer, 0)) return 'nobody';
  return trustsEveryone(trusts) ? 'everyone' : 'some';
}

/** A request that was never made. */
export interface Probe {
  /** Says which way it came. */
  readonly headers: { readonly 'x-forwarded-for': string };
  /** Who handed it on at last. */
  readonly socket: { readonly remoteAddress: string | undefined };
}

/** As good as any number of hops. */
const MANY_HOPS = 100;

/**
 * Returns whether an address is trusted so many hops away, by a framework that keeps its setting to itself. Who may
 * stand on all of a chain, up to the client at its end, is trusted.
 *
 * @param addressOf - which address the framework takes for the client's.
 *
 * @example
 * import { trustsByProbe } from '@sluice/core/http';
 * const trusts = trustsByProbe(({ headers }) => headers['x-forwarded-for'].split(',')[0]);
 * trusts('10.0.0.1', 1); // true
 */
export function trustsByProbe(
  addressOf: (request: Probe) => string | undefined,
): (address: string | undefined, hop: number) => boolean {
  const client = '0.0.0.0';
  return (address, hop) => {
    const chain = [client, ...Array<string | undefined>(Math.min(hop, MANY_HOPS)).fill(address)];
    const headers = { 'x-forwarded-for': chain.join() };
    return addressOf({ headers, socket: { remoteAddress: address } }) === client;
  };
}

/**
 * Whether a header lists all hops, so that a client begins it. Others hold one address, which the proxy wrote.
 *
 * @param name - of the header; `undefined` is the usual one.
 *
 * @example
 * import { listsHops } from '@sluice/core/http';
 * listsHops('CF-Connecting-IP'); // false
 */
export function listsHops(name: string | undefined): boolean {
  return name === undefined || name.toLowerCase() === 'x-forwarded-for';
}

/** Warns that a client can choose its key. */
export function warnOfTrustingEveryone(): void {
  warnOnce(
    'SLUICE_EVERYONE_TRUSTED',
    'Everyone is trusted to say where a request comes from, so a client can choose its key by a header. Trust the addresses of your proxies only.',
  );
}
