import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, createServer, IncomingMessage, request, type Server } from 'node:http';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseList } from 'structured-headers';
import { createLimiter, type Limiter, MemoryStore, manualClock, type Policy } from '../index.js';
import {
  createGuard,
  createRouteGuards,
  type Guard,
  type Host,
  type RateLimitOptions,
  type Verdict,
} from './index.js';

type Handler = () => unknown;
type Options = RateLimitOptions<IncomingMessage, Handler>;

const host: Host<IncomingMessage> = {
  raw: (request) => request,
  address: (request) => request.socket.remoteAddress,
};
const guardOf = (options: Options) => createGuard(options, host);

/** A request of which guards read nothing but where it comes from. */
const from = (remoteAddress?: string) => ({ headers: {}, socket: { remoteAddress } }) as IncomingMessage;

const headersOf = async (guard: Guard<IncomingMessage, Handler>, request: IncomingMessage) =>
  Object.fromEntries((await guard.check(request)).headers);

/** 2.5 s into a window of 10 s. */
const NOW = 1_796_055_362_500;
const tenSeconds = (limit: number): Policy => ({ algorithm: 'fixed-window', limit, window: '10s' });
const hour = { limit: 3, window: '1h' } as const;

describe('a guard', () => {
  it('answers at once where nothing has to be waited for', async () => {
    const asynchronous: Partial<Options>[] = [
      { key: async () => 'k' },
      { cost: async () => 1 },
      { skip: async () => false },
      { limit: async () => 3 },
    ];
    const synchronous: Partial<Options>[] = [
      {},
      { key: () => 'k' },
      { cost: () => 1 },
      { skip: () => false },
      { limit: () => 3 },
    ];
    for (const options of synchronous) {
      const verdict = guardOf({ ...hour, ...options } as Options).check(from('192.0.2.1'));
      expect(verdict).not.toBeInstanceOf(Promise);
      expect(verdict).toMatchObject({ decision: { allowed: true, remaining: 2 } });
    }
    for (const options of asynchronous) {
      const verdict = guardOf({ ...hour, ...options } as Options).check(from('192.0.2.1'));
      expect(verdict).toBeInstanceOf(Promise);
      expect(await verdict).toMatchObject({ decision: { allowed: true, remaining: 2 } });
    }
  });

  it('asks a request again that failed before it was charged', async () => {
    let broken = true;
    const limit = () => {
      if (broken) throw new Error('no database');
      return 1;
    };
    const guard = guardOf({ limit, window: '1h' });
    const requests = [from('192.0.2.1'), from('192.0.2.1')];
    for (const request of requests) expect(() => guard.check(request)).toThrow('no database');
    broken = false;
    // The same requests, come back by way of an error handler that goes on.
    expect(await guard.check(requests[0])).toMatchObject({ decision: { allowed: true } });
    expect(await guard.check(requests[1])).toMatchObject({ denial: { status: 429 } });
    // And charged but once.
    expect(await guard.check(requests[0])).toEqual({ headers: [] });
  });

  it('has a limiter that admits nothing to a request that brings no limit, where a function is to say it', () => {
    const { limiter } = guardOf({ limit: () => 5, window: '1h' });
    expect(limiter.consume('k')).toMatchObject({ allowed: false, limit: 0 });
    expect(limiter.consume('k', { limit: 5 })).toMatchObject({ allowed: true, remaining: 4 });
  });

  it('lets go on who was skipped the first time, and asks the second time', async () => {
    const request = from('192.0.2.1');
    let skipped = true;
    const guard = guardOf({ limit: 0, window: '1h', skip: () => skipped });
    expect(await guard.check(request)).toEqual({ headers: [] });
    skipped = false;
    expect(await guard.check(request)).toMatchObject({ denial: { status: 429 } });
  });

  it('names what it tells of after the limiter, and after the policy where there are several', async () => {
    const one: Policy = { ...tenSeconds(5) };
    const named: Policy = { ...one, name: 'burst' };
    for (const [name, policies, names] of [
      ['default', [one], ['default']],
      ['default', [named], ['burst']],
      ['api', [one], ['api']],
      ['api', [named], ['api']],
      ['default', [one, named], ['default', 'burst']],
      ['api', [one, named], ['api-default', 'api-burst']],
      ['api', [one, one], ['api-default', 'api-2']],
    ] as const) {
      const guard = guardOf({ name, policies, headers: 'draft-8' });
      const { 'RateLimit-Policy': told } = await headersOf(guard, from('192.0.2.1'));
      expect(told).toBe(names.map((name) => `"${name}";q=5;w=10`).join(', '));
    }
  });
});

