/**
 * A proxy in front of a server that does what networks do: it loses a reply to a command that has run, or falls silent.
 *
 * @module
 */

import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';

const HOST = '127.0.0.1';

export interface BadNetwork {
  readonly port: number;
  /** Ends the connection on which the next script is called, once the server has answered it. */
  cutNextScript(): void;
  /** Whether it has. */
  readonly hasCut: boolean;
  /** Passes nothing on any more, on the connections that there are, and does not end them. */
  fallSilent(): void;
  close(): Promise<void>;
}

/** Starts a proxy on a free port. */
export async function startBadNetwork(target: number): Promise<BadNetwork> {
  const sockets = new Set<Socket>();
  let silences = 0;
  let isArmed = false;
  let hasCut = false;

  const server = createServer((client) => {
    const upstream = createConnection({ host: HOST, port: target });
    let isDoomed = false;
    const silencesBefore = silences;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
        sockets.delete(socket);
      });
    }
    client.on('data', (data) => {
      if (silences > silencesBefore) return;
      if (isArmed && /\r\nevalsha\r\n/i.test(data.toString('latin1'))) {
        isArmed = false;
        isDoomed = true;
      }
      upstream.write(data);
    });
    upstream.on('data', (data) => {
      hasCut ||= isDoomed;
      if (isDoomed) client.destroy();
      else client.write(data);
    });
  });

  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    cutNextScript: () => {
      isArmed = true;
    },
    fallSilent: () => {
      silences += 1;
    },
    get hasCut() {
      return hasCut;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
