import { createLimiter, type LeakyBucketPolicy, manualClock } from '@sluice/core';
import fc from 'fast-check';
import { single } from './backends.js';
import { runs } from './budget.js';

const open = (policy: Omit<LeakyBucketPolicy, 'algorithm'>) => {
  const clock = manualClock(0);
  const limiter = createLimiter({ policies: [{ algorithm: 'leaky-bucket', ...policy }], clock });
  return { clock, limiter, limit: limiter.peek('key').limit };
};

describe('maxDelay', () => {
  it.each([
    // Ten a second: a unit every 100 ms.
    ['takes one more than leave within it', { limit: 10, window: '1s', maxDelay: '500ms' }, 6],
    ['takes no part of one more', { limit: 10, window: '1s', maxDelay: 599 }, 6],
    ['takes one where nothing leaves within it', { limit: 10, window: '1s', maxDelay: 99 }, 1],
    ['makes the queue no longer than it is', { limit: 10, window: '1s', maxDelay: '1m' }, 10],
    ['nor longer than its capacity', { limit: 10, window: '1s', maxDelay: 500, capacity: 4 }, 4],
    ['shortens a capacity', { limit: 10, window: '1s', maxDelay: 500, capacity: 40 }, 6],
    ['holds beyond 2^53', { limit: 2 ** 52, window: 2 ** 40, maxDelay: 2 ** 30 }, 2 ** 42 + 1],
    ['admits nothing where nothing is', { limit: 0, window: '1s', maxDelay: 500 }, 0],
  ] as const)('%s', (_, policy, capacity) => {
    expect(open(policy).limit).toBe(capacity);
  });

  it('is kept by every request that takes a place, and no longer queue would keep it', () => {
    const whole = (most: number) => fc.integer({ min: 1, max: most });
    const steps = fc.array(fc.tuple(fc.nat(400), whole(3)), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(whole(50), whole(1000), whole(3000), steps, (limit, window, maxDelay, requests) => {
        const { clock, limiter, limit: capacity } = open({ limit, window, maxDelay });
        for (const [elapsed, cost] of requests) {
          clock.advance(elapsed);
          const { allowed, delayMs } = limiter.consume('key', { cost });
          if (allowed) expect(delayMs).toBeLessThanOrEqual(maxDelay);
        }
        if (capacity === limit) return;
        const longer = open({ limit, window, capacity: capacity + 1 });
        longer.limiter.consume('key', { cost: capacity });
        expect(longer.limiter.consume('key').delayMs).toBeGreaterThan(maxDelay);
      }),
      runs(500),
    );
  });

  it('goes by the limit that a request brings', () => {
    const { limiter } = open({ limit: 10, window: '1s', maxDelay: 500 });
    expect(limiter.peek('key', { limit: 100 }).limit).toBe(51);
    expect(limiter.peek('key', { limit: 2 }).limit).toBe(2);
  });

  it('decides the same on Redis', async () => {
    const backend = single('max-delay');
    const clock = manualClock(1_000_000);
    const policies = [{ algorithm: 'leaky-bucket', limit: 10, window: '1s', maxDelay: 500 }] as const;
    const memory = createLimiter({ policies, clock });
    const redis = createLimiter({ policies, clock, store: backend.makeStore(), onStoreError: 'throw' });
    const delays: number[] = [];
    for (let i = 0; i < 7; i++) {
      const decision = await redis.consume('key');
      expect(decision).toEqual(memory.consume('key'));
      delays.push(decision.allowed ? decision.delayMs : -1);
    }
    expect(delays).toEqual([0, 100, 200, 300, 400, 500, -1]);
    await backend.close();
  });

  it('tells the time in which all of the queue leaves as its window', () => {
    const { limiter } = open({ limit: 10, window: '1s', maxDelay: 500 });
    expect(limiter.peek('key').policies[0].windowMs).toBe(600);
  });
});
