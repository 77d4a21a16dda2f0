/**
 * Answers of the user's own to a denied request: a body, an error.
 *
 * @module
 */

import { createLimiter, manualClock } from '@sluice/core';
import { type BodyOption, type DenialBody, RateLimitError } from '@sluice/core/http';
import { limitHeaders, send } from './client.js';
import type { AnyOptions, AnyRequest, RunningDemo, Start } from './demo.js';
import { BrokenStore } from './stores.js';

/** 2.5 s into a window of 10 s. */
const NOW = 1_796_055_362_500;

/** The only request of a window is used up; the next fits in 7.5 s. */
function usedUp(): { readonly limiter: AnyOptions['limiter'] & object; readonly key: () => string } {
  const policies = [{ algorithm: 'fixed-window', limit: 1, window: '10s' }] as const;
  const limiter = createLimiter({ policies, clock: manualClock(NOW) });
  limiter.consume('k');
  return { limiter, key: () => 'k' };
}

const DENIED = {
  'x-ratelimit-limit': '1',
  'x-ratelimit-remaining': '0',
  'x-ratelimit-reset': '1796055370',
  'retry-after': '8',
};

const down = { limit: 1, window: '1h', onStoreError: 'deny' } as const;

export function bodies(start: Start): void {
  const bytes = new Uint8Array([0, 195, 188, 255]).subarray(1, 3);
  const cases: [name: string, own: Pick<AnyOptions, 'body' | 'contentType'>, type: RegExp, text: string][] = [
    ['text', { body: 'Slöw down.' }, /^text\/plain; ?charset=utf-8$/i, 'Slöw down.'],
    ['no text', { body: '' }, /^text\/plain; ?charset=utf-8$/i, ''],
    ['an object', { body: { slow: 'dówn' } }, /^application\/json(;|$)/, '{"slow":"dówn"}'],
    ['a list', { body: [1, 2] }, /^application\/json(;|$)/, '[1,2]'],
    ['bytes', { body: bytes, contentType: 'text/plain; charset=utf-8' }, /^text\/plain/, 'ü'],
    ['a buffer of bytes', { body: bytes.slice().buffer, contentType: 'text/plain' }, /^text\/plain/, 'ü'],
    ['HTML', { body: '<p>Slow</p>', contentType: 'text/html' }, /^text\/html(;|$)/, '<p>Slow</p>'],
    [
      'JSON of a type of its own',
      { body: { slow: 1 }, contentType: 'application/vnd.api+json' },
      /^application\/vnd\.api\+json(;|$)/,
      '{"slow":1}',
    ],
  ];

  it.each(cases)('with %s', async (_name, own, type, text) => {
    const app = await start({ limits: [{ ...usedUp(), ...own }] });
    const reply = await send(app);
    expect(reply.status).toBe(429);
    expect(limitHeaders(reply)).toEqual(DENIED);
    expect(reply.headers['cache-control']).toBe('no-store');
    expect(reply.headers['content-type']).toMatch(type);
    expect(reply.text).toBe(text);
    expect([app.handled(), app.errors]).toEqual([0, []]);

    const head = await send(app, {}, 'head');
    expect([head.status, head.text]).toEqual([429, '']);
    expect(head.headers['content-type']).toMatch(type);
  });

  it('with what a function makes of the request and the decision, and the problem document where it makes nothing', async () => {
    for (const later of [false, true]) {
      const body: BodyOption<AnyRequest> = (request, { retryAfterMs }) => {
        const texts: Record<string, DenialBody | null> = {
          text: `Wait ${retryAfterMs} ms`,
          json: { retryAfterMs },
          none: null,
        };
        const own = texts[request.headers['x-want'] as string];
        return later ? Promise.resolve(own) : own;
      };
      const app = await start({ limits: [{ ...usedUp(), body }] });
      const wanting = (want: string) => send(app, { 'x-want': want });
      expect(await wanting('text')).toMatchObject({ status: 429, text: 'Wait 7500 ms' });
      expect(await wanting('json')).toMatchObject({ status: 429, text: '{"retryAfterMs":7500}' });
      for (const want of ['none', 'nothing']) {
        const reply = await wanting(want);
        expect(reply.headers['content-type']).toMatch(/^application\/problem\+json/);
        expect(JSON.parse(reply.text)).toMatchObject({ title: 'Quota Exceeded', retryAfter: 8 });
      }
    }
  });

  it('or fails once, and lets nothing through, where the function goes wrong', async () => {
    const circle: { self?: object } = {};
    circle.self = circle;
    const wrong: Record<string, () => unknown> = {
      throws: () => {
        throw new Error('no template');
      },
      rejects: () => Promise.reject(new Error('no template')),
      number: () => 5,
      later: async () => true,
      circle: () => circle,
    };
    const body = (({ headers }: AnyRequest) =>
      wrong[headers['x-want'] as string]()) as BodyOption<AnyRequest>;
    const app = await start({ limits: [{ ...usedUp(), body }] });
    for (const [i, want] of Object.keys(wrong).entries()) {
      expect([want, (await send(app, { 'x-want': want })).status]).toEqual([want, 500]);
      expect([want, app.handled(), app.errors.length]).toEqual([want, 0, i + 1]);
      expect(String(app.errors[i])).toMatch(/no template|Expected `body` to be .+, got .+\./);
    }
  });

  it('but not where nobody knows whether the request is over its limit', async () => {
    const app = await start({ limits: [{ ...down, store: new BrokenStore(), body: 'Slow down.' }] });
    const reply = await send(app);
    expect(reply.status).toBe(503);
    expect(JSON.parse(reply.text)).toMatchObject({ title: 'Temporary Reduced Capacity', status: 503 });
  });
}

