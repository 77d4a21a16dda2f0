/**
 * Who is asking, where nothing else was said: the address that the framework sees.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { warnedOf, warnOnce } from '../warnings.js';
import { keyOfAddress } from './address.js';
import type { Host } from './guard.js';
import { warnOfTrustingEveryone } from './trust.js';

/** Keys for so many addresses are kept as they are: a new text is to be hashed, which takes longer than deciding. */
const MOST_KNOWN = 1000;

/** The longest address has 45 characters, without port and zone. */
const LONGEST_KNOWN = 64;

/** Misconfiguration shows at once, or again: looking at each request would have Node make its headers. */
const LOOKED_AT_FIRST = 100;

/**
 * Takes the key of a request from its address.
 *
 * Where the framework has an address that is none, such as a proxy's `unknown`, it is not looked behind: then the peer
 * itself is asking, and if that has none either, its connection.
 */
export class ClientAddresses<Req> {
  readonly #host: Host<Req>;
  readonly #ipv6Prefix: number;
  /** Keys by the address as it was written. */
  readonly #known = new Map<string, string>();
  #watch: Watch<Req> | undefined;
  #watched = 0;

  constructor(host: Host<Req>, ipv6Prefix: number) {
    this.#host = host;
    this.#ipv6Prefix = ipv6Prefix;
    this.#watch = host.trust === undefined ? undefined : watchTrust;
  }

  /** Returns the key of the address that is there now: a client that leaves takes it along. */
  seen(request: Req): string | undefined {
    return (
      this.#keyFor(this.#host.address(request)) ?? this.#keyFor(this.#host.raw(request).socket?.remoteAddress)
    );
  }

  /** Returns the key of a request whose address was `seen` before, if it was; `undefined` if the client has left. */
  keyOf(request: Req, seen: string | undefined): string | undefined {
    if (this.#watch !== undefined) this.#look(request, this.#watch);
    return seen ?? this.seen(request) ?? keyOfConnection(this.#host.raw(request));
  }

  #keyFor(text: string | undefined): string | undefined {
    const known = this.#known.get(text as string);
    if (known !== undefined) return known;
    if (text === undefined || text.length > LONGEST_KNOWN) return keyOfAddress(text, this.#ipv6Prefix);
    // A copy: what was cut out of a header keeps all of it.
    const own = Buffer.from(text).toString();
    const key = keyOfAddress(own, this.#ipv6Prefix);
    if (key === undefined) return undefined;
    if (this.#known.size >= MOST_KNOWN) this.#known.clear();
    this.#known.set(own, key);
    return key;
  }

  #look(request: Req, watch: Watch<Req>): void {
    this.#watched += 1;
    if (this.#watched <= LOOKED_AT_FIRST || this.#watched % LOOKED_AT_FIRST === 0)
      this.#watch = watch(this.#host, request);
  }
}

/** Looks at a request for what to warn of, and returns what is to look at the next, if anything. */
type Watch<Req> = (host: Host<Req>, request: Req) => Watch<Req> | undefined;

function watchTrust<Req>(host: Host<Req>, request: Req): Watch<Req> | undefined {
  const trusted = trustOf(host, request);
  if (trusted === 'everyone') warnOfTrustingEveryone();
  return trusted === 'nobody' ? watchHeaders(host, request) : undefined;
}

/** A function of the user's may not like the addresses that it is tried with: that is no reason to fail. */
function trustOf<Req>(
  host: Host<Req>,
  request: Req,
): ReturnType<NonNullable<Host<Req>['trust']>> | undefined {
  try {
    return host.trust?.(request);
  } catch {
    return undefined;
  }
}

function watchHeaders<Req>(host: Host<Req>, request: Req): Watch<Req> | undefined {
  if (warnedOf('SLUICE_PROXY_NOT_TRUSTED')) return undefined;
  const { headers } = host.raw(request);
  if (headers['x-forwarded-for'] === undefined && headers.forwarded === undefined) return watchHeaders;
  // Who asks now may be trusted, though the first was not: a proxy, after somebody who is none.
  if (trustOf(host, request) !== 'nobody') return undefined;
  warnOnce(
    'SLUICE_PROXY_NOT_TRUSTED',
    'A request says that it was forwarded, and who sent it is not trusted to say so, so all clients of a proxy share one quota. If one of yours stands before this server, set the trust proxy setting of your framework, or give limitUpgrade a `key` by clientIp. If none does, a client made this up, and all is well.',
  );
  return undefined;
}

const connections = new WeakMap<object, string>();
const thisProcess = randomBytes(8).toString('hex');
let made = 0;

/**
 * The key of a client on a Unix socket, which has no address: each connection is limited by itself, so that none can use
 * up what the others have. `undefined` for one that had an address and has left: otherwise each connection, or each
 * stream of HTTP/2, that is reset in time would be a new client.
 */
function keyOfConnection(raw: IncomingMessage & { readonly stream?: Duplex }): string | undefined {
  const { socket, stream } = raw;
  if (socket.destroyed || stream?.destroyed === true || socket.localAddress !== undefined) return undefined;
  let key = connections.get(socket);
  if (key === undefined) {
    warnOnce(
      'SLUICE_NO_ADDRESS',
      'A request has no client address; its connection is limited by itself. On a Unix socket, set the trust proxy setting of your framework or give `key`.',
    );
    made += 1;
    key = `connection:${thisProcess}-${made}`;
    connections.set(socket, key);
  }
  return key;
}
