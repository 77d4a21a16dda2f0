import type { ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Policy } from '@sluice/core';
import type { Redis } from 'ioredis';
import { single } from '../backends.js';
import { scaled, seedFromEnvironment } from '../budget.js';
import { redisCommand, sharedServers } from '../redis-server.js';
import { buildScript, message, type Script, stopScript } from '../scripts.js';
import { settings } from '../settings.js';
import { lives } from '../ttl.js';
import { check } from './check.js';
import type { Task } from './child.js';
import type { Entry, History } from './entry.js';
import { counterOf, type Traffic } from './traffic.js';

/** How far the clock of each process is off: no decision may depend on it. */
const SKEWS_MS = [0, 300_000, -300_000, 7];
const LANES = 2;
const DURATION_MS: number = scaled(2500);
/** So that the counts, which have no other end, go away by themselves. */
const LIFE_MS: number = DURATION_MS + 60_000;

const backend = single('histories');
const client = backend.client as Redis;

let script: Script;
let children: ChildProcess[] = [];
beforeAll(async () => {
  script = buildScript('history-checker/child');
  const { port } = sharedServers();
  children = SKEWS_MS.map((skew) => script.start([String(port), String(skew)]));
  await Promise.all(children.map((child) => message(child)));
});
afterAll(async () => {
  await Promise.all(children.map(stopScript));
  script.dispose();
  await backend.close();
});

/** A limit that is soon used up, and windows of which many go by. */
function subject(name: string, policies: readonly Policy[]): Traffic {
  return { prefix: 'histories', name, policies, durationMs: DURATION_MS, pauseMs: 40 };
}

const limits = [5, 20, 60];
/** The two that can be told to count denied requests as well. */
const counting: readonly Policy[] = [
  { algorithm: 'fixed-window', limit: 20, window: 400, countDenied: true },
  { algorithm: 'sliding-window-counter', limit: 20, window: 400, buckets: 4, countDenied: true },
];
const several = settings.slice(0, 6).map(({ title, policy }, i) => ({ ...policy(20 + i, 400), name: title }));
const subjects: readonly Traffic[] = [
  ...settings.map(({ title, policy }, i) => subject(`t${i} ${title}`, [policy(limits[i % 3], 400)])),
  ...counting.map((policy) => subject(`${policy.algorithm} that counts denied requests`, [policy])),
  subject('several', several),
];

/** What the processes did under each limiter, while the server forgot its scripts now and then. */
async function record(seed: number): Promise<History[]> {
  for (const { prefix, name } of subjects) await client.set(counterOf(prefix, name), 0, 'PX', LIFE_MS);
  const results = children.map((child) => message<Entry[][]>(child));
  for (const [i, child] of children.entries()) {
    const task: Task = { process: `p${i}`, seed: seed + 100_000 * i, lanes: LANES, traffics: subjects };
    child.send(task);
  }
  let done = false;
  const all = Promise.all(results).finally(() => {
    done = true;
  });
  while (!done) {
    await sleep(400);
    await redisCommand(sharedServers().port, 'SCRIPT', 'FLUSH');
  }
  const lists = await all;
  return subjects.map(({ policies }, i) => ({ policies, entries: lists.flatMap((list) => list[i]) }));
}

function count(entries: readonly Entry[], which: (entry: Entry) => boolean): number {
  return entries.filter(which).length;
}

describe(`${SKEWS_MS.length} processes, whose clocks disagree, on one key`, () => {
  let histories: readonly History[];
  beforeAll(async () => {
    const seed = seedFromEnvironment() ?? randomInt(2 ** 31);
    process.stderr.write(`histories: SLUICE_SEED=${seed}\n`);
    histories = await record(seed);
  }, DURATION_MS + 30_000);

  it.each(subjects.map(({ name }, i) => ({ name, i })))(
    'have a history that the algorithm in TypeScript could have produced, $name',
    async ({ name, i }) => {
      const { policies, entries } = histories[i];
      expect(check({ policies, entries })).toBeUndefined();
      // Nothing is missing at the end either.
      expect(await client.get(counterOf('histories', name))).toBe(String(entries.length));
      expect(count(entries, ({ decision }) => decision?.allowed === true)).toBeGreaterThan(0);
      expect(count(entries, ({ decision }) => decision?.allowed === false)).toBeGreaterThan(0);
      expect(count(entries, ({ call }) => call.do === 'refund')).toBeGreaterThan(0);
      expect(count(entries, ({ call }) => call.do === 'settle')).toBeGreaterThan(0);
    },
  );

  it('leave no key without a TTL', async () => {
    const keys = await lives(backend);
    expect(keys.length).toBeGreaterThan(0);
    expect(keys.filter(({ ttlMs }) => ttlMs < 0)).toEqual([]);
  });

  it('were told that the script is not known, and went on', () => {
    const all = histories.flatMap(({ entries }) => entries);
    expect(count(all, ({ call }) => call.do === 'nothing')).toBeGreaterThan(0);
    process.stderr.write(`histories: ${all.length} entries\n`);
  });
});