describe('several guards on one request', () => {
  const clock = manualClock(NOW);
  const standing = (name: string, limit: number, window: '10s' | '1d') =>
    createLimiter({ name, policies: [{ algorithm: 'fixed-window', limit, window }], clock });

  it('tell of all limiters that were asked, and of the one nearest to its end', async () => {
    const headers = ['legacy', 'draft-8'] as const;
    const outer = guardOf({ limiter: standing('outer', 9, '1d'), headers });
    const inner = guardOf({ limiter: standing('inner', 2, '10s'), headers });
    const request = from('192.0.2.1');
    expect(await headersOf(outer, request)).toEqual({
      'X-RateLimit-Limit': '9',
      'X-RateLimit-Remaining': '8',
      'X-RateLimit-Reset': '1796083200',
      'RateLimit-Policy': '"outer";q=9;w=86400',
      RateLimit: '"outer";r=8;t=27838',
    });
    const both = {
      'X-RateLimit-Limit': '2',
      'X-RateLimit-Remaining': '1',
      'X-RateLimit-Reset': '1796055370',
      'RateLimit-Policy': '"outer";q=9;w=86400, "inner";q=2;w=10',
      RateLimit: '"outer";r=8;t=27838, "inner";r=1;t=8',
    };
    expect(await headersOf(inner, request)).toEqual(both);

    // The other way round, the nearest was asked first.
    const again = from('192.0.2.2');
    await inner.check(again);
    expect(await headersOf(outer, again)).toMatchObject({
      'X-RateLimit-Limit': '2',
      RateLimit: '"inner";r=1;t=8, "outer";r=8;t=27838',
    });
  });

  it('tell of the limiter that denies, though another has less left', async () => {
    const outer = guardOf({ limiter: standing('outer', 1, '1d') });
    const inner = guardOf({ limiter: standing('inner', 4, '10s'), cost: 5 });
    const request = from('192.0.2.1');
    expect(await headersOf(outer, request)).toMatchObject({ 'X-RateLimit-Remaining': '0' });
    expect(await headersOf(inner, request)).toMatchObject({
      'X-RateLimit-Limit': '4',
      'X-RateLimit-Remaining': '4',
    });
  });

  it('give each limiter a name that no other has on the response, also where none was given or two are the same', async () => {
    const headers = 'draft-8';
    const policies = [tenSeconds(9), { ...tenSeconds(8), name: 'day' }];
    const asked: [limiters: Limiter[], names: string[]][] = [
      [[1, 2, 3].map(() => standing('default', 5, '10s')), ['default', 'default-2', 'default-3']],
      [
        [standing('api', 5, '10s'), standing('api-2', 5, '10s'), standing('api', 5, '10s')],
        ['api', 'api-2', 'api-3'],
      ],
      [
        [standing('api', 5, '10s'), standing('api', 5, '10s'), standing('api-2', 5, '10s')],
        ['api', 'api-2', 'api-2-2'],
      ],
      [
        [standing('api-day', 5, '10s'), createLimiter({ name: 'api', policies, clock })],
        ['api-day', 'api-default', 'api-day-2'],
      ],
    ];
    for (const [limiters, names] of asked) {
      const request = from('192.0.2.1');
      let told: Record<string, string> = {};
      for (const limiter of limiters) told = await headersOf(guardOf({ limiter, headers }), request);
      for (const field of ['RateLimit-Policy', 'RateLimit'])
        expect(parseList(told[field]).map(([name]) => name)).toEqual(names);
    }
  });

  it('name the limiter that denies as the headers do', async () => {
    const headers = 'draft-8';
    const request = from('192.0.2.1');
    await guardOf({ limiter: standing('default', 5, '1d'), headers }).check(request);
    const second = guardOf({ limiter: standing('default', 1, '10s'), headers, cost: 2 });
    const { headers: told, denial } = await second.check(request);
    expect(Object.fromEntries(told).RateLimit).toBe('"default";r=4;t=27838, "default-2";r=1;t=0');
    expect(JSON.parse(String(denial!.body))['violated-policies']).toEqual(['default-2']);
  });

  it('name one limiter twice that charged two keys of a request: these are two quotas', async () => {
    const limiter = standing('api', 5, '10s');
    const request = from('192.0.2.1');
    await guardOf({ limiter, headers: 'draft-8', key: () => 'user' }).check(request);
    const team = guardOf({ limiter, headers: 'draft-8', key: () => 'team', cost: 2 });
    expect((await headersOf(team, request)).RateLimit).toBe('"api";r=4;t=8, "api-2";r=3;t=8');
  });

  it('go on to tell of one that denied, though its handler let the request go on to one with less left', async () => {
    const strict = guardOf({ limiter: standing('strict', 3, '10s'), cost: 5, handler: () => {} } as never);
    const next = guardOf({ limiter: standing('next', 1, '10s') });
    const request = from('192.0.2.1');
    await strict.check(request);
    expect(await headersOf(next, request)).toMatchObject({
      'X-RateLimit-Limit': '3',
      'X-RateLimit-Remaining': '3',
    });
  });

  it('tell the same wait of one limiter, whatever time it is by the clock of another', async () => {
    const headers = ['legacy', 'draft-8'] as const;
    for (const aheadMs of [-5000, 5000, 1e9]) {
      const own = createLimiter({
        name: 'own',
        policies: [{ algorithm: 'fixed-window', limit: 1, window: '10s' }],
        clock: manualClock(NOW + aheadMs),
      });
      const request = from('192.0.2.1');
      const alone = await headersOf(guardOf({ limiter: own, headers }), from('192.0.2.2'));
      await guardOf({ limiter: own, headers }).check(request);
      const both = await headersOf(guardOf({ limiter: standing('other', 5, '1d'), headers }), request);
      expect(both.RateLimit).toBe(`${alone.RateLimit}, "other";r=4;t=27838`);
      expect(both['X-RateLimit-Reset']).toBe(alone['X-RateLimit-Reset']);
    }
  });

  it('tell in all formats that were told in, as far as these agree on what their fields mean', async () => {
    const outer = guardOf({ limiter: standing('outer', 9, '1d') });
    const inner = guardOf({ limiter: standing('inner', 2, '10s'), headers: 'draft-8', cost: 3 });
    const old = guardOf({ limiter: standing('old', 5, '1d'), headers: 'draft-6' });
    const request = from('192.0.2.1');
    await outer.check(request);
    expect(await headersOf(inner, request)).toMatchObject({
      'X-RateLimit-Limit': '2',
      RateLimit: '"outer";r=8;t=27838, "inner";r=2;t=0',
    });
    const told = await headersOf(old, request);
    expect(told).toMatchObject({
      'X-RateLimit-Limit': '2',
      'RateLimit-Policy': '"outer";q=9;w=86400, "inner";q=2;w=10, "old";q=5;w=86400',
    });
    expect(told).not.toHaveProperty('RateLimit-Limit');
  });

  it('tell nothing of one whose headers are off', async () => {
    const quiet = guardOf({ limiter: standing('quiet', 1, '10s'), headers: false });
    const loud = guardOf({ limiter: standing('loud', 5, '10s'), headers: ['legacy', 'draft-8'] });
    const request = from('192.0.2.1');
    expect(await headersOf(quiet, request)).toEqual({});
    expect(await headersOf(loud, request)).toMatchObject({
      'X-RateLimit-Limit': '5',
      RateLimit: '"loud";r=4;t=8',
    });
  });
});

