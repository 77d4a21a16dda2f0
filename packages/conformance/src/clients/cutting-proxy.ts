/**
 * A proxy in front of a server that loses a reply, as a network does: the command has run, and nobody hears of it.
 *
 * @module
 */

import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';

const HOST = '127.0.0.1';

export interface CuttingProxy {
  readonly port: number;
  /** Ends the connection on which the next script is called, once the server has answered it. */
  cutNextScript(): void;
  /** Whether it has. */
  readonly hasCut: boolean;
  close(): Promise<void>;
}

/** Starts a proxy on a free port. */
export async function startCuttingProxy(target: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let isArmed = false;
  let hasCut = false;

  const server = createServer((client) => {
    const upstream = createConnection({ host: HOST, port: target });
    let isDoomed = false;
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
    get hasCut() {
      return hasCut;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
