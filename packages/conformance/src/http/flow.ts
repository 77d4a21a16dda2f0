/**
 * Many requests, several limiters, slow and broken stores, clients that leave.
 *
 * @module
 */

import { once } from 'node:events';
import { createLimiter, manualClock } from '@sluice/core';
import { RedisStore } from '@sluice/core/redis';
import { Redis } from 'ioredis';
import { single } from '../backends.js';
import { itLeavesKeysThatEnd } from '../ttl.js';
import { connect, decisionIn, limitHeaders, pipeline, send, settle, statuses } from './client.js';
import type { AnyOptions, AnyRequest, RunningDemo, Start } from './demo.js';
import { BrokenStore, SlowStore } from './stores.js';

const times = (count: number, status: number) => Array(count).fill(status);

async function together(apps: readonly RunningDemo[], count: number): Promise<number[]> {
  const replies = await Promise.all(Array.from({ length: count }, (_, i) => send(apps[i % apps.length])));
  return replies.map((reply) => reply.status).sort();
}

export function manyRequests(start: Start): void {
  it('admits five of ten requests that come in one packet', async () => {
    const memory = await start({ limits: [{ limit: 5, window: '1h' }] });
    expect(await pipeline(memory, 10)).toEqual([...times(5, 200), ...times(5, 429)]);
    expect(memory.handled()).toBe(5);

    const slow = await start({ limits: [{ limit: 5, window: '1h', store: new SlowStore() }] });
    expect(await pipeline(slow, 10)).toEqual([...times(5, 200), ...times(5, 429)]);
    expect(slow.handled()).toBe(5);
  });

  it('admits exactly the limit of fifty requests at once', async () => {
    for (const store of [undefined, new SlowStore()]) {
      const app = await start({ limits: [{ limit: 20, window: '1h', ...(store && { store }) }] });
      expect(await together([app], 50)).toEqual([...times(20, 200), ...times(30, 429)]);
      expect(app.handled()).toBe(20);
      expect(app.errors).toEqual([]);
    }
  });

  it('holds a request of a leaky bucket for as long as its turn takes', async () => {
    // One every 40 ms; the clock stands, so that the delays are the ones of requests that come at once.
    const limiter = createLimiter({
      policies: [{ algorithm: 'leaky-bucket', limit: 25, window: '1s', capacity: 3 }],
      clock: manualClock(0),
    });
    const app = await start({ limits: [{ limiter }] });
    const timed = async () => {
      const began = performance.now();
      const reply = await send(app);
      return { reply, tookMs: performance.now() - began };
    };
    const delays: number[] = [];
    for (let i = 0; i < 3; i++) {
      const { reply, tookMs } = await timed();
      expect(reply.status).toBe(200);
      const { delayMs } = decisionIn(reply)!;
      // A timer may fire up to a millisecond early.
      expect(tookMs).toBeGreaterThan(delayMs - 1);
      delays.push(delayMs);
    }
    expect(delays).toEqual([0, 40, 80]);
    const denied = await send(app);
    expect(denied.status).toBe(429);
    expect(denied.headers['retry-after']).toBe('1');
  });
}

