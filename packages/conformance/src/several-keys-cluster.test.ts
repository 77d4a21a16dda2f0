import { createLimiter, type Decision, manualClock, type Policy, StoreError } from '@sluice/core';
import { type RedisClient, RedisStore } from '@sluice/core/redis';
import { cluster, single } from './backends.js';

const HOUR = 3_600_000;
const fixed = (limit: number, more: object = {}): Policy => ({
  algorithm: 'fixed-window',
  limit,
  window: HOUR,
  ...more,
});

/** On three nodes: the slots of a, b and c are of three of them. */
const KEYS = { address: 'a', user: 'b', all: 'c' };

const onCluster = cluster('keys');
const onOne = single('keys');
afterAll(() => Promise.all([onCluster.close(), onOne.close()]));

let names = 0;

/** A client that calls `before` with each script that it sends. */
function tapped(client: RedisClient, before: (keys: string[]) => unknown) {
  const sent: string[][] = [];
  const send = async (method: 'evalsha' | 'eval', text: string, count: number, rest: (string | Buffer)[]) => {
    const keys = rest.slice(0, count) as string[];
    sent.push(keys);
    await before(keys);
    return client[method](text, count, ...rest);
  };
  const own: RedisClient & { isCluster: boolean } = {
    isCluster: (client as { isCluster?: boolean }).isCluster === true,
    evalsha: (sha, count, ...rest) => send('evalsha', sha, count, rest),
    eval: (script, count, ...rest) => send('eval', script, count, rest),
  };
  return { client: own, sent };
}

function open(
  client: RedisClient,
  [address, user, all]: readonly Policy[],
  options: { cluster?: boolean; name?: string } = {},
) {
  names += 1;
  const { name = `t${names}`, ...others } = options;
  return createLimiter({
    name,
    limits: [
      { name: 'address', policies: [address] },
      { name: 'user', policies: [user] },
      { name: 'all', policies: [all] },
    ],
    store: new RedisStore({ client, prefix: 'keys', timeout: '20s', ...others }),
    clock: manualClock(1000 * HOUR),
    onStoreError: 'throw',
  });
}

const left = ({ policies }: Decision) => policies.map(({ remaining }) => remaining);

describe('Keys of several kinds on one server', () => {
  it('are one script call each time, also with some missing', async () => {
    const { client, sent } = tapped(onOne.client, () => {});
    const limiter = open(client, [fixed(5), fixed(5), fixed(5)], { name: 'one' });
    await limiter.consume(KEYS);
    await limiter.consume({ address: 'a' });
    await limiter.peek(KEYS);
    await limiter.refund(await limiter.consume(KEYS));
    await limiter.reset({ user: 'b', all: 'c' });
    const all = ['keys:{a}:one:address', 'keys:{b}:one:user', 'keys:{c}:one:all'];
    // The first may be sent in full as well.
    expect(sent.slice(-6)).toEqual([all, [all[0]], all, all, all, all.slice(1)]);
  });
});

