/**
 * Costs that are known afterwards, and requests that cost nothing.
 *
 * @module
 */

import { createLimiter } from '@sluice/core';
import { limitHeaders, send, settle, statuses } from './client.js';
import type { Start } from './demo.js';
import { BrokenStore, SlowStore } from './stores.js';

export function settling(start: Start): void {
  it('what a request really cost, where the decision alone is at hand', async () => {
    const limiter = createLimiter({ policies: [{ limit: 20, window: '1h' }] });
    const costs = [5, 1, 0];
    const left: (number | undefined)[] = [];
    const app = await start({
      limits: [{ limiter, key: () => 'k', cost: 2 }],
      answer: (response, decision) => {
        left.push(decision?.remaining);
        decision?.settle(costs.shift()!);
        response.end();
      },
    });
    for (let i = 0; i < 3; i++) await send(app);
    expect(left).toEqual([18, 13, 12]);
    expect(limiter.peek('k').remaining).toBe(14);
  });

  it('what a request really cost, on a store that answers later, and on none', async () => {
    for (const store of [new SlowStore(), new BrokenStore()]) {
      const limiter = createLimiter({ policies: [{ limit: 20, window: '1h' }], store });
      const app = await start({
        limits: [{ limiter, key: () => 'k' }],
        answer: (response, decision) => {
          Promise.resolve(decision?.settle(7)).then(() => response.end());
        },
      });
      await send(app);
      expect((await limiter.peek('k')).remaining).toBe(13);
    }
  });

  it('no preflight, unless told to', async () => {
    const preflight = { origin: 'https://shop.example', 'access-control-request-method': 'PUT' };
    const limit = { limit: 1, window: '1h' } as const;
    const app = await start({ limits: [limit] });
    for (let i = 0; i < 3; i++) {
      const reply = await send(app, preflight, 'options');
      expect([reply.status, limitHeaders(reply)]).toEqual([200, {}]);
    }
    // One part of it alone makes none.
    const { origin, ...method } = preflight;
    expect((await send(app, { origin }, 'options')).status).toBe(200);
    expect((await send(app, method, 'options')).status).toBe(429);
    expect((await send(app, preflight)).status).toBe(429);

    const strict = await start({ limits: [{ ...limit, preflight: true }] });
    expect((await send(strict, preflight, 'options')).status).toBe(200);
    expect((await send(strict, preflight, 'options')).status).toBe(429);
    expect(await statuses(strict, 1)).toEqual([429]);
  });

  it('nothing twice: a request that does not count gives back all that settling left', async () => {
    const limiter = createLimiter({ policies: [{ limit: 20, window: '1h' }] });
    const app = await start({
      limits: [{ limiter, key: () => 'k', cost: 2, countOnly: 'failed' }],
      answer: (response, decision) => {
        decision?.settle(6);
        // Who settles when the response is over does so first.
        response.once('close', () => decision?.settle(9));
        response.statusCode = limiter.peek('k').remaining === 14 ? 200 : 500;
        response.end();
      },
    });
    expect((await send(app)).status).toBe(200);
    await settle();
    expect(limiter.peek('k').remaining).toBe(20);
  });
}
