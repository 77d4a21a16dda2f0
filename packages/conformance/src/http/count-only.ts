/**
 * Requests that count by what came of them.
 *
 * @module
 */

import type { ServerResponse } from 'node:http';
import { createLimiter, type Limiter } from '@sluice/core';
import { come, send, settle, statuses } from './client.js';
import type { AnyOptions, Start } from './demo.js';
import { SlowStore } from './stores.js';

const times = (count: number, status: number) => Array(count).fill(status);
const failing = { 'x-fail': '1' };

export function countingOnly(start: Start): void {
  const three = (): Limiter<false> => createLimiter({ policies: [{ limit: 3, window: '1h' }] });

  it('requests that failed', async () => {
    const limiter = three();
    const app = await start({ limits: [{ limiter, key: () => 'k', countOnly: 'failed' }] });
    expect(await statuses(app, 5)).toEqual(times(5, 200));
    expect(limiter.peek('k').remaining).toBe(3);
    expect(await statuses(app, 3, failing)).toEqual(times(3, 500));
    // Who is denied is charged nothing, so there is nothing to give back either.
    expect(await statuses(app, 3)).toEqual(times(3, 429));
    expect(limiter.peek('k').remaining).toBe(0);
  });

  it('requests that succeeded', async () => {
    const limiter = three();
    const app = await start({ limits: [{ limiter, key: () => 'k', countOnly: 'succeeded' }] });
    expect(await statuses(app, 5, failing)).toEqual(times(5, 500));
    expect(limiter.peek('k').remaining).toBe(3);
    expect(await statuses(app, 4)).toEqual([...times(3, 200), 429]);
  });

  it('a status from 400 on as failed, and every other as succeeded', async () => {
    for (const [status, failed] of [
      [200, false],
      [304, false],
      [399, false],
      [400, true],
      [404, true],
      [503, true],
    ] as const) {
      for (const countOnly of ['failed', 'succeeded'] as const) {
        const limiter = three();
        const app = await start({
          limits: [{ limiter, key: () => 'k', countOnly }],
          answer: (response) => response.writeHead(status).end(),
        });
        await send(app);
        await settle();
        const counted = (countOnly === 'failed') === failed;
        expect([status, countOnly, limiter.peek('k').remaining]).toEqual([
          status,
          countOnly,
          counted ? 2 : 3,
        ]);
      }
    }
  });

  it('what a function says, asked once per request when all of the response was sent', async () => {
    for (const later of [false, true]) {
      const limiter = three();
      const asked: unknown[] = [];
      const app = await start({
        limits: [
          {
            limiter,
            key: () => 'k',
            countOnly: ({ headers }, response, complete) => {
              asked.push([response.statusCode, complete]);
              const counted = 'x-count' in headers;
              return later ? Promise.resolve(counted) : counted;
            },
          },
        ],
      });
      expect(await statuses(app, 2)).toEqual(times(2, 200));
      expect(await statuses(app, 1, { 'x-count': '1', ...failing })).toEqual([500]);
      await settle();
      expect(asked).toEqual([
        [200, true],
        [200, true],
        [500, true],
      ]);
      expect(limiter.peek('k').remaining).toBe(2);
    }
  });

  it('also a request whose client left before it had all of the response, unless a function says no', async () => {
    for (const countOnly of ['failed', 'succeeded', () => true, () => false] as const) {
      const limiter = three();
      let wrote = () => {};
      const begun = new Promise<void>((resolve) => {
        wrote = resolve;
      });
      const completes: boolean[] = [];
      const app = await start({
        limits: [
          {
            limiter,
            key: () => 'k',
            countOnly:
              typeof countOnly === 'string'
                ? countOnly
                : (_request, _response, complete) => {
                    completes.push(complete);
                    return countOnly();
                  },
          },
        ],
        // The stream goes on for ever.
        answer: (response) => response.write('begun', wrote),
      });
      const leave = await come(app);
      await begun;
      await leave();
      const counted = typeof countOnly === 'string' || countOnly();
      expect(limiter.peek('k').remaining).toBe(counted ? 2 : 3);
      expect(completes).toEqual(typeof countOnly === 'string' ? [] : [false]);
    }
  });

  it('also requests whose client left while they waited behind another on one connection', async () => {
    for (const counted of [true, false]) {
      const limiter = three();
      const completes: boolean[] = [];
      let answered = 0;
      let all = () => {};
      const reached = new Promise<void>((resolve) => {
        all = resolve;
      });
      const app = await start({
        limits: [
          {
            limiter,
            key: () => 'k',
            countOnly: (_request, _response, complete) => {
              completes.push(complete);
              return counted;
            },
          },
        ],
        // The first stream goes on for ever, and the others wait for it.
        answer: (response) => {
          answered += 1;
          if (answered === 1) response.write('begun');
          else response.end('done');
          if (answered === 3) all();
        },
      });
      const leave = await come(app, 3);
      await reached;
      await leave();
      expect(completes).toEqual([false, false, false]);
      expect(limiter.peek('k').remaining).toBe(counted ? 0 : 3);
    }
  });

  it('also a request whose client left while the store was asked, and gives back no more than once', async () => {
    for (const counted of [true, false]) {
      const store = new SlowStore();
      const limiter = createLimiter({ policies: [{ limit: 3, window: '1h' }], store });
      const completes: boolean[] = [];
      const countOnly: AnyOptions['countOnly'] = (_request, _response, complete) => {
        completes.push(complete);
        return counted;
      };
      const app = await start({ limits: [{ limiter, key: () => 'k', countOnly }] });
      expect((await limiter.consume('k')).remaining).toBe(2);
      store.shut();
      const asked = store.asked();
      const leave = await come(app);
      await asked;
      await leave();
      store.unlock();
      await settle();
      expect(completes).toEqual([false]);
      expect((await limiter.peek('k')).remaining).toBe(counted ? 1 : 2);
      expect(app.errors).toEqual([]);
    }
  });

  it('by one listener, however many limiters wait for the end of the response', async () => {
    const listeners = async (limits: readonly AnyOptions[]) => {
      let count = 0;
      const answer = (response: ServerResponse) => {
        count = response.listenerCount('close');
        response.end();
      };
      const app = await start({ limits, answer });
      await send(app);
      return count;
    };
    const limits = (options: object) =>
      Array.from({ length: 12 }, (_, i): AnyOptions => ({ limiter: three(), key: () => `${i}`, ...options }));
    const without = await listeners(limits({}));
    expect(await listeners(limits({ countOnly: 'failed' }))).toBe(without + 1);
  });

  it('every request, with a warning, when the function goes wrong', async () => {
    const accidents: (() => unknown)[] = [
      () => {
        throw new Error('no database');
      },
      () => Promise.reject(new Error('no database')),
      () => {
        throw undefined;
      },
      () => undefined,
      async () => 0,
    ];
    for (const accident of accidents) {
      const limiter = three();
      const countOnly = accident as () => boolean;
      const app = await start({ limits: [{ limiter, key: () => 'k', countOnly }] });
      expect(await statuses(app, 4)).toEqual([...times(3, 200), 429]);
      expect(app.errors).toEqual([]);
    }
  });
}
