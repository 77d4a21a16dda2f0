import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import { createLimiter, manualClock, type Store, StoreError } from '../index.js';
import { clientIp, type LimitUpgrade, type LimitUpgradeOptions, limitUpgrade } from './index.js';

const hour = { limit: 1, window: '1h' } as const;
/** 2.5 s into a minute. */
const NOW = 1_796_055_362_500;

const servers: Server[] = [];
const clients: Socket[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  for (const server of servers.splice(0)) server.close();
  jest.restoreAllMocks();
});

/** A server that hands each upgrade to `work`. */
async function serve(work: (request: IncomingMessage, socket: Duplex, head: Buffer) => unknown) {
  const server = createServer().on('upgrade', work).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A server that keeps what `limit` said of each upgrade, and answers those that may go on. */
async function serveLimited(limit: LimitUpgrade) {
  const said: Promise<boolean>[] = [];
  const sockets: Duplex[] = [];
  const port = await serve(async (request, socket) => {
    sockets.push(socket);
    const going = limit(request, socket);
    said.push(going);
    if (await going) socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n');
  });
  return { port, said, sockets };
}

const HANDSHAKE = 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n';

/** Sends a handshake on a connection that the client does not close by itself. */
async function shake(port: number, lines = '', early = ''): Promise<Socket> {
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  clients.push(client);
  await once(client, 'connect');
  client.write(`${HANDSHAKE}${lines}\r\n${early}`);
  return client;
}

/** All that comes until the server closes. */
async function read(client: Socket): Promise<{ status: string; fields: Map<string, string>; body: string }> {
  let text = '';
  for await (const chunk of client) text += chunk;
  const [head, body] = text.split('\r\n\r\n');
  const [status, ...lines] = head.split('\r\n');
  return {
    status,
    fields: new Map(lines.map((line) => line.split(': ') as [string, string])),
    body,
  };
}

const ask = async (port: number, lines = '') => read(await shake(port, lines));

/** A store that cannot be reached. */
function broken(): Store<true> {
  const fail = async () => {
    throw new StoreError('ERR_SLUICE_STORE_CONNECTION', 'It is down.', 'not-run');
  };
  const open = () => ({ decide: fail, charge: fail, correct: fail, reset: fail, close: () => {} });
  return { async: true, open };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

describe('limitUpgrade', () => {
  it('answers a handshake that is denied as rateLimit does a request, and closes', async () => {
    const limiter = createLimiter({
      policies: [{ ...hour, algorithm: 'sliding-window-log' }],
      clock: manualClock(NOW),
    });
    const { port, said } = await serveLimited(limitUpgrade({ limiter }));
    expect((await ask(port)).status).toBe('HTTP/1.1 101 Switching Protocols');
    const { status, fields, body } = await ask(port);
    expect(status).toBe('HTTP/1.1 429 Too Many Requests');
    expect(Object.fromEntries(fields)).toEqual({
      Date: expect.stringMatching(/ GMT$/),
      'X-RateLimit-Limit': '1',
      'X-RateLimit-Remaining': '0',
      // The log admits again when the one entry is an hour old.
      'X-RateLimit-Reset': String(Math.ceil((NOW + 3_600_000) / 1000)),
      'Retry-After': '3600',
      'Cache-Control': 'no-store',
      'Content-Type': 'application/problem+json',
      'Content-Length': String(Buffer.byteLength(body)),
      Connection: 'close',
    });
    expect(JSON.parse(body)).toMatchObject({ status: 429, title: 'Quota Exceeded', retryAfter: 3600 });
    expect(await Promise.all(said)).toEqual([true, false]);
  });

  it('works with ws, whose client sees the 429', async () => {
    const limit = limitUpgrade({ ...hour, algorithm: 'sliding-window-log' });
    const sockets = new WebSocketServer({ noServer: true });
    const port = await serve(async (request, socket, head) => {
      if (!(await limit(request, socket))) return;
      sockets.handleUpgrade(request, socket, head, (client) => client.send('hello'));
    });
    const first = new WebSocket(`ws://127.0.0.1:${port}`);
    try {
      const [message] = await once(first, 'message');
      expect(String(message)).toBe('hello');
      const [, response] = await once(new WebSocket(`ws://127.0.0.1:${port}`), 'unexpected-response');
      expect([response.statusCode, response.headers['retry-after']]).toEqual([429, '3600']);
    } finally {
      first.terminate();
    }
  });

  it('sends a body of one’s own, with the bytes that it has', async () => {
    const body = 'Zu schnell – später!';
    const { port } = await serveLimited(
      limitUpgrade({ ...hour, limit: 0, body, contentType: 'text/x-slow', headers: 'draft-8' }),
    );
    const reply = await ask(port);
    expect(reply.body).toBe(body);
    expect(reply.fields.get('Content-Length')).toBe(String(Buffer.byteLength(body)));
    expect(reply.fields.get('Content-Type')).toBe('text/x-slow');
    expect(reply.fields.get('RateLimit-Policy')).toBe('"default";q=0;w=3600');
    // It can never fit.
    expect(reply.fields.has('Retry-After')).toBe(false);
  });

  it('gets its answer to a client that speaks too early and does not listen', async () => {
    const { port, sockets } = await serveLimited(limitUpgrade({ ...hour, limit: 0 }));
    const client = await shake(port, '', 'x'.repeat(1_000_000));
    expect((await read(client)).status).toBe('HTTP/1.1 429 Too Many Requests');
    const silent = await shake(port);
    await until(() => sockets[1]?.destroyed === true);
    expect(silent.destroyed).toBe(false);
  });

  it('charges a request once per limiter, and lets the first that denies answer', async () => {
    const wide = createLimiter({ name: 'wide', policies: [{ limit: 9, window: '1h' }] });
    const [first, second] = [limitUpgrade({ limiter: wide }), limitUpgrade({ name: 'narrow', ...hour })];
    const both: LimitUpgrade = async (request, socket) => {
      const all = await Promise.all([first, second, first, second].map((limit) => limit(request, socket)));
      return all.every((going) => going);
    };
    const { port, said } = await serveLimited(both);
    await ask(port);
    const { status, body } = await ask(port);
    expect([status, JSON.parse(body)['violated-policies']]).toEqual([
      'HTTP/1.1 429 Too Many Requests',
      ['narrow'],
    ]);
    expect(await Promise.all(said)).toEqual([true, false]);
    expect(wide.peek('ip:127.0.0.1').remaining).toBe(7);
  });

  it('shares the quota of a limiter with requests', async () => {
    const limiter = createLimiter({ policies: [hour] });
    limiter.consume('ip:127.0.0.1');
    const { port } = await serveLimited(limitUpgrade({ limiter }));
    expect((await ask(port)).status).toBe('HTTP/1.1 429 Too Many Requests');
  });

  it('limits what is dressed up as a preflight', async () => {
    const { port } = await serveLimited(limitUpgrade({ ...hour, limit: 0 }));
    const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    clients.push(client);
    const preflight = 'Origin: https://shop.example\r\nAccess-Control-Request-Method: GET\r\n';
    client.write(`${HANDSHAKE.replace('GET', 'OPTIONS')}${preflight}\r\n`);
    expect((await read(client)).status).toBe('HTTP/1.1 429 Too Many Requests');
  });

  it('takes the peer, or whom clientIp finds', async () => {
    jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const from = (address: string) => `X-Forwarded-For: ${address}\r\n`;
    const statusesOf = async (options: LimitUpgradeOptions) => {
      const { port } = await serveLimited(limitUpgrade(options));
      return [await ask(port, from('203.0.113.7')), await ask(port, from('203.0.113.8'))].map(({ status }) =>
        status.slice(9, 12),
      );
    };
    expect(await statusesOf(hour)).toEqual(['101', '429']);
    expect(await statusesOf({ ...hour, key: clientIp({ trust: 'loopback' }) })).toEqual(['101', '101']);
  });

  it('leaves nothing on a socket that may go on', async () => {
    const limit = limitUpgrade({ ...hour, key: async () => 'k' });
    let listeners: unknown;
    const port = await serve(async (request, socket) => {
      const count = () => ['error', 'end', 'close', 'finish'].map((name) => socket.listenerCount(name));
      const before = count();
      const going = await limit(request, socket);
      listeners = [going, count(), before];
      socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n');
    });
    await ask(port);
    const [going, after, before] = listeners as [boolean, number[], number[]];
    expect(going).toBe(true);
    expect(after).toEqual(before);
  });

  describe('while the answer is awaited', () => {
    const ways: Record<string, (client: Socket) => unknown> = {
      'ends its side': (client) => client.end(),
      closes: (client) => client.destroy(),
      resets: (client) => client.resetAndDestroy(),
    };

    it.each(Object.entries(ways))('survives a client that %s, and charges it', async (_, leave) => {
      const limiter = createLimiter({ policies: [hour] });
      let open = () => {};
      const gate = new Promise<string>((resolve) => {
        open = () => resolve('k');
      });
      const { port, said, sockets } = await serveLimited(limitUpgrade({ limiter, key: () => gate }));
      const client = await shake(port);
      await until(() => sockets.length === 1);
      leave(client);
      await until(() => sockets[0].destroyed);
      open();
      expect(await Promise.all(said)).toEqual([false]);
      expect(limiter.peek('k').remaining).toBe(0);
    });

    it.each(Object.entries(ways))(
      'forgets a held client that %s, and gives its place back',
      async (_, leave) => {
        const limiter = createLimiter({ policies: [{ ...hour, limit: 2, algorithm: 'leaky-bucket' }] });
        const { port, said, sockets } = await serveLimited(limitUpgrade({ limiter, key: () => 'k' }));
        expect((await ask(port)).status).toBe('HTTP/1.1 101 Switching Protocols');
        const client = await shake(port);
        await until(() => sockets.length === 2);
        expect(limiter.peek('k').remaining).toBe(0);
        leave(client);
        expect(await Promise.all(said)).toEqual([true, false]);
        expect(limiter.peek('k').remaining).toBe(1);
      },
    );
  });

  it('answers a failure by a 500, does not reject, and warns once', async () => {
    Reflect.deleteProperty(globalThis, Symbol.for('sluice'));
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const failing: LimitUpgradeOptions[] = [
      { ...hour, key: () => Promise.reject(new Error('no session')) },
      {
        ...hour,
        cost: () => {
          throw new Error('no cost');
        },
      },
      { ...hour, store: broken(), onStoreError: 'throw' },
    ];
    for (const options of failing) {
      const { port, said } = await serveLimited(limitUpgrade(options));
      const { status, fields, body } = await ask(port);
      expect(status).toBe('HTTP/1.1 500 Internal Server Error');
      expect([fields.get('Connection'), fields.get('Content-Length'), body]).toEqual(['close', '0', '']);
      expect(await Promise.all(said)).toEqual([false]);
    }
    expect(warn.mock.calls).toEqual([
      [
        'A limit on upgrades failed, so the client got a 500: no session',
        expect.objectContaining({ code: 'SLUICE_UPGRADE_FAILED' }),
      ],
    ]);
  });

  it('answers a 503 where the store failed and is to deny', async () => {
    const { port } = await serveLimited(limitUpgrade({ ...hour, store: broken(), onStoreError: 'deny' }));
    const { status, body } = await ask(port);
    expect(status).toBe('HTTP/1.1 503 Service Unavailable');
    expect(JSON.parse(body).title).toBe('Temporary Reduced Capacity');
  });

  it('refuses what needs a response or a framework, and to be called without a socket', async () => {
    const wrong: [option: string, value: unknown][] = [
      ['handler', () => {}],
      ['throw', true],
      ['countOnly', 'failed'],
      ['preflight', true],
      ['max', 5],
    ];
    for (const [option, value] of wrong) {
      const options = { ...hour, [option]: value } as unknown as LimitUpgradeOptions;
      expect(() => limitUpgrade(options)).toThrow(
        `Expected no option that limitUpgrade does not have, got \`${option}\``,
      );
    }
    expect(() => limitUpgrade(undefined as never)).toThrow(
      'Expected `options` to be an object, got undefined.',
    );
    const limit = limitUpgrade(hour) as (request: unknown) => Promise<boolean>;
    await expect(limit({ headers: {} })).rejects.toMatchObject({
      code: 'ERR_SLUICE_ARGUMENT',
      message: 'Expected `socket` to be the socket of an upgrade, got undefined.',
    });
  });
});
