import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { Host, RateLimitOptions } from './index.js';

type Options = RateLimitOptions<IncomingMessage, () => unknown>;
type Trust = ReturnType<NonNullable<Host<IncomingMessage>['trust']>>;

const hour = { limit: 100, window: '1h' } as const;

let codes: (string | undefined)[];
beforeEach(() => {
  codes = [];
  jest.spyOn(process, 'emitWarning').mockImplementation((...[, options]: unknown[]) => {
    codes.push((options as { code?: string }).code);
  });
});
afterEach(() => jest.restoreAllMocks());

/** What a process that was just started has: nothing was warned of yet. */
async function start(trust?: Trust | ((request: IncomingMessage) => Trust)) {
  jest.resetModules();
  Reflect.deleteProperty(globalThis, Symbol.for('sluice'));
  const http = await import('./index.js');
  const host: Host<IncomingMessage> = {
    raw: (request) => request,
    address: (request) => request.socket.remoteAddress,
    ...(trust && { trust: typeof trust === 'function' ? trust : () => trust }),
  };
  const guardOf = (options: Partial<Options> = {}) =>
    http.createGuard({ ...hour, ...options } as Options, host);
  return { ...http, guardOf };
}

/** A request as Node makes them, but for the socket. */
function request(headers: Record<string, string> = {}): IncomingMessage {
  const made = new IncomingMessage(new Socket());
  Object.defineProperty(made.socket, 'remoteAddress', { value: '192.0.2.1' });
  Object.assign(made.headers, headers);
  return made;
}

const forwarded = [{ 'x-forwarded-for': '203.0.113.7' }, { forwarded: 'for=203.0.113.7' }];

describe('a forwarded request from somebody who is not trusted', () => {
  it.each(forwarded)('is warned of once, whenever it comes: %j', async (headers) => {
    const { guardOf } = await start('nobody');
    const guards = [guardOf(), guardOf()];
    await Promise.resolve();
    for (const guard of guards) for (let i = 0; i < 3; i++) guard.check(request());
    expect(codes).toEqual([]);
    for (const guard of [...guards, guardOf()]) for (let i = 0; i < 3; i++) guard.check(request(headers));
    expect(codes).toEqual(['SLUICE_PROXY_NOT_TRUSTED']);
  });

  it('is looked for in the first hundred requests of a limiter, and in every hundredth from then on', async () => {
    const { guardOf } = await start('nobody');
    const guard = guardOf();
    await Promise.resolve();
    for (let i = 1; i <= 100; i++) guard.check(request());
    for (let i = 101; i <= 199; i++) guard.check(request(forwarded[0]));
    expect(codes).toEqual([]);
    guard.check(request(forwarded[0]));
    expect(codes).toEqual(['SLUICE_PROXY_NOT_TRUSTED']);
  });

  it('is not warned of where who sent it is trusted, though another who asked before is not', async () => {
    const { guardOf } = await start(({ headers }) => (headers.via === undefined ? 'nobody' : 'some'));
    const guard = guardOf();
    guard.check(request());
    for (const headers of forwarded) guard.check(request({ ...headers, via: '1.1 proxy' }));
    expect(codes).toEqual([]);
  });

  it('is not warned of where a proxy is trusted, the adapter does not say, or a key was given', async () => {
    for (const trust of ['some', undefined] as const) {
      const { guardOf } = await start(trust);
      const guard = guardOf();
      for (const headers of forwarded) await guard.check(request(headers));
    }
    const { guardOf, clientIp } = await start('nobody');
    const guards = [guardOf({ key: () => 'user' }), guardOf({ key: clientIp({ trust: ['10.0.0.0/8'] }) })];
    for (const guard of guards) for (const headers of forwarded) await guard.check(request(headers));
    expect(codes).toEqual([]);
  });
});