describe('Keys of several kinds on a cluster', () => {
  it('cannot be waited for together, unless they are of one text', async () => {
    const limiter = open(onCluster.client, [fixed(5), fixed(5), fixed(5)]);
    const acquired = limiter.acquire(KEYS);
    await expect(acquired).rejects.toMatchObject({ code: 'ERR_SLUICE_RESERVE' });
    await expect(acquired).rejects.toThrow('keys that lie on one node');
    expect(left(await limiter.peek(KEYS))).toEqual([5, 5, 5]);
    expect(left(await limiter.acquire({ address: 'a', user: 'a' }))).toEqual([4, 4, Infinity]);
    expect(left(await limiter.acquire({ user: 'b' }))).toEqual([Infinity, 4, Infinity]);
  });

  it('of the same text are one script call', async () => {
    const { client, sent } = tapped(onCluster.client, () => {});
    const limiter = open(client, [fixed(5), fixed(5), fixed(5)]);
    await limiter.consume({ address: 'a', user: 'a', all: 'a' });
    expect(new Set(sent.map((keys) => keys.length))).toEqual(new Set([3]));
    expect(left(await limiter.peek({ address: 'a', user: 'a' }))).toEqual([4, 4, Infinity]);
  });

  it('are asked before any is charged: who is denied anyway takes nothing from others even for a moment', async () => {
    let least = Infinity;
    const watcher = open(onCluster.client, [fixed(9), fixed(1), fixed(9)], { name: 'asked' });
    const { client } = tapped(onCluster.client, async () => {
      least = Math.min(least, ...left(await watcher.peek({ address: 'a', all: 'c' })));
    });
    await watcher.consume(KEYS);
    const limiter = open(client, [fixed(9), fixed(1), fixed(9)], { name: 'asked' });
    const denied = await limiter.consume(KEYS);
    expect(denied).toMatchObject({ allowed: false, policy: 'user' });
    expect(denied.compensation).toBeUndefined();
    expect(left(denied)).toEqual([8, 0, 8]);
    expect(least).toBe(8);
  });

  it('are given back where one denies after all, and the decision says so', async () => {
    const rival = open(onCluster.client, [fixed(9), fixed(1), fixed(9)], { name: 'raced' });
    let calls = 0;
    const { client } = tapped(onCluster.client, async (keys) => {
      // After the three questions, before the charges.
      if (keys.some((key) => key.includes('raced:user')) && ++calls === 2) await rival.consume({ user: 'b' });
    });
    const limiter = createRival(client);
    // The script is known by now.
    const denied = await limiter.consume(KEYS);
    expect(denied).toMatchObject({
      allowed: false,
      policy: 'user',
      compensation: { givenBack: ['address', 'all'], lost: [] },
    });
    expect(left(denied)).toEqual([9, 0, 9]);
    expect(left(await rival.peek(KEYS))).toEqual([9, 0, 9]);
    // Nothing was charged, so nothing is given back again.
    await limiter.refund(denied);
    expect(left(await rival.peek(KEYS))).toEqual([9, 0, 9]);
  });

  it('stay counted where denials count, and are given back where not', async () => {
    const policies = [fixed(9, { countDenied: true }), fixed(1), fixed(9)];
    const rival = open(onCluster.client, policies, { name: 'raced-counted' });
    let calls = 0;
    const { client } = tapped(onCluster.client, async (keys) => {
      if (keys.some((key) => key.includes('counted:user')) && ++calls === 2)
        await rival.consume({ user: 'b' });
    });
    const limiter = createRival(client, 'raced-counted', policies);
    expect(left(await limiter.consume(KEYS))).toEqual([8, 0, 9]);
    expect(left(await limiter.consume(KEYS))).toEqual([7, 0, 9]);
    expect(left(await rival.peek(KEYS))).toEqual([7, 0, 9]);
  });

  it('say what could not be given back', async () => {
    const rival = open(onCluster.client, [fixed(9), fixed(1), fixed(9)], { name: 'lost' });
    let calls = 0;
    let addresses = 0;
    const { client } = tapped(onCluster.client, async (keys) => {
      if (keys.some((key) => key.includes('lost:user')) && ++calls === 2) await rival.consume({ user: 'b' });
      if (keys.some((key) => key.includes('lost:address')) && ++addresses === 3)
        throw new Error('ECONNRESET');
    });
    const limiter = createRival(client, 'lost');
    expect((await limiter.consume(KEYS)).compensation).toEqual({ givenBack: ['all'], lost: ['address'] });
    expect(left(await rival.peek(KEYS))).toEqual([8, 0, 9]);
  });

  it('are given back where one fails, and the error says whether anything may be charged', async () => {
    const rival = open(onCluster.client, [fixed(9), fixed(9), fixed(9)], { name: 'failing' });
    for (const [message, at, outcome] of [
      ['READONLY You can’t', 2, 'not-run'],
      ['ECONNRESET', 2, 'unknown'],
      // Of a question nothing is ever charged.
      ['ECONNRESET', 1, 'not-run'],
    ] as const) {
      let calls = 0;
      const { client } = tapped(onCluster.client, (keys) => {
        if (keys.some((key) => key.includes('failing:user')) && ++calls === at) throw new Error(message);
      });
      const limiter = createRival(client, 'failing', [fixed(9), fixed(9), fixed(9)]);
      const error = await limiter.consume(KEYS).catch((error: unknown) => error);
      expect(error).toBeInstanceOf(StoreError);
      expect(error).toMatchObject({ outcome });
      limiter.close();
      expect(left(await rival.peek(KEYS))).toEqual([9, 9, 9]);
    }
  });

  it('never admit more than any limit, and hold nothing of what was denied, however many come at once', async () => {
    const limits = [40, 25, 60];
    const limiter = open(
      onCluster.client,
      limits.map((limit) => fixed(limit)),
    );
    const used = new Map<string, number>();
    let compensated = 0;
    const add = (key: string) => used.set(key, (used.get(key) ?? 0) + 1);
    const one = async (i: number) => {
      const [address, user] = [`address ${i % 2}`, `user ${i % 5}`];
      const decision = await limiter.consume({ address, user, all: 'all' });
      if (decision.compensation !== undefined) compensated += 1;
      expect(decision.compensation?.lost ?? []).toEqual([]);
      if (decision.allowed) for (const key of [address, user, 'all']) add(key);
    };
    for (let round = 0; round < 5; round++) {
      await Promise.all(Array.from({ length: 100 }, (_, i) => one(i)));
      for (const [key, count] of used) {
        const [kind] = key.split(' ') as [keyof typeof KEYS];
        const place = ['address', 'user', 'all'].indexOf(kind);
        expect(count).toBeLessThanOrEqual(limits[place]);
        // All that is charged is what was admitted.
        expect(left(await limiter.peek({ [kind]: key }))[place]).toBe(limits[place] - count);
      }
    }
    expect(compensated).toBeGreaterThan(0);
    expect(used.get('all')).toBe(60);
  });

  it('are taken so by a client that does not say that it is one, if the store is told', async () => {
    const { client, sent } = tapped(onCluster.client, () => {});
    const silent = { evalsha: client.evalsha, eval: client.eval };
    const limiter = open(silent, [fixed(5), fixed(5), fixed(5)], { cluster: true });
    expect(left(await limiter.consume(KEYS))).toEqual([4, 4, 4]);
    expect(Math.max(...sent.map((keys) => keys.length))).toBe(1);
    const wrong = open(silent, [fixed(5), fixed(5), fixed(5)], { name: 'other' });
    await expect(wrong.consume(KEYS)).rejects.toMatchObject({ outcome: 'not-run' });
  });
});

function createRival(client: RedisClient, name = 'raced', policies = [fixed(9), fixed(1), fixed(9)]) {
  return open(client, policies, { name });
}
