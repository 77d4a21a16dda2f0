/**
 * Limits on upgrades, such as those to WebSockets: Node hands out a bare socket for them, past all frameworks.
 *
 * @module
 */

import { type IncomingMessage, STATUS_CODES } from 'node:http';
import { Duplex } from 'node:stream';
import { checkObject, refuseUnknown } from '../check.js';
import { expected, show } from '../errors.js';
import { warnOnce } from '../warnings.js';
import { createGuard, type Host, type Verdict } from './guard.js';
import type { Header } from './headers.js';
import { KNOWN, type RateLimitOptions } from './options.js';

/** What needs a response of Node's, or a framework. */
const MEANINGLESS = ['handler', 'throw', 'countOnly', 'preflight'] as const;
const MEANINGFUL = KNOWN.filter((option) => !(MEANINGLESS as readonly string[]).includes(option));

/** The options of {@link limitUpgrade}: those of `rateLimit`, but for what needs a response or a framework. */
export type LimitUpgradeOptions = RateLimitOptions<IncomingMessage, never> & {
  readonly [Option in (typeof MEANINGLESS)[number]]?: never;
};

/** Says whether to go on with an upgrade; if not, the client has its answer, and the socket is closed. */
export type LimitUpgrade = (request: IncomingMessage, socket: Duplex) => Promise<boolean>;

const host: Host<IncomingMessage> = {
  raw: (request) => request,
  address: ({ socket }) => socket.remoteAddress,
  trust: () => 'nobody',
};

/**
 * Returns a function for the listeners of a server's `upgrade` event: it resolves with `true` if the request may go on.
 *
 * Else it resolves with `false`, and there is nothing left to do: the client was answered by what `rateLimit` would
 * have said (a 429 or a 503, with headers and body), or it has left. One that left is charged.
 *
 * A failure is answered by a 500 and resolves with `false`, as Node has no error path for upgrades and a rejection
 * would end the process; a warning, once, says what it was. So it rejects only if it is called without a socket.
 *
 * Who is asking is the peer. Behind a proxy, give `key: clientIp({ trust: … })`.
 *
 * @throws ArgumentError if an option is wrong.
 *
 * @example
 * import { createServer } from 'node:http';
 * import { limitUpgrade } from '@sluice/core/http';
 * const limit = limitUpgrade({ limit: 10, window: '1m' });
 * const server = createServer();
 * server.on('upgrade', async (request, socket) => {
 *   if (await limit(request, socket)) socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n');
 * });
 */
export function limitUpgrade(options: LimitUpgradeOptions): LimitUpgrade {
  checkObject(options, 'options', 'an object', 'ERR_SLUICE_OPTION');
  refuseUnknown(options, MEANINGFUL, 'limitUpgrade', 'ERR_SLUICE_OPTION');
  // No browser asks before an upgrade, so what looks like that is made up.
  const guard = createGuard<IncomingMessage, never>({ ...options, preflight: true } as typeof options, host);

  return async (request, socket) => {
    if (!(socket instanceof Duplex)) {
      throw expected('ERR_SLUICE_ARGUMENT', 'socket', 'the socket of an upgrade', socket);
    }
    const release = watch(socket);
    try {
      const verdict = await guard.check(request, socket);
      // It left; or another limiter has answered it.
      if (verdict.gone || !socket.writable) return false;
      if (verdict.denial !== undefined) refuse(socket, verdict.denial, verdict.headers);
      return verdict.denial === undefined;
    } catch (error) {
      const said = error instanceof Error ? error.message : show(error);
      warnOnce('SLUICE_UPGRADE_FAILED', `A limit on upgrades failed, so the client got a 500: ${said}`);
      refuse(socket, { status: 500, body: '' }, []);
      return false;
    } finally {
      release();
    }
  };
}

/**
 * Sees to a socket that nobody else sees to yet: Node has taken its listeners off, and an error without one ends the
 * process. A client that says no more has left, as it cannot have an answer to its handshake. Returns what lets go.
 */
function watch(socket: Duplex): () => void {
  const leave = () => socket.destroy();
  socket.on('error', ignore);
  socket.once('end', leave);
  return () => {
    socket.off('end', leave);
    // What was answered is still to be sent, and may fail.
    if (socket.writable) socket.off('error', ignore);
  };
}

function ignore(): void {}

function refuse(
  socket: Duplex,
  { status, body }: Pick<NonNullable<Verdict['denial']>, 'status' | 'body'>,
  headers: readonly Header[],
): void {
  if (!socket.writable) return;
  const all: readonly Header[] = [
    ['Date', new Date().toUTCString()],
    ...headers,
    ['Content-Length', String(Buffer.byteLength(body))],
    ['Connection', 'close'],
  ];
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...all.map(([name, value]) => `${name}: ${value}`),
  ];
  // What a client says too early would make the system take the answer back.
  socket.resume();
  // Whoever does not hang up is not waited for.
  socket.once('finish', () => socket.destroy());
  socket.end(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)]));
}