describe('trust of everyone', () => {
  it('is warned of once, when a client is told by its address', async () => {
    const { guardOf } = await start('everyone');
    await guardOf({ key: () => 'user' }).check(request());
    expect(codes).toEqual([]);
    for (let i = 0; i < 3; i++) await guardOf().check(request());
    expect(codes).toContain('SLUICE_EVERYONE_TRUSTED');
    expect(codes.filter((code) => code === 'SLUICE_EVERYONE_TRUSTED')).toHaveLength(1);
  });

  it.each([['0.0.0.0/0'], ['::/0'], ['0.0.0.0/1', '128.0.0.0/1']])(
    'is seen in clientIp: %j',
    async (...trust) => {
      const { clientIp } = await start();
      clientIp({ trust });
      clientIp({ trust });
      expect(codes).toEqual(['SLUICE_EVERYONE_TRUSTED']);
    },
  );

  it('is not seen in what proxies have for addresses', async () => {
    const { clientIp } = await start();
    for (const trust of [
      ['loopback', 'linklocal', 'uniquelocal'],
      ['192.0.2.0/24'],
      ['2001:db8::/32'],
      [],
      1,
      99,
    ]) {
      clientIp({ trust });
    }
    expect(codes).toEqual([]);
  });
});

describe('limiters that are made for a request', () => {
  const perRequest = async (options: () => Partial<Options>, times = 10) => {
    const { guardOf } = await start();
    for (let i = 0; i < times; i++) {
      await Promise.resolve();
      await guardOf(options()).check(request());
    }
  };

  it('are warned of once, when there have been three in a row', async () => {
    await perRequest(() => ({}), 2);
    expect(codes).toEqual([]);
    await perRequest(() => ({}), 3);
    expect(codes).toEqual(['SLUICE_LIMITER_PER_REQUEST']);
    await perRequest(() => ({}));
    expect(codes).toHaveLength(2);
  });

  it('are not warned of where they share a limiter, which counts them all', async () => {
    const { createLimiter } = await import('../index.js');
    const limiter = createLimiter({ policies: [hour] });
    const shared = { limiter, limit: undefined, window: undefined } as unknown as Partial<Options>;
    await perRequest(() => shared);
    expect(codes).toEqual([]);
  });

  it('are not warned of where they are of routes, which keep them', async () => {
    const { createRouteGuards } = await start();
    const host: Host<IncomingMessage> = { raw: (made) => made, address: () => '192.0.2.1' };
    const guards = createRouteGuards<IncomingMessage, () => unknown>(hour, host);
    for (let i = 0; i < 10; i++)
      await guards.of({ limit: 5 }, { method: 'GET', url: `/${i}` }).check(request());
    expect(codes).toEqual([]);
  });

  it('are not warned of where they are made when first needed, and kept', async () => {
    const { guardOf } = await start();
    for (let i = 0; i < 10; i++) {
      const guard = guardOf({ name: `plan-${i}` });
      for (let j = 0; j < 2; j++) await guard.check(request());
    }
    expect(codes).toEqual([]);
  });

  it('are not warned of where a server was set up before, be the timers fake or not', async () => {
    const { guardOf } = await start();
    jest.useFakeTimers();
    const guards = Array.from({ length: 10 }, () => guardOf());
    await Promise.resolve();
    for (const guard of guards) await guard.check(request());
    jest.useRealTimers();
    expect(codes).toEqual([]);
  });

  it('are not warned of where a test asks them by a mock-up of a request', async () => {
    const { guardOf } = await start();
    for (let i = 0; i < 10; i++) {
      const mock = { headers: {}, socket: { remoteAddress: '192.0.2.1' } };
      await guardOf().check(mock as IncomingMessage);
      // Those that are injected are streams.
      await guardOf().check(Object.assign(new Readable(), mock) as unknown as IncomingMessage);
    }
    expect(codes).toEqual([]);
  });
});

describe('a client that hung up before it was asked for', () => {
  it('has no address, of which nobody is warned', async () => {
    const { guardOf } = await start();
    const guard = guardOf({ limit: 1 });
    const gone = () => {
      const socket = new Socket();
      socket.destroy();
      return new IncomingMessage(socket);
    };
    await Promise.resolve();
    expect(await guard.check(gone())).toEqual({ headers: [], gone: true });
    expect(codes).toEqual([]);
  });
});
