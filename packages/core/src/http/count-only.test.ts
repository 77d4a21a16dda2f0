import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type ClientHttp2Session, connect, constants, createServer as createServer2 } from 'node:http2';
import { type AddressInfo, connect as connectSocket } from 'node:net';
import { createLimiter, type Limiter } from '../index.js';
import type { Host, RateLimitOptions, RawResponse } from './index.js';

type Options = RateLimitOptions<IncomingMessage, () => unknown>;

const host: Host<IncomingMessage> = { raw: (request) => request, address: () => '192.0.2.1' };

let warnings: { code: string; message: string }[];
let createGuard: typeof import('./index.js').createGuard;
beforeEach(async () => {
  warnings = [];
  jest.spyOn(process, 'emitWarning').mockImplementation((message, options) => {
    warnings.push({ code: (options as { code: string }).code, message: String(message) });
  });
  // As in a process that was just started: nothing was warned of yet.
  jest.resetModules();
  ({ createGuard } = await import('./index.js'));
});

const closing: (() => void)[] = [];
afterEach(() => {
  jest.restoreAllMocks();
  for (const close of closing.splice(0)) close();
});

function five(): { limiter: Limiter<false>; left: () => number } {
  const limiter = createLimiter({ policies: [{ limit: 5, window: '1h' }] });
  return { limiter, left: () => limiter.peek('k').remaining };
}

/** Lets everything run that is ready to run. */
async function turns(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}

describe('a request that may not count', () => {
  /** Sends a request to a server that has a guard, and waits for the end of it. */
  async function ask(
    limiter: Limiter,
    countOnly: unknown,
    answer = (response: RawResponse) => void response.end(),
  ) {
    const guard = createGuard({ limiter, key: () => 'k', countOnly } as unknown as Options, host);
    const server = createServer(async (request, response) => {
      await guard.check(request, response);
      answer(response);
    }).listen(0, '127.0.0.1');
    closing.push(() => server.close());
    await once(server, 'listening');
    await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)).text();
    await turns();
  }

  it('counts, with one warning that says why, when nobody can say', async () => {
    const { limiter, left } = five();
    await ask(limiter, () => Promise.reject(new Error('no database')));
    await ask(limiter, () => undefined);
    await ask(limiter, () => 1);
    expect(left()).toBe(2);
    expect(warnings).toEqual([
      { code: 'SLUICE_COUNT_ONLY_FAILED', message: 'countOnly failed, so the request counts: no database' },
    ]);
  });

  it('counts where what gives it back fails, at once or later', async () => {
    for (const refund of [
      () => Promise.reject(new Error('away')),
      () => {
        throw new Error('closed');
      },
    ]) {
      const { limiter, left } = five();
      await ask(
        { ...limiter, consume: (...args) => limiter.consume(...args), refund } as Limiter,
        () => false,
      );
      expect(left()).toBe(4);
    }
    expect(warnings).toEqual([]);
  });

  it('is given back where the response has no connection, and tells of its finish alone', async () => {
    const { limiter, left } = five();
    const guard = createGuard({ limiter, key: () => 'k', countOnly: 'failed' } as Options, host);
    for (const [statusCode, after] of [
      [200, 5],
      [401, 4],
      [200, 4],
    ] as const) {
      const response = Object.assign(new EventEmitter(), { statusCode, writableEnded: false, socket: {} });
      await guard.check({ headers: {} } as IncomingMessage, response as unknown as RawResponse);
      response.emit('finish');
      await turns();
      expect(left()).toBe(after);
    }
  });

  it('counts where nobody learns of its end', () => {
    const { limiter, left } = five();
    const guard = createGuard({ limiter, key: () => 'k', countOnly: () => false } as Options, host);
    guard.check({ headers: {} } as IncomingMessage);
    expect(left()).toBe(4);
  });

  it('is given back to a window that is over by then as nothing', async () => {
    let now = 0;
    const limiter = createLimiter({
      policies: [{ algorithm: 'fixed-window', limit: 5, window: '10s' }],
      clock: { now: () => now },
    });
    await ask(
      limiter,
      () => false,
      (response) => {
        now = 10_000;
        limiter.consume('k', { cost: 2 });
        response.end();
      },
    );
    expect(limiter.peek('k').remaining).toBe(3);
  });

  it('is refused at construction by anything but names and functions', () => {
    for (const countOnly of ['all', 'toString', '', true, null, 400, ['failed']]) {
      const options = { limit: 5, window: '1h', countOnly } as unknown as Options;
      expect(() => createGuard(options, host)).toThrow(
        /^Expected `countOnly` to be "failed", "succeeded", false or a function, got /,
      );
    }
    expect(() => createGuard({ limit: 5, window: '1h', preflight: 1 } as unknown as Options, host)).toThrow(
      'Expected `preflight` to be true or false, got 1.',
    );
  });
});

