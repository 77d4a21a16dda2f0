/**
 * A loopback TCP proxy that does to a connection what a bad network does.
 *
 * @module
 */

import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';

/**
 * What the proxy does with what passes:
 * - `pass`: hands it on.
 * - `cut`: hands requests on, and ends the connection where their reply would come: they were executed.
 * - `mute`: hands requests on, and keeps the replies until it passes again.
 * - `stuck`: reads nothing from clients, so that their sockets fill up; goes on when it passes again.
 * - `refuse`: ends every connection at once.
 */
type Mode = 'pass' | 'cut' | 'mute' | 'stuck' | 'refuse';

/** A proxy in front of a server on this machine. */
export interface Proxy {
  readonly port: number;
  /** Takes effect at once, on the connections that are open as well. */
  set(mode: Mode): void;
  /** How often a reply was cut off. */
  readonly cuts: number;
  close(): Promise<void>;
}

const HOST = '127.0.0.1';

/** Starts a proxy in front of `port`; it passes everything on until it is told otherwise. */
export async function startProxy(port: number): Promise<Proxy> {
  const links = new Set<Link>();
  let mode: Mode = 'pass';
  let cuts = 0;
  const server = createServer((client) => {
    const link = new Link(client, createConnection({ host: HOST, port }), () => {
      cuts += 1;
    });
    links.add(link);
    client.once('close', () => links.delete(link));
    link.set(mode);
  });
  server.listen(0, HOST);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    set(next) {
      mode = next;
      for (const link of links) link.set(next);
    },
    get cuts() {
      return cuts;
    },
    async close() {
      for (const link of links) link.end();
      server.close();
      await once(server, 'close');
    },
  };
}

/** One connection through the proxy. */
class Link {
  readonly #client: Socket;
  readonly #server: Socket;
  #mode: Mode = 'pass';
  #kept: Buffer[] = [];

  constructor(client: Socket, server: Socket, cut: () => void) {
    this.#client = client;
    this.#server = server;
    client.on('data', (chunk) => server.write(chunk));
    server.on('data', (chunk) => {
      if (this.#mode === 'mute') this.#kept.push(chunk);
      else if (this.#mode === 'cut') {
        cut();
        this.end();
      } else client.write(chunk);
    });
    for (const socket of [client, server]) {
      socket.on('error', () => this.end());
      socket.on('close', () => this.end());
    }
  }

  set(mode: Mode): void {
    this.#mode = mode;
    if (mode === 'refuse') this.end();
    if (mode === 'stuck') this.#client.pause();
    else this.#client.resume();
    if (mode === 'pass') for (const chunk of this.#kept.splice(0)) this.#client.write(chunk);
  }

  end(): void {
    this.#client.destroy();
    this.#server.destroy();
  }
}