export function severalLimiters(start: Start): void {
  const shared = () => createLimiter({ policies: [{ limit: 5, window: '1h' }] });

  it('charges a request once, however often the same middleware is mounted', async () => {
    const limiter = shared();
    const options: AnyOptions = { limiter, key: () => 'k' };
    const app = await start({ limits: [options, options, options] });
    const reply = await send(app);
    expect(reply.headers['x-ratelimit-remaining']).toBe('4');
    expect(decisionIn(reply)).toMatchObject({ remaining: 4 });
    expect(limiter.peek('k').remaining).toBe(4);
    expect(await statuses(app, 5)).toEqual([...times(4, 200), 429]);
  });

  it('charges a request once to a limiter that two middlewares share', async () => {
    const limiter = shared();
    const app = await start({
      limits: [
        { limiter, key: () => 'k' },
        { limiter, key: async () => 'k' },
      ],
    });
    expect(await statuses(app, 6)).toEqual([...times(5, 200), 429]);
    expect(limiter.peek('k').remaining).toBe(0);
  });

  it('charges each key that two middlewares on one limiter find', async () => {
    const limiter = shared();
    const app = await start({
      limits: [
        { limiter, key: () => 'user' },
        { limiter, key: () => 'team', cost: 2 },
      ],
    });
    expect(await statuses(app, 3)).toEqual([200, 200, 429]);
    expect(limiter.peek('user').remaining).toBe(2);
    expect(limiter.peek('team').remaining).toBe(1);
  });

  it('asks each limiter in turn, and the next only if the first admits', async () => {
    const outer = shared();
    const inner = createLimiter({ policies: [{ limit: 1, window: '1h' }] });
    const app = await start({
      limits: [
        { limiter: outer, key: () => 'k' },
        { limiter: inner, key: () => 'k' },
      ],
    });
    expect(await statuses(app, 6)).toEqual([200, ...times(5, 429)]);
    expect(outer.peek('k').remaining).toBe(0);
    expect(inner.peek('k').remaining).toBe(0);
    const reply = await send(app);
    // Told of the limiter that denied it: the outer one.
    expect(reply.headers['x-ratelimit-limit']).toBe('5');
    expect(app.handled()).toBe(1);
  });

  it('tells of limiters without a name by names that are distinct', async () => {
    const limits = [5, 3].map((limit): AnyOptions => ({ limit, window: '1h', headers: 'draft-8' }));
    const app = await start({ limits });
    const told = limitHeaders(await send(app));
    expect(told['ratelimit-policy']).toBe('"default";q=5;w=3600, "default-2";q=3;w=3600');
    expect(told.ratelimit).toMatch(/^"default";r=4;t=\d+, "default-2";r=2;t=\d+$/);
    await statuses(app, 2);
    const denied = await send(app);
    expect(JSON.parse(denied.text)['violated-policies']).toEqual(['default-2']);
  });

  it('shares the quota of one limiter between servers', async () => {
    const limiter = shared();
    const apps = [await start({ limits: [{ limiter }] }), await start({ limits: [{ limiter }] })];
    expect(await together(apps, 8)).toEqual([...times(5, 200), ...times(3, 429)]);
  });
}