describe('a guard whose functions take their time', () => {
  const headers = 'draft-8';

  it.each([
    ['a cost', { cost: async () => 1 }],
    ['a limit', { limit: async () => 5 }],
    ['a key', { key: async () => 'k' }],
    ['a skip', { skip: async () => false }],
  ] as [string, Partial<Options>][])('loses nothing of what others do meanwhile: %s', async (_what, own) => {
    const [a, b] = ['a', 'b'].map((name) => guardOf({ ...hour, headers, name, ...own } as Options));
    const request = from('192.0.2.1');
    await Promise.all([a.check(request), b.check(request)]);
    expect(
      parseList((await headersOf(guardOf({ ...hour, headers, name: 'c' }), request)).RateLimit),
    ).toHaveLength(3);
    expect(await a.check(request)).toEqual({ headers: [] });
  });

  it('loses nothing of what its own functions do with others', async () => {
    const inner = guardOf({ ...hour, headers, name: 'inner' });
    const request = from('192.0.2.1');
    const asks = () => {
      inner.check(request);
      return 1;
    };
    for (const own of [
      { cost: asks },
      { limit: asks },
      { key: () => `${asks()}` },
      { skip: () => asks() > 1 },
    ]) {
      const outer = guardOf({ ...hour, headers, name: 'outer', ...own } as Options);
      outer.check(request);
      expect(outer.check(request)).toEqual({ headers: [] });
    }
    expect(inner.check(request)).toEqual({ headers: [] });
    expect(inner.limiter.peek('ip:192.0.2.1')).toMatchObject({ remaining: 2 });
  });
});

