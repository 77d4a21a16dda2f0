import type { RequestListener } from 'node:http';
import { createLimiter, MemoryStore } from '@sluice/core';
import { RedisStore } from '@sluice/core/redis';
import { rateLimit as limitExpress } from '@sluice/express';
import { rateLimit as limitFastify } from '@sluice/fastify';
import { rateLimit as limitKoa } from '@sluice/koa';
import express from 'express';
import fastify from 'fastify';
import Koa from 'koa';
import request from 'supertest';
import { single } from '../backends.js';

/** Far from now, so that real time cannot be taken for it. */
const FAR = Date.UTC(2099, 0, 1);
const MINUTE = 60_000;
const policy = { algorithm: 'fixed-window', limit: 1, window: MINUTE } as const;

const backend = single('fake-timers');
afterAll(() => backend.close());
afterEach(() => void jest.useRealTimers());

/** Without these, clients of Redis do not send and Fastify does not start. */
const fake = () =>
  jest.useFakeTimers({ now: FAR, doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });

/** Makes something before the time is faked, or after. */
const orders = [
  {
    order: 'before',
    made: <T>(make: () => T): T => {
      const what = make();
      fake();
      return what;
    },
  },
  {
    order: 'after',
    made: <T>(make: () => T): T => {
      fake();
      return make();
    },
  },
];

const servers: Readonly<Record<string, () => RequestListener | Promise<RequestListener>>> = {
  Express: () =>
    express()
      .use(limitExpress(policy))
      .use((_request, response) => void response.end()),
  Fastify: async () => {
    const app = fastify();
    app.register(limitFastify, policy);
    app.get('/', () => '');
    await app.ready();
    return app.routing;
  },
  Koa: () => {
    const app = new Koa().use(limitKoa(policy));
    app.use((context) => {
      context.body = '';
    });
    return app.callback();
  },
};

describe.each(orders)('what is made $order the time is faked', ({ order, made }) => {
  it('limits by that time: a limiter', () => {
    const limiter = made(() => createLimiter({ policies: [policy], store: new MemoryStore() }));
    expect(limiter.consume('a').allowed).toBe(true);
    jest.advanceTimersByTime(MINUTE - 1);
    expect(limiter.consume('a')).toMatchObject({ allowed: false, retryAfterMs: 1 });
    jest.advanceTimersByTime(1);
    expect(limiter.consume('a').allowed).toBe(true);
  });

  it('limits by that time on Redis too, where it is the clock, and by that of Redis where it is not', async () => {
    const [limiter, ownTime] = made(() => {
      const clock = { now: () => Date.now() };
      const hourly = [{ limit: 1, window: '1h' }] as const;
      const store = new RedisStore({ client: backend.client, prefix: backend.prefix, timeout: '20s' });
      return [
        createLimiter({ name: `faked-${order}`, policies: [policy], store, clock }),
        createLimiter({ name: `own-${order}`, policies: hourly, store }),
      ];
    });
    expect(await limiter.consume('a')).toMatchObject({ allowed: true, degraded: false });
    jest.advanceTimersByTime(MINUTE - 1);
    expect(await limiter.consume('a')).toMatchObject({ allowed: false, degraded: false, retryAfterMs: 1 });
    jest.advanceTimersByTime(1);
    expect(await limiter.consume('a')).toMatchObject({ allowed: true, degraded: false });

    expect(await ownTime.consume('a')).toMatchObject({ allowed: true, degraded: false });
    jest.advanceTimersByTime(100 * MINUTE);
    expect(await ownTime.consume('a')).toMatchObject({ allowed: false, degraded: false });
  });

  it.each(Object.entries(servers))('limits by that time: %s', async (_name, serve) => {
    const listener = await made(serve);
    const ask = () => request(listener).get('/');
    expect((await ask()).status).toBe(200);
    jest.advanceTimersByTime(MINUTE - 1);
    const { status, headers } = await ask();
    expect(status).toBe(429);
    expect(headers).toMatchObject({ 'retry-after': '1', 'x-ratelimit-reset': String((FAR + MINUTE) / 1000) });
    jest.advanceTimersByTime(1);
    expect((await ask()).status).toBe(200);
  });
});
