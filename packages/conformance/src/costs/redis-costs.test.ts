import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter, type Limiter, type Policy } from '@sluice/core';
import { RedisStore } from '@sluice/core/redis';
import { Redis } from 'ioredis';
import { commandsOf, forgetCommands } from '../clients/command-stats.js';
import { type RedisServer, startRedis } from '../redis-server.js';

/** What a decision costs the server. */
interface Cost {
  /** The commands that the script calls, in the order of the alphabet. */
  readonly calls: string;
  /** Bytes of the request. */
  readonly received: number;
  /** Bytes of the reply. */
  readonly sent: number;
  /** Bytes that the script allocates in Lua, which takes time twice: they have to be collected, too. */
  readonly lua: number;
}

/**
 * What one more request cost, under a key that was there, when this was looked at last: it was admitted, unless it says
 * otherwise. Seconds would tell more of the machine than of the code. A gain is written down here; so is a loss, if it is
 * worth it.
 */
const recorded: Readonly<Record<string, Cost>> = {
  'fixed-window': { calls: 'get 1, pttl 1, set 1, time 1', received: 130, sent: 37, lua: 608 },
  'sliding-window-counter': { calls: 'get 1, pttl 1, set 1, time 1', received: 133, sent: 38, lua: 801 },
  'token-bucket': { calls: 'get 1, set 1, time 1', received: 122, sent: 36, lua: 807 },
  gcra: { calls: 'get 1, set 1, time 1', received: 122, sent: 36, lua: 790 },
  'leaky-bucket': { calls: 'get 1, set 1, time 1', received: 122, sent: 48, lua: 820 },
  'sliding-window-log': { calls: 'getrange 1, set 1, time 1', received: 124, sent: 38, lua: 1862 },
  'three policies': { calls: 'get 3, pttl 3, set 3, time 1', received: 251, sent: 103, lua: 2718 },
  'sliding-window-counter, denied': { calls: 'get 1, pttl 1, time 1', received: 137, sent: 55, lua: 824 },
  'sliding-window-counter, admitted and refunded': {
    calls: 'get 2, pttl 2, set 2, time 2',
    received: 277,
    sent: 62,
    lua: 3150,
  },
  'sliding-window-counter, admitted and settled': {
    calls: 'get 2, pttl 2, set 2, time 2',
    received: 277,
    sent: 62,
    lua: 3442,
  },
  'leaky-bucket, denied': { calls: 'get 1, pttl 1, time 1', received: 126, sent: 47, lua: 640 },
  'leaky-bucket, admitted and refunded': {
    calls: 'get 2, set 2, time 2',
    received: 255,
    sent: 69,
    lua: 2846,
  },
  'leaky-bucket, admitted and settled': { calls: 'get 2, set 2, time 2', received: 255, sent: 72, lua: 2899 },
  'sliding-window-log, denied': { calls: 'getrange 1, pttl 1, time 1', received: 128, sent: 53, lua: 1549 },
  'sliding-window-log, admitted and refunded': {
    calls: 'getrange 3, pexpire 1, set 1, setrange 1, time 2',
    received: 259,
    sent: 62,
    lua: 5875,
  },
  'sliding-window-log, admitted and settled': {
    calls: 'getrange 3, pexpire 1, set 2, time 2',
    received: 259,
    sent: 62,
    lua: 6636,
  },
};

/** As a part of what was recorded. */
const SLACK = 0.05;

/** All scripts until the last count are fewer than 50: that often, Redis has Lua collect something. */
const FIRST = 5;
const DECISIONS = 20;

/** So long that no window ends meanwhile, and that numbers keep their digits. */
const WINDOW = 1e12;
const LIMIT = 1000;
const lone = (algorithm: Policy['algorithm']) => [{ algorithm, limit: LIMIT, window: WINDOW } as Policy];
const KEY = 'user:42';

/** What is asked of a limiter, again and again. */
type Act = (limiter: Limiter<true>) => Promise<void>;

const admitted: Act = async (limiter) => {
  expect(await limiter.consume(KEY)).toMatchObject({ allowed: true });
};
const acts: Readonly<Record<string, Act>> = {
  // Something is used, so all of it never fits.
  denied: async (limiter) => {
    expect(await limiter.consume(KEY, { cost: LIMIT })).toMatchObject({ allowed: false });
  },
  'admitted and refunded': async (limiter) => {
    await limiter.refund(await limiter.consume(KEY));
  },
  'admitted and settled': async (limiter) => {
    await limiter.settle(await limiter.consume(KEY), 2);
  },
};

