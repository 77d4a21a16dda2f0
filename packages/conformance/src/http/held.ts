/**
 * Requests of a leaky bucket, on their way to their turn.
 *
 * @module
 */

import { createLimiter, type Limiter, manualClock } from '@sluice/core';
import { come, limitHeaders, send, settle } from './client.js';
import type { AnyOptions, Start } from './demo.js';
import { SlowStore } from './stores.js';

/** One an hour, by a clock that stands: whoever comes second is held for longer than a test lasts. */
const hourly = { algorithm: 'leaky-bucket', limit: 1, window: '1h', capacity: 5 } as const;
const open = () => createLimiter({ policies: [hourly], clock: manualClock(0) });

export function holding(start: Start): void {
  const on = (limiter: Limiter, options: Partial<AnyOptions> = {}) =>
    start({ limits: [{ limiter, key: () => 'k', ...options } as AnyOptions] });

  /** Until so much is left. */
  async function leaves(limiter: Limiter<false>, left: number): Promise<void> {
    while (limiter.peek('k').remaining !== left) await settle();
  }

  it('no request whose client has left, and gives its place back', async () => {
    const limiter = open();
    const app = await on(limiter);
    expect((await send(app)).status).toBe(200);
    const leave = await come(app);
    await leaves(limiter, 3);
    await leave();
    expect(limiter.peek('k').remaining).toBe(4);
    expect([app.handled(), app.errors]).toEqual([1, []]);
  });

  it('the place of a request whose client has left for those that queued behind it', async () => {
    const limiter = open();
    const app = await on(limiter);
    await send(app);
    const second = await come(app);
    await leaves(limiter, 3);
    const third = await come(app);
    await leaves(limiter, 2);
    await second();
    // The third has been told when its turn is: nothing before it can be given away.
    expect(limiter.peek('k').remaining).toBe(2);
    await third();
    expect(limiter.peek('k').remaining).toBe(3);
    expect([app.handled(), app.errors]).toEqual([1, []]);
  });

  it('no request whose client has left while the store was asked', async () => {
    const store = new SlowStore();
    const limiter = createLimiter({ policies: [hourly], store, clock: manualClock(0) });
    const app = await on(limiter);
    await send(app);
    store.shut();
    const asked = store.asked();
    const leave = await come(app);
    await asked;
    await leave();
    store.unlock();
    await settle();
    expect((await limiter.peek('k')).remaining).toBe(4);
    expect([app.handled(), app.errors]).toEqual([1, []]);
  });

  it('none whose client left while it waited behind another on one connection, and gives its place back', async () => {
    const limiter = open();
    let served = 0;
    const app = await start({
      limits: [{ limiter, key: () => 'k', maxHeld: 1 }],
      // The first stream goes on for ever.
      answer: (response) => {
        served += 1;
        response.write('begun');
      },
    });
    const leave = await come(app, 2);
    await leaves(limiter, 3);
    await leave();
    expect(limiter.peek('k').remaining).toBe(4);
    // And there is room for another.
    const other = await come(app);
    await leaves(limiter, 3);
    await other();
    expect([served, app.errors]).toEqual([1, []]);
  });

  it('so many and no more: the next gets a 503 that says when to come, and its place back', async () => {
    const limiter = open();
    const app = await on(limiter, { maxHeld: 1, body: 'Over your limit.' });
    expect((await send(app)).status).toBe(200);
    const leave = await come(app);
    await leaves(limiter, 3);
    const reply = await send(app);
    expect(reply.status).toBe(503);
    // Two hours: it would have been the third.
    expect(limitHeaders(reply)).toMatchObject({ 'retry-after': '7200', 'x-ratelimit-limit': '5' });
    expect(reply.headers['cache-control']).toBe('no-store');
    expect(JSON.parse(reply.text)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      title: 'Temporary Reduced Capacity',
      status: 503,
      detail: 'Too many requests are waiting. Try again in 7200 seconds.',
      retryAfter: 7200,
    });
    expect(limiter.peek('k').remaining).toBe(3);
    // There is room for another when one has left.
    await leave();
    const other = await come(app);
    await leaves(limiter, 3);
    await other();
    expect([app.handled(), app.errors]).toEqual([1, []]);
  });

  it('nobody, where none may be held', async () => {
    for (const own of [{}, { handler: () => 'busy' }, { throw: true }]) {
      const limiter = open();
      const limits = [{ limiter, key: () => 'k', maxHeld: 0, ...own }];
      const app = await start({ limits, plainErrors: true });
      expect((await send(app)).status).toBe(200);
      const reply = await send(app);
      expect([own, reply.status, reply.headers['retry-after']]).toEqual([own, 503, '3600']);
      if ('handler' in own) expect(reply.text).toBe('busy');
      expect([app.handled(), limiter.peek('k').remaining]).toEqual([1, 4]);
    }
  });

  it('a request that may not count as any other, and gives it back when it was answered', async () => {
    const limiter = createLimiter({
      policies: [{ algorithm: 'leaky-bucket', limit: 100, window: '1s', capacity: 5 }],
      clock: manualClock(0),
    });
    const app = await on(limiter, { countOnly: 'failed' });
    expect((await send(app, { 'x-fail': '1' })).status).toBe(500);
    for (let i = 0; i < 3; i++) {
      expect((await send(app)).status).toBe(200);
      await settle();
      expect(limiter.peek('k').remaining).toBe(4);
    }
  });
}
