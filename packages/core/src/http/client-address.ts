/**
 * Who is asking, where nothing else was said: the address that the framework sees.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import { warnedOf, warnOnce } from '../warnings.js';
import { keyOfAddress } from './address.js';
import type { Host } from './guard.js';
import { warnOfTrustingEveryone } from './trust.js';

/**
 * Returns the function that takes the key of a request from its address. It always finds one.
 *
 * Where the framework has an address that is none, such as a proxy's `unknown`, it is not looked behind: then the peer
 * itself is asking, and if that has none either, its connection.
 */
export function addressKeys<Req>(host: Host<Req>, ipv6Prefix: number): (request: Req) => string {
  let watch: Watch<Req> | undefined = host.trust === undefined ? undefined : watchTrust;

  return (request) => {
    if (watch !== undefined) watch = watch(host, request);
    const { socket } = host.raw(request);
    return (
      keyOfAddress(host.address(request), ipv6Prefix) ??
      keyOfAddress(socket.remoteAddress, ipv6Prefix) ??
      keyOfConnection(socket)
    );
  };
}

/** Looks at a request for what to warn of, and returns what is to look at the next, if anything. */
type Watch<Req> = (host: Host<Req>, request: Req) => Watch<Req> | undefined;

function watchTrust<Req>(host: Host<Req>, request: Req): Watch<Req> | undefined {
  const trusted = host.trust?.(request);
  if (trusted === 'everyone') warnOfTrustingEveryone();
  return trusted === 'nobody' ? watchHeaders(host, request) : undefined;
}

function watchHeaders<Req>(host: Host<Req>, request: Req): Watch<Req> | undefined {
  if (warnedOf('SLUICE_PROXY_NOT_TRUSTED')) return undefined;
  const { headers } = host.raw(request);
  if (headers['x-forwarded-for'] === undefined && headers.forwarded === undefined) return watchHeaders;
  warnOnce(
    'SLUICE_PROXY_NOT_TRUSTED',
    'A request says that it was forwarded, and no proxy is trusted, so all clients of a proxy share one quota. If one of yours stands before this server, set the trust proxy setting of your framework, or give limitUpgrade a `key` by clientIp. If none does, a client made this up, and all is well.',
  );
  return undefined;
}

const connections = new WeakMap<object, string>();
const thisProcess = randomBytes(8).toString('hex');
let made = 0;

/**
 * The key of a client that has no address: one that hung up, or one on a Unix socket. Each connection is limited by
 * itself, so that none can use up what the others have.
 */
function keyOfConnection(socket: { readonly destroyed: boolean }): string {
  let key = connections.get(socket);
  if (key === undefined) {
    // Who hung up has lost its address by that, which is no fault.
    if (!socket.destroyed) {
      warnOnce(
        'SLUICE_NO_ADDRESS',
        'A request has no client address; its connection is limited by itself. On a Unix socket, set the trust proxy setting of your framework or give `key`.',
      );
    }
    made += 1;
    key = `connection:${thisProcess}-${made}`;
    connections.set(socket, key);
  }
  return key;
}