describe('a request of Node', () => {
  const made = () => {
    const request = new IncomingMessage(new Socket());
    Object.defineProperty(request.socket, 'remoteAddress', { value: '192.0.2.1' });
    return request;
  };

  it('is charged once however it is wrapped', () => {
    const guard = guardOf(hour);
    const request = made();
    for (const each of [request, Object.create(request), new Proxy(request, {})]) guard.check(each);
    expect(guard.limiter.peek('ip:192.0.2.1')).toMatchObject({ remaining: 2 });
  });

  it('that is made up is told from others, though they share their headers or make them anew', () => {
    const guard = guardOf(hour);
    const rawHeaders: string[] = [];
    const sharing = () => ({ ...from('192.0.2.1'), rawHeaders }) as IncomingMessage;
    expect([sharing(), sharing()].map((each) => (guard.check(each) as Verdict).decision?.remaining)).toEqual([
      2, 1,
    ]);
    const anew = Object.defineProperty(from('192.0.2.2'), 'rawHeaders', { get: () => [] });
    guard.check(anew);
    expect(guard.check(anew)).toEqual({ headers: [] });
  });
});

describe('a client that has left', () => {
  const left = (localAddress?: string) => ({ headers: {}, socket: { localAddress } }) as IncomingMessage;

  it('is nobody who could be told from others, and nothing is done for it', async () => {
    const guard = guardOf({ limit: 1, window: '1h' });
    for (let i = 0; i < 3; i++) {
      expect(await guard.check(left('127.0.0.1'))).toEqual({ headers: [], gone: true });
      const reset = { ...left(), stream: { destroyed: true } } as unknown as IncomingMessage;
      expect(await guard.check(reset)).toEqual({ headers: [], gone: true });
    }
  });

  it('while something was waited for counts by the address that it had', async () => {
    for (const own of [{ skip: async () => false }, { key: async () => undefined }]) {
      const guard = guardOf({ limit: 1, window: '1h', ...own });
      const allowed: (boolean | undefined)[] = [];
      for (let i = 0; i < 2; i++) {
        const request = { headers: {}, socket: { remoteAddress: '192.0.2.1' as string | undefined } };
        const verdict = guard.check(request as IncomingMessage);
        request.socket.remoteAddress = undefined;
        allowed.push((await verdict).decision?.allowed);
      }
      expect(allowed).toEqual([true, false]);
    }
  });
});

