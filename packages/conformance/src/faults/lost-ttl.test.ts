import { createLimiter, type Decision, type Limiter, type Policy } from '@sluice/core';
import type { Redis } from 'ioredis';
import { single } from '../backends.js';
import { type Setting, settings } from '../settings.js';
import { itLeavesKeysThatEnd } from '../ttl.js';

const LIMIT = 5;
const DAY = 86_400_000;

const backend = single('lost-ttl');
const client = backend.client as Redis;
afterAll(() => backend.close());

/** What takes the TTL away: an operator's mistake, and a dump that was restored without. */
const losses: Readonly<Record<string, (key: string) => Promise<unknown>>> = {
  PERSIST: (key) => client.persist(key),
  'RESTORE without a TTL': async (key) => {
    const dump = (await client.dumpBuffer(key)) as Buffer;
    return client.restore(key, 0, dump, 'REPLACE');
  },
};

let names = 0;

/** A limiter of two such policies, and its two keys. */
function open(
  policy: Setting['policy'],
  window: number,
): { limiter: Limiter<true>; keys: readonly string[] } {
  names += 1;
  const name = `t${names}`;
  const policies = ['one', 'two'].map((each): Policy => ({ ...policy(LIMIT, window), name: each }));
  const store = backend.makeStore();
  const limiter = createLimiter({ name, policies, store, onStoreError: 'throw' });
  return { limiter, keys: ['one', 'two'].map((each) => `lost-ttl:{key}:${name}:${each}`) };
}

/** Fails unless every key lives at least until its policy is as new, and at most a second longer. */
async function expectMended(decision: Decision, keys: readonly string[], sinceMs: number): Promise<void> {
  for (const [i, key] of keys.entries()) {
    const ttl = await client.pttl(key);
    const { resetMs } = decision.policies[i];
    // The TTL was set when the decision was made, and has run since.
    expect(ttl).toBeGreaterThan(resetMs - (performance.now() - sinceMs) - 1);
    expect(ttl).toBeLessThanOrEqual(resetMs + 1000);
  }
}

async function lose(way: string, keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    await losses[way](key);
    expect(await client.pttl(key)).toBe(-1);
  }
}

async function use(limiter: Limiter<true>, times: number): Promise<void> {
  for (let i = 0; i < times; i++) expect(await limiter.consume('key')).toMatchObject({ allowed: true });
}

const cases = Object.keys(losses).flatMap((way) => settings.map((setting) => ({ way, ...setting })));

// A key without a TTL would stay for ever, but it means no more than its state says: what is stale counts as absent,
// and nobody is locked out. The next `consume` gives it the TTL that it should have, whatever it decides.
describe.each(cases)('Keys that lost their TTL by $way, $title,', ({ way, policy }) => {
  it('have one again after the next consume, which is admitted', async () => {
    const { limiter, keys } = open(policy, DAY);
    await use(limiter, 2);
    await lose(way, keys);
    const since = performance.now();
    const decision = await limiter.consume('key');
    expect(decision).toMatchObject({ allowed: true, remaining: 2 });
    await expectMended(decision, keys, since);
  });

  it('have one again after the next consume, which is denied', async () => {
    const { limiter, keys } = open(policy, DAY);
    await use(limiter, LIMIT);
    await lose(way, keys);
    const since = performance.now();
    const decision = await limiter.consume('key');
    expect(decision).toMatchObject({ allowed: false, remaining: 0 });
    await expectMended(decision, keys, since);
  });

  it('lock nobody out when their window is long over', async () => {
    const { limiter, keys } = open(policy, 40);
    const { resetMs } = await limiter.consume('key', { cost: LIMIT });
    await lose(way, keys);
    await new Promise((resolve) => setTimeout(resolve, resetMs + 1));
    const since = performance.now();
    const decision = await limiter.consume('key');
    expect(decision).toMatchObject({ allowed: true, remaining: LIMIT - 1 });
    await expectMended(decision, keys, since);
  });
});

itLeavesKeysThatEnd(backend);
