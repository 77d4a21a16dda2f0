import { createLimiter, type Limiter, manualClock, type Policy } from '@sluice/core';
import { RedisStore } from '@sluice/core/redis';
import type { Redis } from 'ioredis';
import { single } from './backends.js';
import { settings } from './settings.js';
import { itLeavesKeysThatEnd, lives } from './ttl.js';

const backend = single('keys');
const client = backend.client as Redis;
afterAll(() => backend.close());

let names = 0;

interface Bench {
  readonly limiter: Limiter<true>;
  /** The key of `id` in Redis, under the lone default policy. */
  keyOf(id: string): string;
}

function open(policies: readonly Policy[]): Bench {
  names += 1;
  const name = `t${names}`;
  const limiter = createLimiter({
    onStoreError: 'throw',
    name,
    policies,
    store: backend.makeStore(),
    clock: manualClock(5000),
  });
  return { limiter, keyOf: (id) => `keys:{${id}}:${name}` };
}

async function keysOf(prefix: string): Promise<string[]> {
  return (await lives({ ...backend, prefix })).map(({ key }) => key).sort();
}

describe('The keys in Redis', () => {
  it('are named by prefix, client and limiter, and by the policy unless it is the lone default', async () => {
    const store = new RedisStore({ client, prefix: 'named', timeout: '20s' });
    const [minute, day] = [
      { limit: 2, window: 60_000 },
      { name: 'daily', limit: 9, window: 86_400_000 },
    ];
    const lone = createLimiter({ onStoreError: 'throw', name: 'lone', policies: [minute], store });
    const named = createLimiter({ onStoreError: 'throw', name: 'named', policies: [day], store });
    const pair = createLimiter({ onStoreError: 'throw', name: 'pair', policies: [minute, day], store });
    for (const limiter of [lone, named, pair]) await limiter.consume('user:42');
    expect(await keysOf('named')).toEqual([
      'named:{user:42}:lone',
      'named:{user:42}:named:daily',
      'named:{user:42}:pair:daily',
      'named:{user:42}:pair:default',
    ]);
  });

  it('begin with rl where no prefix is given', async () => {
    const store = new RedisStore({ client, timeout: '20s' });
    await createLimiter({
      onStoreError: 'throw',
      name: 'keys-test',
      policies: [{ limit: 1, window: 1000 }],
      store,
    }).consume('a');
    expect(await client.exists('rl:{a}:keys-test')).toBe(1);
  });

  // MEMORY USAGE adds the key and an object: up to 12 bytes make 88 with a key of up to 28 characters, up to 44 make 120.
  it.each([
    ['fixed-window', 25],
    ['sliding-window-counter', 33],
    ['token-bucket', 41],
    ['leaky-bucket', 41],
    ['gcra', 12],
  ] as const)('hold as little as is documented: %s, %i bytes', async (algorithm, bytes) => {
    const { limiter, keyOf } = open([{ algorithm, limit: 100, window: '1m' }]);
    await limiter.consume('a');
    expect(await client.strlen(keyOf('a'))).toBe(bytes);
    await limiter.consume('a');
    expect(await client.strlen(keyOf('a'))).toBe(bytes);
  });

  // Limit and window are divided by what they have in common. In 1970 the arrival time is 2.05e12 ms short of the epoch.
  it.each<[title: string, numbers: { limit: number; window: number; burst?: number }, bytes: number]>([
    ['5 per 3,000 ms: narrow', { limit: 100, window: 60_000 }, 12],
    ['a burst that fits two bytes', { limit: 1, window: 1000, burst: 65_535 }, 12],
    ['a burst that does not', { limit: 1, window: 1000, burst: 65_536 }, 33],
    ['a period that does not fit two bytes', { limit: 1, window: 65_536 }, 33],
    ['a rate of 49, at which the arrival time is below -1e14', { limit: 49, window: 1000 }, 33],
  ])('hold a gcra state in as few bytes as it fits, and it says the same: %s', async (_, numbers, bytes) => {
    const { limiter, keyOf } = open([{ algorithm: 'gcra', ...numbers }]);
    const capacity = numbers.burst ?? numbers.limit;
    await limiter.consume('a');
    expect(await client.strlen(keyOf('a'))).toBe(bytes);
    const resetMs = Math.ceil(numbers.window / numbers.limit);
    expect(await limiter.peek('a')).toMatchObject({ remaining: capacity - 1, resetMs });
    expect(await limiter.consume('a', { cost: capacity - 1 })).toMatchObject({ remaining: 0 });
    expect(await limiter.consume('a')).toMatchObject({ allowed: false, retryAfterMs: resetMs });
  });

  it('hold a digest of 22 characters where the name of the client could do harm', async () => {
    const store = new RedisStore({ client, prefix: 'hashed', timeout: '20s' });
    const limiter = createLimiter({
      onStoreError: 'throw',
      name: 'api',
      policies: [{ limit: 9, window: 60_000 }],
      store,
    });
    const harmful = [
      '',
      '}x',
      '{',
      'a\0',
      '\x85',
      '\ud800',
      '\ud801',
      '#x',
      'x'.repeat(129),
      'x'.repeat(1 << 20),
    ];
    for (const id of harmful) await limiter.consume(id);
    const keys = await keysOf('hashed');
    expect(keys).toHaveLength(harmful.length);
    for (const key of keys) expect(key).toMatch(/^hashed:\{#[\w-]{22}\}:api$/);
  });

  it('hold the name of the client as it is where it does no harm', async () => {
    const store = new RedisStore({ client, prefix: 'plain', timeout: '20s' });
    const limiter = createLimiter({
      onStoreError: 'throw',
      name: 'api',
      policies: [{ limit: 9, window: 60_000 }],
      store,
    });
    const harmless = ['ip:203.0.113.7', 'é', '🐙', '__proto__', 'a b', 'x'.repeat(128)];
    for (const id of harmless) await limiter.consume(id);
    expect(await keysOf('plain')).toEqual(harmless.map((id) => `plain:{${id}}:api`).sort());
  });
});

describe.each(settings)('What is not admitted writes nothing, $title', ({ policy }) => {
  it('neither a peek, nor what costs nothing, nor what can never fit makes a key', async () => {
    const { limiter, keyOf } = open([policy(3, 60_000)]);
    await limiter.peek('a');
    await limiter.consume('a', { cost: 0 });
    await limiter.consume('a', { cost: 4 });
    await limiter.consume('a', { limit: 0 });
    await limiter.consume('a', { limit: Infinity });
    expect(await client.exists(keyOf('a'))).toBe(0);
  });

  it('a denied request leaves the key as it is, to the byte', async () => {
    const { limiter, keyOf } = open([policy(3, 60_000)]);
    await limiter.consume('a', { cost: 2 });
    const before = await client.getBuffer(keyOf('a'));
    await limiter.consume('a', { cost: 2 });
    await limiter.peek('a');
    expect(await client.getBuffer(keyOf('a'))).toEqual(before);
  });

  it('a refund makes no key, and one that leaves nothing used deletes it, as a reset does', async () => {
    const { limiter, keyOf } = open([policy(3, 60_000)]);
    const first = await limiter.consume('a', { cost: 2 });
    expect(await client.exists(keyOf('a'))).toBe(1);
    await limiter.reset('a');
    expect(await client.exists(keyOf('a'))).toBe(0);
    await limiter.refund(first);
    expect(await client.exists(keyOf('a'))).toBe(0);
    await limiter.refund(await limiter.consume('a', { cost: 2 }));
    expect(await client.exists(keyOf('a'))).toBe(0);
  });

  it('a key that has lost its TTL gets one again from the next request, denied or not, and from a refund', async () => {
    const { limiter, keyOf } = open([policy(3, 60_000)]);
    const first = await limiter.consume('a', { cost: 2 });
    const calls = [
      () => limiter.consume('a', { cost: 3 }),
      () => limiter.consume('a'),
      () => limiter.refund(first, 1),
    ];
    for (const call of calls) {
      expect(await client.persist(keyOf('a'))).toBe(1);
      await call();
      expect(await client.pttl(keyOf('a'))).toBeGreaterThan(0);
    }
  });
});

itLeavesKeysThatEnd(backend);