export function thrown(start: Start): void {
  const failing = async (options: AnyOptions, method: 'get' | 'head' = 'get') => {
    const app = await start({ limits: [{ ...options, throw: true }], plainErrors: true });
    return { app, reply: await send(app, {}, method) };
  };
  const lone = (app: RunningDemo): RateLimitError => {
    expect([app.handled(), app.errors.length]).toEqual([0, 1]);
    expect(app.errors[0]).toBeInstanceOf(RateLimitError);
    return app.errors[0] as RateLimitError;
  };

  it('with all headers, where nothing but the framework answers errors', async () => {
    const { app, reply } = await failing(usedUp());
    expect(reply.status).toBe(429);
    expect(limitHeaders(reply)).toEqual(DENIED);
    expect(reply.headers['cache-control']).toBe('no-store');
    expect(reply.headers['content-type']).not.toContain('problem');
    expect(reply.text).toContain('Too many requests. Try again in 8 seconds.');

    const error = lone(app);
    expect(error).toMatchObject({
      name: 'RateLimitError',
      message: 'Too many requests. Try again in 8 seconds.',
      code: 'ERR_SLUICE_DENIED',
      status: 429,
      statusCode: 429,
      expose: true,
      decision: { allowed: false, limit: 1, retryAfterMs: 7500 },
    });
    expect(error.headers).toMatchObject({ 'X-RateLimit-Reset': '1796055370', 'Retry-After': '8' });
  });

  it('with its message, if it can never fit, and no time to come back', async () => {
    const { app, reply } = await failing({ limit: 2, window: '1h', cost: 3 });
    expect([reply.status, reply.headers['x-ratelimit-limit']]).toEqual([429, '2']);
    expect(reply.headers).not.toHaveProperty('retry-after');
    expect(reply.text).toContain('Waiting does not help.');
    expect(lone(app).headers).not.toHaveProperty('Retry-After');
  });

  it('with a 503, if the store is down and all are to be denied', async () => {
    const { app, reply } = await failing({ ...down, store: new BrokenStore() });
    expect(reply.status).toBe(503);
    expect(limitHeaders(reply)).toEqual({});
    expect(reply.headers['cache-control']).toBe('no-store');
    const error = lone(app);
    expect(error).toMatchObject({ status: 503, statusCode: 503, decision: { degraded: true } });
    expect(error.message).toBe('This request cannot be checked against its limit at the moment.');
  });

  it('to a HEAD as well', async () => {
    const { reply } = await failing(usedUp(), 'head');
    expect([reply.status, reply.text]).toEqual([429, '']);
    expect(limitHeaders(reply)).toEqual(DENIED);
  });

  it('anew for every request, and never for one that is admitted', async () => {
    const limit = { limit: 1, window: '1h', throw: true } as const;
    const app = await start({ limits: [limit], plainErrors: true });
    const seen = [];
    for (let i = 0; i < 3; i++) seen.push((await send(app)).status);
    expect(seen).toEqual([200, 429, 429]);
    expect(app.errors).toHaveLength(2);
    expect(app.errors[0]).not.toBe(app.errors[1]);
  });

  it('of a limiter behind others, with the headers of all', async () => {
    const outer = createLimiter({
      name: 'outer',
      policies: [{ algorithm: 'fixed-window', limit: 9, window: '1d' }],
      clock: manualClock(NOW),
    });
    const limits: AnyOptions[] = [
      { limiter: outer, headers: ['legacy', 'draft-8'] },
      { ...usedUp(), headers: 'draft-8', throw: true },
    ];
    const app = await start({ limits, plainErrors: true });
    const reply = await send(app);
    expect(reply.status).toBe(429);
    expect(limitHeaders(reply)).toEqual({
      'x-ratelimit-limit': '1',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '1796055370',
      'ratelimit-policy': '"outer";q=9;w=86400, "default";q=1;w=10',
      ratelimit: '"outer";r=8;t=27838, "default";r=0;t=8',
      'retry-after': '8',
    });
  });
}