type Subject = readonly [policies: readonly Policy[], act: Act];
const algorithms = [
  ...(['fixed-window', 'sliding-window-counter', 'token-bucket'] as const),
  ...(['gcra', 'leaky-bucket', 'sliding-window-log'] as const),
];
const subjects: Readonly<Record<string, Subject>> = {
  ...Object.fromEntries(algorithms.map((algorithm) => [algorithm, [lone(algorithm), admitted]])),
  'three policies': [
    ['one', 'two', 'three'].map((name) => ({ name, limit: LIMIT, window: WINDOW })),
    admitted,
  ],
  // One of each kind of state: a count, a debt, a log.
  ...Object.fromEntries(
    (['sliding-window-counter', 'leaky-bucket', 'sliding-window-log'] as const).flatMap((algorithm) =>
      Object.entries(acts).map(([name, act]) => [`${algorithm}, ${name}`, [lone(algorithm), act]]),
    ),
  ),
};

/** The median of what is allocated between two counts with a decision between, less the same without. */
async function luaBytes(client: Redis, decide: () => Promise<void>): Promise<number> {
  const count = async () => (await client.eval("return collectgarbage('count') * 1024", 0)) as number;
  await client.eval("collectgarbage('stop')", 0);
  const idle = -(await count()) + (await count());
  const grown: number[] = [];
  let before = await count();
  for (let i = 0; i < DECISIONS; i++) {
    await decide();
    const after = await count();
    grown.push(after - before - idle);
    before = after;
  }
  return grown.sort((a, b) => a - b)[DECISIONS >> 1];
}

/** Bytes in and out during so many decisions, and what asking takes. */
async function traffic(
  client: Redis,
  decide: () => Promise<void>,
  decisions: number,
): Promise<[number, number]> {
  const read = async () => {
    const info = await client.info('stats');
    return ['input', 'output'].map((way) => Number(info.match(`total_net_${way}_bytes:(\\d+)`)?.[1]));
  };
  const before = await read();
  for (let i = 0; i < decisions; i++) await decide();
  const after = await read();
  return [after[0] - before[0], after[1] - before[1]];
}

async function costOf(server: RedisServer, client: Redis, [policies, act]: Subject): Promise<Cost> {
  const store = new RedisStore({ client, timeout: '20s' });
  const limiter = createLimiter({ policies, store, onStoreError: 'throw' });
  await admitted(limiter);
  const decide = async () => {
    // The log keeps one entry for each instant.
    await sleep(2);
    await act(limiter);
  };
  for (let i = 1; i < FIRST; i++) await decide();
  const lua = await luaBytes(client, decide);

  const [noneIn, noneOut] = await traffic(client, decide, 0);
  const [someIn, someOut] = await traffic(client, decide, DECISIONS);

  await forgetCommands(server.port);
  for (let i = 0; i < DECISIONS; i++) await decide();
  const { evalsha: _, ...inScript } = await commandsOf(server.port);
  const calls = Object.entries(inScript).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    calls: calls.map(([name, count]) => `${name} ${count / DECISIONS}`).join(', '),
    received: Math.round((someIn - noneIn) / DECISIONS),
    sent: Math.round((someOut - noneOut) / DECISIONS),
    lua,
  };
}

it.each(Object.entries(subjects))(
  'a decision in Redis costs as much as is recorded, no more and no less: %s',
  async (name, subject) => {
    const server = await startRedis();
    const client = new Redis({ port: server.port, autoResendUnfulfilledCommands: false });
    try {
      const now = await costOf(server, client, subject);
      const then = recorded[name];
      const isOff = (kind: 'received' | 'sent' | 'lua') =>
        !(Math.abs(now[kind] - then[kind]) <= then[kind] * SLACK);
      const off = (['received', 'sent', 'lua'] as const)
        .filter(isOff)
        .map((kind) => `${kind}: ${now[kind]} bytes, recorded ${then[kind]}`);
      if (now.calls !== then.calls) off.push(`calls: ${now.calls}, recorded ${then.calls}`);
      expect(off).toEqual([]);
    } finally {
      client.disconnect();
      await server.stop();
    }
  },
  30_000,
);
