import { algorithms, settings } from '../settings.js';
import type { Suite } from './suite.js';

export function requestLimit(suite: Suite): void {
  describe.each(algorithms)('A limit for one request, $title', ({ policy }) => {
    it("stands in for the policy's own, higher or lower, on a key that is new", async () => {
      const { limiter } = suite.open(policy(3, 1000), 250);
      for (const limit of [1, 2, 5]) {
        const key = `key ${limit}`;
        expect(await limiter.consume(key, { limit, cost: limit + 1 })).toMatchObject({
          allowed: false,
          limit,
          remaining: limit,
          retryAfterMs: Infinity,
        });
        expect(await limiter.consume(key, { limit, cost: limit })).toMatchObject({
          allowed: true,
          remaining: 0,
        });
        expect(await limiter.consume(key, { limit })).toMatchObject({ allowed: false, limit, remaining: 0 });
      }
    });

    it('counts what all have used, whatever their limits were', async () => {
      const { limiter } = suite.open(policy(3, 1000), 250);
      await limiter.consume('key', { limit: 2, cost: 2 });
      expect(await limiter.consume('key', { limit: 2 })).toMatchObject({ allowed: false, remaining: 0 });
      expect(await limiter.consume('key')).toMatchObject({ allowed: true, limit: 3, remaining: 0 });
      expect(await limiter.consume('key', { limit: 6 })).toMatchObject({
        allowed: true,
        limit: 6,
        remaining: 2,
      });
      expect(await limiter.consume('key', { limit: 2 })).toMatchObject({ allowed: false, remaining: 0 });
    });

    it("forgives nothing when it takes turns with the policy's own", async () => {
      const { limiter } = suite.open(policy(3, 1000), 250);
      let admitted = 0;
      for (let i = 0; i < 10; i++) {
        if ((await limiter.consume('key', { limit: 6 })).allowed) admitted += 1;
        if ((await limiter.consume('key')).allowed) admitted += 1;
        if ((await limiter.consume('key', { limit: 1 })).allowed) admitted += 1;
      }
      expect(admitted).toBe(6);
    });

    it('of 0 denies for ever, of Infinity admits and counts nothing', async () => {
      const { limiter } = suite.open(policy(3, 1000), 250);
      await limiter.consume('key', { cost: 2 });
      expect(await limiter.consume('key', { limit: 0 })).toMatchObject({
        allowed: false,
        limit: 0,
        remaining: 0,
        retryAfterMs: Infinity,
      });
      expect(await limiter.consume('key', { limit: Infinity, cost: 100 })).toMatchObject({
        allowed: true,
        limit: Infinity,
        remaining: Infinity,
        retryAfterMs: 0,
        resetMs: 0,
      });
      expect(await limiter.peek('key')).toMatchObject({ limit: 3, remaining: 1 });
    });
  });

  describe('A limit for one request', () => {
    it('goes by policy name where there are several, and leaves the others theirs', async () => {
      const policies = settings.map(({ title, policy }) => ({ ...policy(3, 1000), name: title }));
      const { limiter } = suite.open(policies, 250);
      const limit = { 'fixed-window': 1, gcra: Infinity };
      const { policies: each } = await limiter.consume('key', { limit });
      expect(each.map((policy) => policy.remaining)).toEqual(
        policies.map(({ name }) => (name === 'fixed-window' ? 0 : name === 'gcra' ? Infinity : 2)),
      );
      expect(await limiter.consume('key', { limit })).toMatchObject({
        allowed: false,
        policy: 'fixed-window',
      });
      const after = (await limiter.peek('key')).policies.map((policy) => policy.remaining);
      expect(after).toEqual(policies.map(({ name }) => (name === 'gcra' ? 3 : 2)));
    });
  });
}
