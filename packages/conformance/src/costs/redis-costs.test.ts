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
 * What one more request cost that was admitted, under a key that was there, when this was looked at last. Seconds would
 * tell more of the machine than of the code. A gain is written down here; so is a loss, if it is worth it.
 */
const recorded: Readonly<Record<string, Cost>> = {
  'fixed-window': { calls: 'get 1, pttl 1, set 1, time 1', received: 130, sent: 37, lua: 608 },
  'sliding-window-counter': { calls: 'get 1, pttl 1, set 1, time 1', received: 133, sent: 38, lua: 801 },
  'token-bucket': { calls: 'get 1, set 1, time 1', received: 122, sent: 36, lua: 807 },
  gcra: { calls: 'get 1, set 1, time 1', received: 122, sent: 36, lua: 790 },
  'leaky-bucket': { calls: 'get 1, set 1, time 1', received: 122, sent: 48, lua: 820 },
  'sliding-window-log': { calls: 'getrange 1, set 1, time 1', received: 124, sent: 38, lua: 1862 },
  'three policies': { calls: 'get 3, pttl 3, set 3, time 1', received: 251, sent: 115, lua: 3001 },
};

/** As a part of what was recorded. */
const SLACK = 0.05;

/** All scripts until the last count are fewer than 50: that often, Redis has Lua collect something. */
const FIRST = 5;
const DECISIONS = 20;

/** So long that no window ends meanwhile, and that numbers keep their digits. */
const WINDOW = 1e12;
const lone = (algorithm: Policy['algorithm']) => [{ algorithm, limit: 1000, window: WINDOW } as Policy];
const subjects: Readonly<Record<string, readonly Policy[]>> = {
  'fixed-window': lone('fixed-window'),
  'sliding-window-counter': lone('sliding-window-counter'),
  'token-bucket': lone('token-bucket'),
  gcra: lone('gcra'),
  'leaky-bucket': lone('leaky-bucket'),
  'sliding-window-log': lone('sliding-window-log'),
  'three policies': ['one', 'two', 'three'].map((name) => ({ name, limit: 1000, window: WINDOW })),
};

/** The log keeps one entry for each instant. */
async function decide(limiter: Limiter<true>): Promise<void> {
  await sleep(2);
  expect(await limiter.consume('user:42')).toMatchObject({ allowed: true });
}

/** The median of what is allocated between two counts with a decision between, less the same without. */
async function luaBytes(client: Redis, limiter: Limiter<true>): Promise<number> {
  const count = async () => (await client.eval("return collectgarbage('count') * 1024", 0)) as number;
  await client.eval("collectgarbage('stop')", 0);
  const idle = -(await count()) + (await count());
  const grown: number[] = [];
  let before = await count();
  for (let i = 0; i < DECISIONS; i++) {
    await decide(limiter);
    const after = await count();
    grown.push(after - before - idle);
    before = after;
  }
  return grown.sort((a, b) => a - b)[DECISIONS >> 1];
}

/** Bytes in and out during so many decisions, and what asking takes. */
async function traffic(client: Redis, limiter: Limiter<true>, decisions: number): Promise<[number, number]> {
  const read = async () => {
    const info = await client.info('stats');
    return ['input', 'output'].map((way) => Number(info.match(`total_net_${way}_bytes:(\\d+)`)?.[1]));
  };
  const before = await read();
  for (let i = 0; i < decisions; i++) await decide(limiter);
  const after = await read();
  return [after[0] - before[0], after[1] - before[1]];
}

async function costOf(server: RedisServer, client: Redis, policies: readonly Policy[]): Promise<Cost> {
  const store = new RedisStore({ client, timeout: '20s' });
  const limiter = createLimiter({ policies, store, onStoreError: 'throw' });
  for (let i = 0; i < FIRST; i++) await decide(limiter);
  const lua = await luaBytes(client, limiter);

  const [noneIn, noneOut] = await traffic(client, limiter, 0);
  const [someIn, someOut] = await traffic(client, limiter, DECISIONS);

  await forgetCommands(server.port);
  for (let i = 0; i < DECISIONS; i++) await decide(limiter);
  const { evalsha, ...inScript } = await commandsOf(server.port);
  const calls = Object.entries(inScript).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    calls: calls.map(([name, count]) => `${name} ${count / evalsha}`).join(', '),
    received: Math.round((someIn - noneIn) / DECISIONS),
    sent: Math.round((someOut - noneOut) / DECISIONS),
    lua,
  };
}

it.each(Object.entries(subjects))(
  'a decision in Redis costs as much as is recorded, no more and no less: %s',
  async (name, policies) => {
    const server = await startRedis();
    const client = new Redis({ port: server.port, autoResendUnfulfilledCommands: false });
    try {
      const now = await costOf(server, client, policies);
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
