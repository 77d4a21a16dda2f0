/**
 * What a client is told, on every response and when it is refused.
 *
 * @module
 */

import { createHmac } from 'node:crypto';
import { createLimiter, type Limiter, type ManualClock, manualClock, type Policy } from '@sluice/core';
import type { HeaderFormat } from '@sluice/core/http';
import { decisionIn, limitHeaders, send, statuses } from './client.js';
import type { AnyRequest, Start } from './demo.js';

/** 2.5 s into a window of 10 s, and 16 h 16 min 2.5 s into the day. */
const NOW = 1_796_055_362_500;

const twoInTen: Policy = { algorithm: 'fixed-window', limit: 2, window: '10s' };

function standing(name: string, ...policies: Policy[]): { clock: ManualClock; limiter: Limiter } {
  const clock = manualClock(NOW);
  return { clock, limiter: createLimiter({ name, policies, clock }) };
}

export function denials(start: Start): void {
  it('admits what the limit admits, refuses the rest, and serves who comes back when told', async () => {
    const { clock, limiter } = standing('default', twoInTen);
    const app = await start({ limits: [{ limiter }] });

    const first = await send(app);
    expect(first.status).toBe(200);
    expect(limitHeaders(first)).toEqual({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '1',
      'x-ratelimit-reset': '1796055370',
    });
    expect(first.headers).not.toHaveProperty('cache-control');
    const second = await send(app);
    expect(second.status).toBe(200);
    expect(second.headers['x-ratelimit-remaining']).toBe('0');

    const third = await send(app);
    expect(third.status).toBe(429);
    expect(limitHeaders(third)).toEqual({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '1796055370',
      'retry-after': '8',
    });
    expect(third.headers['cache-control']).toBe('no-store');
    expect(third.headers['content-type']).toMatch(/^application\/problem\+json(;|$)/);
    expect(JSON.parse(third.text)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota Exceeded',
      status: 429,
      detail: 'Too many requests. Try again in 8 seconds.',
      'violated-policies': ['default'],
      retryAfter: 8,
    });

    clock.advance(7499);
    const early = await send(app);
    expect(early.status).toBe(429);
    expect(early.headers['retry-after']).toBe('1');
    expect(JSON.parse(early.text)).toMatchObject({
      detail: 'Too many requests. Try again in 1 second.',
      retryAfter: 1,
    });

    clock.set(NOW + 8000);
    const later = await send(app);
    expect(later.status).toBe(200);
    expect(later.headers['x-ratelimit-remaining']).toBe('1');
    expect(app.handled()).toBe(3);
    expect(app.errors).toEqual([]);
  });

  const one: [HeaderFormat | HeaderFormat[] | false, (left: number) => Record<string, string>][] = [
    [
      'legacy',
      (left) => ({
        'x-ratelimit-limit': '2',
        'x-ratelimit-remaining': `${left}`,
        'x-ratelimit-reset': '1796055370',
      }),
    ],
    [
      'draft-6',
      (left) => ({
        'ratelimit-policy': '2;w=10',
        'ratelimit-limit': '2',
        'ratelimit-remaining': `${left}`,
        'ratelimit-reset': '8',
      }),
    ],
    [
      'draft-7',
      (left) => ({
        'ratelimit-policy': '2;w=10',
        ratelimit: `limit=2, remaining=${left}, reset=8`,
      }),
    ],
    [
      'draft-8',
      (left) => ({
        'ratelimit-policy': '"api";q=2;w=10',
        ratelimit: `"api";r=${left};t=8`,
      }),
    ],
    [
      ['legacy', 'draft-7'],
      (left) => ({
        'x-ratelimit-limit': '2',
        'x-ratelimit-remaining': `${left}`,
        'x-ratelimit-reset': '1796055370',
        'ratelimit-policy': '2;w=10',
        ratelimit: `limit=2, remaining=${left}, reset=8`,
      }),
    ],
    [false, () => ({})],
  ];
  it.each(one)('tells of one policy with `headers: %j`', async (headers, right) => {
    const { limiter } = standing('api', twoInTen);
    const app = await start({ limits: [{ limiter, headers }] });
    expect(limitHeaders(await send(app))).toEqual(right(1));
    expect(limitHeaders(await send(app))).toEqual(right(0));
    const denied = await send(app);
    expect(denied.status).toBe(429);
    expect(denied.headers['cache-control']).toBe('no-store');
    expect(limitHeaders(denied)).toEqual({ ...right(0), 'retry-after': '8' });
    expect(JSON.parse(denied.text)['violated-policies']).toEqual(['api']);
  });

  it('tells of several policies by name, and charges a request that one of them denies to none', async () => {
    const daily: Policy = { name: 'daily', algorithm: 'fixed-window', limit: 5, window: '1d' };
    const { clock, limiter } = standing('api', { ...twoInTen, name: 'burst' }, daily);
    const app = await start({ limits: [{ limiter, headers: ['legacy', 'draft-8'] }] });
    const policies = '"api-burst";q=2;w=10, "api-daily";q=5;w=86400';

    const first = await send(app);
    expect(limitHeaders(first)).toEqual({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '1',
      'x-ratelimit-reset': '1796055370',
      'ratelimit-policy': policies,
      ratelimit: '"api-burst";r=1;t=8, "api-daily";r=4;t=27838',
    });
    expect(await statuses(app, 3)).toEqual([200, 429, 429]);
    const denied = await send(app);
    expect(limitHeaders(denied)).toEqual({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '1796055370',
      'ratelimit-policy': policies,
      ratelimit: '"api-burst";r=0;t=8, "api-daily";r=3;t=27838',
      'retry-after': '8',
    });
    expect(JSON.parse(denied.text)['violated-policies']).toEqual(['api-burst']);

    clock.advance(10_000);
    expect(await statuses(app, 3)).toEqual([200, 200, 429]);
    clock.advance(10_000);
    expect(await statuses(app, 1)).toEqual([200]);
    // Its fifth request today was the last; the burst has room for one more.
    const tomorrow = await send(app);
    expect(limitHeaders(tomorrow)).toEqual({
      'x-ratelimit-limit': '5',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '1796083200',
      'ratelimit-policy': policies,
      ratelimit: '"api-burst";r=1;t=8, "api-daily";r=0;t=27818',
      'retry-after': '27818',
    });
    expect(JSON.parse(tomorrow.text)).toMatchObject({
      'violated-policies': ['api-daily'],
      retryAfter: 27_818,
    });
    expect(app.handled()).toBe(5);
  });

  it('tells the reset in seconds from now, where that is asked for', async () => {
    const { limiter } = standing('api', twoInTen);
    const app = await start({ limits: [{ limiter, resetFormat: 'seconds' }] });
    for (const left of ['1', '0', '0']) {
      const { headers } = await send(app);
      expect([headers['x-ratelimit-remaining'], headers['x-ratelimit-reset']]).toEqual([left, '8']);
    }
  });

  it('tells who is counted by a hash that needs the secret, the same on both fields', async () => {
    const partitionSecret = 'a secret of all servers';
    const pk = (key: string) =>
      `:${createHmac('sha256', partitionSecret).update(key).digest().subarray(0, 16).toString('base64')}:`;
    const daily: Policy = { name: 'daily', algorithm: 'fixed-window', limit: 5, window: '1d' };
    const { limiter } = standing('api', { ...twoInTen, name: 'burst' }, daily);
    const key = ({ headers }: AnyRequest) => headers['x-user'] as string | undefined;
    const app = await start({
      limits: [{ limiter, key, headers: ['legacy', 'draft-8'], partitionSecret }],
    });
    for (const [user, id] of [
      ['alice', 'alice'],
      ['bob', 'bob'],
    ] as const) {
      const told = limitHeaders(await send(app, { 'x-user': user }));
      const hash = pk(id);
      expect(told['ratelimit-policy']).toBe(
        `"api-burst";q=2;w=10;pk=${hash}, "api-daily";q=5;w=86400;pk=${hash}`,
      );
      expect(told.ratelimit).toBe(`"api-burst";r=1;t=8;pk=${hash}, "api-daily";r=4;t=27838;pk=${hash}`);
    }
    const address = limitHeaders(await send(app)).ratelimit;
    expect(address).toContain(`;pk=${pk('ip:127.0.0.1')}`);
    expect(address).not.toContain('127');
  });

  it('shows in drafts 6 and 7 the policy with the least left', async () => {
    const daily: Policy = { name: 'daily', algorithm: 'fixed-window', limit: 2, window: '1d' };
    for (const [headers, right] of [
      ['draft-6', { 'ratelimit-limit': '2', 'ratelimit-remaining': '1', 'ratelimit-reset': '27838' }],
      ['draft-7', { ratelimit: 'limit=2, remaining=1, reset=27838' }],
    ] as const) {
      const { limiter } = standing('api', { ...twoInTen, name: 'burst', limit: 3 }, daily);
      const app = await start({ limits: [{ limiter, headers }] });
      expect(limitHeaders(await send(app))).toEqual({ 'ratelimit-policy': '3;w=10, 2;w=86400', ...right });
    }
  });

  it('tells a request that can never fit that waiting does not help', async () => {
    const { limiter } = standing('default', twoInTen);
    const cost = (request: { headers: object }) => ('x-big' in request.headers ? 3 : 1);
    const app = await start({ limits: [{ limiter, cost }] });
    const big = await send(app, { 'x-big': '1' });
    expect(big.status).toBe(429);
    expect(limitHeaders(big)).toEqual({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '2',
      // Nothing is used, so nothing has to be waited for: the second in which it was asked, rounded up.
      'x-ratelimit-reset': '1796055363',
    });
    expect(big.headers['cache-control']).toBe('no-store');
    expect(JSON.parse(big.text)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota Exceeded',
      status: 429,
      detail: expect.stringContaining('Waiting does not help'),
      'violated-policies': ['default'],
    });
    const small = await send(app);
    expect(small.status).toBe(200);
    expect(small.headers['x-ratelimit-remaining']).toBe('1');
  });

  it('never admits anything under a limit of 0, and says so', async () => {
    const app = await start({ limits: [{ limit: 0, window: '1m' }] });
    const reply = await send(app);
    expect(reply.status).toBe(429);
    expect(reply.headers).not.toHaveProperty('retry-after');
    expect(reply.headers['x-ratelimit-limit']).toBe('0');
    expect(app.handled()).toBe(0);
  });

  it('says nothing of a policy that is switched off', async () => {
    const app = await start({ limits: [{ limit: Infinity, window: '1m', headers: ['legacy', 'draft-8'] }] });
    const reply = await send(app);
    expect(reply.status).toBe(200);
    expect(limitHeaders(reply)).toEqual({});
    expect(decisionIn(reply)).toMatchObject({ allowed: true, policy: 'default' });
  });

  it('keeps the headers, and the status, of a response that failed further on', async () => {
    const { limiter } = standing('default', twoInTen);
    const app = await start({ limits: [{ limiter }] });
    const reply = await send(app, { 'x-fail': '1' });
    expect(reply.status).toBe(500);
    expect(limitHeaders(reply)).toEqual({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '1',
      'x-ratelimit-reset': '1796055370',
    });
    expect(app.errors).toEqual([new Error('The route failed.')]);
  });

  it('refuses HEAD with the same headers and no body', async () => {
    const { limiter } = standing('default', twoInTen);
    const app = await start({ limits: [{ limiter }] });
    await send(app);
    const second = await send(app, {}, 'head');
    expect(second.status).toBe(200);
    expect(second.headers['x-ratelimit-remaining']).toBe('0');
    const third = await send(app, {}, 'head');
    expect(third.status).toBe(429);
    expect(third.text).toBe('');
    expect(third.headers['retry-after']).toBe('8');
    expect(third.headers['content-type']).toMatch(/^application\/problem\+json/);
  });

  it('counts OPTIONS and POST like everything else, unless they are skipped', async () => {
    const app = await start({ limits: [{ limit: 2, window: '1h' }] });
    expect((await send(app, {}, 'options')).headers['x-ratelimit-remaining']).toBe('1');
    expect((await send(app, {}, 'post')).headers['x-ratelimit-remaining']).toBe('0');
    expect((await send(app, {}, 'options')).status).toBe(429);
    expect((await send(app, {}, 'post')).status).toBe(429);

    const lenient = await start({
      limits: [{ limit: 1, window: '1h', skip: ({ method }) => method === 'OPTIONS' }],
    });
    const seen = [];
    for (const method of ['options', 'get', 'options', 'get'] as const)
      seen.push((await send(lenient, {}, method)).status);
    expect(seen).toEqual([200, 200, 200, 429]);
  });
}