describe('one limiter that several guards ask', () => {
  const limiter = () => createLimiter({ policies: [tenSeconds(1)], clock: manualClock(NOW) });
  const verdicts = async (guards: Guard<IncomingMessage, Handler>[], request: IncomingMessage) => {
    const allowed: (boolean | undefined)[] = [];
    for (const guard of guards) allowed.push((await guard.check(request)).decision?.allowed);
    return allowed;
  };

  it('charges a request once, and denies again what it has denied', async () => {
    const shared = limiter();
    const guards = [guardOf({ limiter: shared }), guardOf({ limiter: shared })];
    expect(await verdicts(guards, from('192.0.2.1'))).toEqual([true, undefined]);
    expect(await verdicts(guards, from('192.0.2.1'))).toEqual([false, false]);
  });

  it('charges each key that one guard finds before and after the user is known, and each once', async () => {
    const guard = guardOf({
      limiter: limiter(),
      key: ({ headers }) => headers['x-user'] as string | undefined,
    });
    const allowed: unknown[] = [];
    for (const address of ['192.0.2.1', '192.0.2.2']) {
      const request = from(address);
      allowed.push(await verdicts([guard, guard], request));
      request.headers['x-user'] = 'alice';
      allowed.push(await verdicts([guard, guard], request));
    }
    expect(allowed).toEqual([
      [true, undefined],
      [true, undefined],
      [true, undefined],
      [false, undefined],
    ]);
  });
});

describe('what is asked for the sake of warnings', () => {
  it('fails no request', async () => {
    const trust = () => {
      throw new TypeError('hops[i] is undefined');
    };
    const guard = createGuard<IncomingMessage, Handler>({ ...hour }, { ...host, trust });
    expect(await guard.check(from('192.0.2.1'))).toMatchObject({ decision: { allowed: true } });
  });
});

describe('a preflight', () => {
  const asks = (headers: Record<string, string>) => {
    const origin = { origin: 'https://shop.example', 'access-control-request-method': 'PUT' };
    return { ...from('192.0.2.1'), method: 'OPTIONS', headers: { ...origin, ...headers } } as IncomingMessage;
  };

  it('is let pass, and has no body: what has one is limited', async () => {
    const guard = guardOf({ limit: 1, window: '1h' });
    for (const headers of [{}, { 'content-length': '0' }]) {
      expect((await guard.check(asks(headers))).decision).toBeUndefined();
    }
    const bodies = [{ 'content-length': '2' }, { 'transfer-encoding': 'chunked' }];
    const allowed = [];
    for (const headers of bodies) allowed.push((await guard.check(asks(headers))).decision?.allowed);
    expect(allowed).toEqual([true, false]);
  });
});