export function accidents(start: Start): void {
  it('fails when the store does, says nothing of limits, and recovers with it', async () => {
    const store = new BrokenStore();
    const app = await start({ limits: [{ limit: 2, window: '1h', store, onStoreError: 'throw' }] });
    for (let i = 1; i <= 3; i++) {
      const reply = await send(app);
      expect(reply.status).toBe(500);
      expect(limitHeaders(reply)).toEqual({});
      expect(app.errors).toHaveLength(i);
      expect(app.errors[i - 1]).toBe(store.error);
    }
    expect(app.handled()).toBe(0);
    store.down = false;
    expect(await statuses(app, 3)).toEqual([200, 200, 429]);
    expect(app.errors).toHaveLength(3);
  });

  it('limits in this process while its store is down, and says nothing of a quota', async () => {
    const store = new BrokenStore();
    const app = await start({ limits: [{ limit: 2, window: '1h', headers: ['legacy', 'draft-8'], store }] });
    const replies = [await send(app), await send(app), await send(app)];
    expect(replies.map((reply) => reply.status)).toEqual([200, 200, 429]);
    expect(replies.slice(0, 2).map(limitHeaders)).toEqual([{}, {}]);
    expect(limitHeaders(replies[2])).toEqual({ 'retry-after': expect.stringMatching(/^[1-9]\d*$/) });
    expect(replies[2].headers['cache-control']).toBe('no-store');
    expect(JSON.parse(replies[2].text)).toMatchObject({ status: 429, title: 'Quota Exceeded' });
    expect(app.errors).toEqual([]);

    // Of the hour's two, both were used here: they are charged when the store is back.
    store.down = false;
    const back = await send(app);
    expect(back.status).toBe(429);
    expect(limitHeaders(back)).toMatchObject({ 'x-ratelimit-remaining': '0' });
  });

  it('admits everything while its store is down, if told so', async () => {
    const store = new BrokenStore();
    const app = await start({ limits: [{ limit: 2, window: '1h', store, onStoreError: 'allow' }] });
    for (let i = 0; i < 5; i++) {
      const reply = await send(app);
      expect(reply.status).toBe(200);
      expect(limitHeaders(reply)).toEqual({});
    }
    expect([app.handled(), app.errors]).toEqual([5, []]);
    store.down = false;
    expect(await statuses(app, 3)).toEqual([200, 200, 429]);
  });

  it('answers 503 while its store is down, if told so, and makes no promise of a time', async () => {
    const store = new BrokenStore();
    const app = await start({ limits: [{ limit: 2, window: '1h', store, onStoreError: 'deny' }] });
    for (let i = 0; i < 5; i++) {
      const reply = await send(app);
      expect(reply.status).toBe(503);
      expect(limitHeaders(reply)).toEqual({});
      expect(reply.headers['cache-control']).toBe('no-store');
      expect(reply.headers['content-type']).toMatch(/^application\/problem\+json/);
      expect(JSON.parse(reply.text)).toMatchObject({ status: 503, title: 'Temporary Reduced Capacity' });
    }
    expect(app.handled()).toBe(0);
    expect(app.errors).toEqual([]);
    store.down = false;
    expect(await statuses(app, 3)).toEqual([200, 200, 429]);
  });

  it('lives on when a client leaves while the store is asked', async () => {
    const store = new SlowStore();
    const app = await start({ limits: [{ limit: 2, window: '1h', store }] });
    for (const limit of ['admitted', 'admitted', 'denied']) {
      store.shut();
      const [asked, accepted] = [store.asked(), once(app.server, 'connection')];
      const client = await connect(app);
      client.write(`GET /${limit} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      const [[socket]] = await Promise.all([accepted, asked]);
      const gone = once(socket, 'close');
      client.destroy();
      await gone;
      store.unlock();
      await settle();
    }
    expect(app.errors).toEqual([]);
    expect(await statuses(app, 1)).toEqual([429]);
  });

  it('leaves a response alone that something else sent while the store was asked', async () => {
    const store = new SlowStore();
    let answer = () => {};
    const app = await start({
      limits: [{ limit: 1, window: '1h', store }],
      before: (now) => {
        answer = now;
      },
    });
    for (const limit of ['admitted', 'denied']) {
      store.shut();
      const asked = store.asked();
      const sent = send(app);
      await asked;
      answer();
      const reply = await sent;
      expect([limit, reply.status, reply.text]).toEqual([limit, 503, 'busy']);
      expect(limitHeaders(reply)).toEqual({});
      store.unlock();
      await settle();
      expect([limit, app.handled(), app.errors]).toEqual([limit, 0, []]);
    }
    const last = await send(app);
    expect(last.status).toBe(429);
  });
}

export function onRedis(start: Start, prefix: string): void {
  const backend = single(prefix);
  afterAll(() => backend.close());
  const { makeStore } = backend;

  it('shares a limit between two servers on one Redis', async () => {
    const limit: AnyOptions = { name: 'two-servers', limit: 20, window: '1h' };
    const apps = [
      await start({ limits: [{ ...limit, store: makeStore() }] }),
      await start({ limits: [{ ...limit, store: makeStore() }] }),
    ];
    expect(await together(apps, 50)).toEqual([...times(20, 200), ...times(30, 429)]);
    expect(apps[0].handled() + apps[1].handled()).toBe(20);
    expect((await send(apps[0])).headers).toMatchObject({
      'x-ratelimit-limit': '20',
      'x-ratelimit-remaining': '0',
      'retry-after': expect.stringMatching(/^[1-9]\d*$/),
    });
  });

  it('admits five of ten requests that come in one packet', async () => {
    const app = await start({ limits: [{ name: 'packet', limit: 5, window: '1h', store: makeStore() }] });
    expect(await pipeline(app, 10)).toEqual([...times(5, 200), ...times(5, 429)]);
  });

  it('gives back what does not count, and settles', async () => {
    const limiter = createLimiter({
      name: 'afterwards',
      policies: [{ limit: 5, window: '1h' }],
      store: makeStore(),
    });
    const limits: AnyOptions[] = [{ limiter, key: () => 'k', countOnly: 'failed' }];
    const app = await start({ limits });
    expect(await statuses(app, 7)).toEqual(times(7, 200));
    expect(await statuses(app, 1, { 'x-fail': '1' })).toEqual([500]);
    const left = async () => (await limiter.peek('k')).remaining;
    while ((await left()) !== 4) await settle();

    const settling = await start({
      limits: [{ limiter, key: () => 'k' }],
      answer: (response, decision) => {
        Promise.resolve(decision?.settle(3)).then(() => response.end());
      },
    });
    await send(settling);
    expect(await left()).toBe(1);
  });

  it('fails when Redis cannot be reached, and not before it is asked', async () => {
    // Nobody listens on the port of a server that was just closed.
    const closed = await start({ limits: [{ limit: 1, window: '1h' }] });
    const { port } = closed.server.address() as { port: number };
    closed.server.close();
    await once(closed.server, 'close');

    const nowhere = new Redis(port, {
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      retryStrategy: () => null,
      lazyConnect: true,
    });
    nowhere.on('error', () => {});
    const store = new RedisStore({ client: nowhere });
    const app = await start({ limits: [{ limit: 1, window: '1h', store, onStoreError: 'throw' }] });
    const reply = await send(app);
    expect(reply.status).toBe(500);
    expect(limitHeaders(reply)).toEqual({});
    const code = 'ERR_SLUICE_STORE_CONNECTION';
    expect(app.errors).toEqual([expect.objectContaining({ name: 'StoreError', code })]);
  });

  itLeavesKeysThatEnd(backend);
}

export function construction(start: Start): void {
  const fine = { limit: 1, window: '1h' } as const;
  const wrong: [name: string, options: object, message: RegExp | string][] = [
    [
      'a text for a limit',
      { ...fine, limit: '10' },
      'Expected `limit` to be an integer >= 0 or Infinity, got "10".',
    ],
    [
      'a limit of NaN',
      { ...fine, limit: Number.NaN },
      'Expected `limit` to be an integer >= 0 or Infinity, got NaN.',
    ],
    ['no limit', { window: '1h' }, 'Expected `limit` to be an integer >= 0 or Infinity, got undefined.'],
    [
      'no policy',
      {},
      'Expected `limit` and `window`, or `policies`, or `limits`, or `limiter`, among the options, got none of them.',
    ],
    ['no window', { limit: 1 }, /^Expected `window` to be .+, got undefined\.$/],
    ['a window in words', { ...fine, window: '1 hour' }, /^Expected `window` to be .+, got "1 hour"\.$/],
    [
      'an unknown option',
      { ...fine, max: 5 },
      /^Expected no option that rateLimit does not have, got `max` \(did you mean `limit`\?\)\. It has /,
    ],
    [
      'several, and what they are elsewhere',
      { ...fine, windowMs: 5, skipFailedRequests: true, foo: 1, bar: undefined },
      /, got `windowMs` \(did you mean `window`\?\), `skipFailedRequests` \(did you mean `countOnly: 'succeeded'`\?\), `foo`\. /,
    ],
    [
      'an unknown algorithm',
      { ...fine, algorithm: 'leaky' },
      /^Expected `algorithm` to be one of .+, got "leaky"\.$/,
    ],
    [
      'an option of another algorithm',
      { ...fine, algorithm: 'fixed-window', burst: 2 },
      /^Expected no option that fixed-window does not have, got `burst`\. It has /,
    ],
    [
      'an unknown header format',
      { ...fine, headers: 'draft-9' },
      /^Expected `headers` to be .+, got "draft-9"\.$/,
    ],
    [
      'two drafts that contradict each other',
      { ...fine, headers: ['draft-7', 'draft-8'] },
      /^Expected `headers` to be .+, got "draft-7, draft-8"\.$/,
    ],
    ['`headers: true`', { ...fine, headers: true }, /^Expected `headers` to be .+, got true\.$/],
    ['a key that is no function', { ...fine, key: 'ip' }, 'Expected `key` to be a function, got "ip".'],
    ['a skip that is no function', { ...fine, skip: true }, 'Expected `skip` to be a function, got true.'],
    [
      'a handler that is no function',
      { ...fine, handler: 'no' },
      'Expected `handler` to be a function, got "no".',
    ],
    [
      'a body that is none',
      { ...fine, body: 5 },
      'Expected `body` to be text, bytes or an object that JSON can hold, or a function, got 5.',
    ],
    ['a body of nothing', { ...fine, body: null }, /^Expected `body` to be .+, got null\.$/],
    [
      'a body that JSON cannot hold',
      { ...fine, body: { big: 1n } },
      /^Expected `body` to be .+, got an object\.$/,
    ],
    [
      'a type that is no media type',
      { ...fine, body: 'slow', contentType: 'html' },
      'Expected `contentType` to be a media type, got "html".',
    ],
    [
      'a type with a line break',
      { ...fine, body: 'slow', contentType: 'text/html;\r\nX: y' },
      /^Expected `contentType` to be a media type, got "text/,
    ],
    [
      'a type of no body',
      { ...fine, contentType: 'text/html' },
      'Expected `body` to be given with `contentType`, got undefined.',
    ],
    ['a word for `throw`', { ...fine, throw: 'yes' }, 'Expected `throw` to be true or false, got "yes".'],
    [
      'a handler and a body',
      { ...fine, handler: () => '', body: 'slow' },
      'Expected one of `handler`, `body` and `throw`, got `handler` and `body`.',
    ],
    [
      'a body and an error',
      { ...fine, body: '', throw: true },
      'Expected one of `handler`, `body` and `throw`, got `body` and `throw`.',
    ],
    [
      'a handler and an error',
      { ...fine, handler: () => '', throw: true },
      'Expected one of `handler`, `body` and `throw`, got `handler` and `throw`.',
    ],
    [
      'an unknown format of the reset',
      { ...fine, resetFormat: 'delta' },
      'Expected `resetFormat` to be one of "epoch", "seconds", got "delta".',
    ],
    [
      'a secret that is too short',
      { ...fine, headers: 'draft-8', partitionSecret: 'secret' },
      'Expected `partitionSecret` to be text or bytes, at least 16 bytes, got 6.',
    ],
    [
      'a negative cost',
      { ...fine, cost: -1 },
      'Expected `cost` to be an integer >= 0 or a function, got -1.',
    ],
    [
      'a text for a cost',
      { ...fine, cost: '1' },
      'Expected `cost` to be an integer >= 0 or a function, got "1".',
    ],
    ['a name with a colon', { ...fine, name: 'a:b' }, /^Expected `name` to be .+, got "a:b"\.$/],
    ['a store that is none', { ...fine, store: {} }, /^Expected `store` to be .+, got an object\.$/],
    ['a limiter that is none', { limiter: {} }, 'Expected `limiter` to be a limiter, got an object.'],
    ['no policies', { policies: [] }, /^Expected `policies` to be .+, got an array of 0\.$/],
    [
      'a limit beside policies',
      { limit: 1, policies: [fine] },
      'Expected `limit` to be part of `policies`, got it beside it.',
    ],
    [
      'a window beside a limiter',
      { window: '1h', limiter: createLimiter({ policies: [fine] }) },
      'Expected `window` to be part of `limiter`, got it beside it.',
    ],
  ];
  it.each(wrong)('refuses %s', async (_, options, message) => {
    await expect(start({ limits: [options as AnyOptions] })).rejects.toMatchObject({
      name: 'ArgumentError',
      code: expect.stringMatching(/^ERR_SLUICE_(OPTION|POLICY)$/),
      message: typeof message === 'string' ? message : expect.stringMatching(message),
    });
  });

  it('refuses two limits of one name on one store, and a wrong option takes no name', async () => {
    const store = new SlowStore();
    const options: AnyOptions = { ...fine, store };
    const wrongly = [
      { ...options, headers: 'no' },
      { ...options, handler: 'no' },
    ] as unknown as AnyOptions[];
    for (const limit of wrongly) {
      await expect(start({ limits: [limit] })).rejects.toMatchObject({ code: 'ERR_SLUICE_OPTION' });
    }
    await start({ limits: [options] });
    await expect(start({ limits: [{ ...options }] })).rejects.toMatchObject({
      name: 'ArgumentError',
      code: 'ERR_SLUICE_NAME_TAKEN',
      message: expect.stringMatching(/^Expected `name` to be new to this store, got "default": .+\.$/),
    });
    const app = await start({ limits: [{ ...options, name: 'other', key: (_request: AnyRequest) => 'k' }] });
    expect(await statuses(app, 2)).toEqual([200, 429]);
  });
}
