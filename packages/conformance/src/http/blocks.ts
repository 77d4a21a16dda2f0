/**
 * What a client is told that is blocked.
 *
 * @module
 */

import { createLimiter, manualClock } from '@sluice/core';
import { limitHeaders, send, statuses } from './client.js';
import type { Start } from './demo.js';

/** 2.5 s into a window of 10 s. */
const NOW = 1_796_055_362_500;

const ABNORMAL = {
  type: 'https://iana.org/assignments/http-problem-types#abnormal-usage-detected',
  title: 'Abnormal Usage Detected',
  status: 429,
};

export function blocks(start: Start): void {
  it('says that the policy has blocked it, why, and until when', async () => {
    const clock = manualClock(NOW);
    const block = { after: 2, for: '10m' } as const;
    const policies = [{ algorithm: 'fixed-window', limit: 1, window: '10s', block } as const];
    const limiter = createLimiter({ policies, clock });
    const app = await start({ limits: [{ limiter }] });
    expect(await statuses(app, 2)).toEqual([200, 429]);

    const blocked = await send(app);
    expect(blocked.status).toBe(429);
    // 600 s from now.
    expect(limitHeaders(blocked)).toEqual({
      'x-ratelimit-limit': '1',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '1796055963',
      'retry-after': '600',
    });
    expect(JSON.parse(blocked.text)).toEqual({
      ...ABNORMAL,
      detail: 'This client is blocked, after too many requests over its limit. Try again in 600 seconds.',
      'violated-policies': ['default'],
      blockedBy: 'policy',
      retryAfter: 600,
    });
    clock.advance(600_000);
    expect(await statuses(app, 1)).toEqual([200]);
  });

  it('says that it has been blocked by hand, for a time or for good', async () => {
    const limiter = createLimiter({ policies: [{ limit: 9, window: '10s' }], clock: manualClock(NOW) });
    const app = await start({ limits: [{ limiter, key: () => 'k' }] });
    limiter.block('k', '1m');
    expect(JSON.parse((await send(app)).text)).toEqual({
      ...ABNORMAL,
      detail: 'This client is blocked by the operator of this service. Try again in 60 seconds.',
      'violated-policies': ['default'],
      blockedBy: 'hand',
      retryAfter: 60,
    });

    limiter.block('k', Infinity);
    const forGood = await send(app);
    // The end of the year 9999, as nothing later is written as a date.
    expect(limitHeaders(forGood)).toEqual({
      'x-ratelimit-limit': '9',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(Date.UTC(10_000, 0) / 1000 - 1),
    });
    expect(JSON.parse(forGood.text)).toEqual({
      ...ABNORMAL,
      detail: 'This client is blocked by the operator of this service. Waiting does not help.',
      'violated-policies': ['default'],
      blockedBy: 'hand',
    });
    limiter.unblock('k');
    expect(await statuses(app, 1)).toEqual([200]);
  });

  it('takes `block` among its own options', async () => {
    const app = await start({
      limits: [{ algorithm: 'fixed-window', limit: 0, window: '10s', block: { after: 1, for: '1h' } }],
    });
    // What asks for more than there ever is, is no strike.
    expect(JSON.parse((await send(app)).text)).not.toHaveProperty('blockedBy');
    const other = await start({ limits: [{ limit: 1, window: '1d', block: { after: 1, for: '100d' } }] });
    expect(await statuses(other, 1)).toEqual([200]);
    expect(JSON.parse((await send(other)).text)).toMatchObject({
      blockedBy: 'policy',
      retryAfter: 8_640_000,
    });
  });
}