describe('a client without an address', () => {
  const warnings: unknown[] = [];
  const emitWarning = jest.spyOn(process, 'emitWarning').mockImplementation((...args) => {
    warnings.push(args);
  });
  afterAll(() => emitWarning.mockRestore());

  it('is limited by its connection, and there is one warning of it', async () => {
    const guard = guardOf({ limit: 2, window: '1h' });
    const folder = mkdtempSync(join(tmpdir(), 'sluice-guard-'));
    const socketPath = join(folder, 'socket');
    const server: Server = createServer(async (request, response) => {
      const { decision } = await guard.check(request);
      response.end(String(decision?.allowed));
    });
    await once(server.listen(socketPath), 'listening');
    const agents = [
      new Agent({ keepAlive: true, maxSockets: 1 }),
      new Agent({ keepAlive: true, maxSockets: 1 }),
    ];
    try {
      for (const agent of agents) {
        const seen: string[] = [];
        for (let i = 0; i < 3; i++) {
          const [response] = await once(request({ socketPath, agent }).end(), 'response');
          for await (const chunk of response) seen.push(String(chunk));
        }
        expect(seen).toEqual(['true', 'true', 'false']);
      }
    } finally {
      for (const agent of agents) agent.destroy();
      server.close();
      rmSync(folder, { recursive: true });
    }
    expect(warnings).toEqual([
      [
        expect.stringMatching(/^A request has no client address; /),
        {
          type: 'SluiceWarning',
          code: 'SLUICE_NO_ADDRESS',
          detail: 'See docs/reference/errors.md#sluice_no_address.',
        },
      ],
    ]);
  });

  it('never shares a key with others that have none', async () => {
    const limiter = createLimiter({ policies: [{ ...hour, limit: 1 }] });
    const keys = new Set<string>();
    const spied = {
      ...limiter,
      name: 'spied',
      policies: limiter.policies,
      consume: (key: string) => {
        keys.add(key);
        return limiter.consume(key);
      },
    } as unknown as typeof limiter;
    const guard = guardOf({ limiter: spied });
    for (const address of [undefined, '', 'unknown']) {
      for (let i = 0; i < 3; i++) {
        expect(await guard.check(from(address))).toMatchObject({ decision: { allowed: true } });
      }
    }
    expect(keys.size).toBe(9);
    for (const key of keys) expect(key).toMatch(/^connection:[0-9a-f]{16}-\d+$/);
    expect(warnings).toHaveLength(1);
  });
});

describe('the guards of routes', () => {
  const route = (url: string, method: string | string[] = 'GET') => ({ method, url });

  it('share one store, and have a name each', () => {
    const store = new MemoryStore();
    const guards = createRouteGuards<IncomingMessage, Handler>({ ...hour, name: 'api', store }, host);
    const names = [
      guards.general,
      guards.of({ limit: 1 }, route('/a')),
      guards.of({ limit: 1 }, route('/a', ['POST', 'PUT'])),
      guards.of({ limit: 1 }, route('/:id')),
      guards.of({ limit: 1 }, { ...route('/a'), constraints: { host: /^a\./, version: '1' } }),
      guards.of({ limit: 1 }, { ...route('/a'), constraints: { tier: { paid: true } } }),
      guards.of({ limit: 1 }, { ...route('/a'), constraints: { tier: { paid: false } } }),
      guards.of({ limit: 1, name: 'mine' }, route('/b')),
    ].map(({ limiter }) => limiter.name);
    expect(names).toEqual([
      'api',
      'api-GET%20/a',
      'api-POST%20/a',
      'api-GET%20/%3Aid',
      'api-GET%20/a%20host=/^a%5C./%20version=1',
      'api-GET%20/a%20tier=%7B%22paid%22%3Atrue%7D',
      'api-GET%20/a%20tier=%7B%22paid%22%3Afalse%7D',
      'mine',
    ]);
    expect(() => guards.of({ limit: 2 }, route('/a'))).toThrow(/^Expected `name` to be new to this store/);
  });

  it('leave the limiter of all to itself when a route brings one, whatever name and store there are', () => {
    const general = { ...hour, name: 'api', store: new MemoryStore() };
    const guards = createRouteGuards<IncomingMessage, Handler>(general, host);
    const limiter = createLimiter({ policies: [hour] });
    expect(guards.of({ limiter }, route('/a')).limiter).toBe(limiter);
    expect(guards.general.limiter).not.toBe(limiter);
  });
});