describe('a request by HTTP/2', () => {
  /** A server whose requests count if they failed, and what was said of the end of each. */
  async function serve(limiter: Limiter, answer: (response: RawResponse, path: string) => void) {
    const completes: boolean[] = [];
    const options = {
      limiter,
      key: () => 'k',
      countOnly: (_: unknown, { statusCode }: RawResponse, complete: boolean) => {
        completes.push(complete);
        return !complete || statusCode >= 400;
      },
    };
    const guard = createGuard(options as Options, host);
    const server = createServer2(async (request, response) => {
      await guard.check(request as unknown as IncomingMessage, response);
      answer(response, request.url);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const session = connect(`http://127.0.0.1:${port}`);
    closing.push(() => {
      session.destroy();
      server.close();
    });
    return { session, port, completes };
  }

  /** RFC 9113, section 4.1. */
  const frame = (type: number, flags: number, stream: number, payload: readonly number[] = []) =>
    Buffer.from([0, 0, payload.length, type, flags, 0, 0, 0, stream, ...payload]);

  const open = (session: ClientHttp2Session, path: string) => session.request({ ':path': path }).resume();

  /** Until the server has told of so many ends. */
  async function told(completes: readonly boolean[], count: number): Promise<void> {
    while (completes.length < count) await new Promise((resolve) => setImmediate(resolve));
    await turns();
  }

  it('is given back when it was answered, and not when it was reset', async () => {
    const { limiter, left } = five();
    const { session, completes } = await serve(limiter, (response, path) => {
      if (path === '/whole') response.end('all of it');
      else (response as NodeJS.WritableStream).write('a part');
    });
    await once(open(session, '/whole'), 'close');
    await told(completes, 1);
    expect([completes, left()]).toEqual([[true], 5]);

    const stream = open(session, '/part');
    await once(stream, 'response');
    stream.close(constants.NGHTTP2_CANCEL);
    await told(completes, 2);
    expect([completes, left()]).toEqual([[true, false], 4]);
  });

  it('counts when it was reset or cut off before all of it had left the server', async () => {
    const { limiter, left } = five();
    // More than the client takes without reading on.
    const { session, completes } = await serve(limiter, (response) => response.end(Buffer.alloc(5_000_000)));
    const stream = session.request({ ':path': '/' });
    await once(stream, 'response');
    stream.close(constants.NGHTTP2_CANCEL);
    await told(completes, 1);
    const other = session.request({ ':path': '/' });
    await once(other, 'response');
    other.on('error', () => {});
    session.destroy();
    await told(completes, 2);
    expect([completes, left()]).toEqual([[false, false], 3]);
  });

  it('counts when it was reset without an error before all of it had left the server', async () => {
    const { limiter, left } = five();
    const { port, completes } = await serve(limiter, (response) => response.end(Buffer.alloc(5_000_000)));
    // By hand: Node's own client sends no such reset before it has read everything.
    const client = connectSocket(port, '127.0.0.1');
    client.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    client.write(frame(4, 0, 0));
    // GET http://x/ as in RFC 7541, appendix A.
    client.write(frame(1, 0b101, 1, [0x82, 0x86, 0x84, 0x41, 1, 0x78]));
    while (client.bytesRead < 10_000) await once(client, 'data');
    // RST_STREAM, and the end of the connection.
    client.end(frame(3, 0, 1, [0, 0, 0, constants.NGHTTP2_NO_ERROR]));
    await told(completes, 1);
    expect([completes, left()]).toEqual([[false], 4]);
  });

  it('is given back though its response has no body', async () => {
    for (const [method, status] of [
      ['GET', 204],
      ['GET', 304],
      ['HEAD', 200],
    ] as const) {
      const { limiter, left } = five();
      const { session, completes } = await serve(limiter, (response) => {
        response.statusCode = status;
        response.end();
      });
      await once(session.request({ ':path': '/', ':method': method }).resume(), 'close');
      await told(completes, 1);
      expect([method, status, completes, left()]).toEqual([method, status, [true], 5]);
    }
  });

  it('counts when it was reset while the store was asked', async () => {
    const { limiter, left } = five();
    let answer = () => {};
    let asked = () => {};
    const reached = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const slow = {
      ...limiter,
      consume: async (key: string) => {
        asked();
        await new Promise<void>((resolve) => {
          answer = resolve;
        });
        return limiter.consume(key);
      },
    } as unknown as Limiter;
    const { session, completes } = await serve(slow, () => {});
    const stream = open(session, '/');
    await reached;
    stream.close(constants.NGHTTP2_CANCEL);
    await once(stream, 'close');
    await session.ping(() => {});
    await turns();
    answer();
    await told(completes, 1);
    expect([completes, left()]).toEqual([[false], 4]);
  });
});
