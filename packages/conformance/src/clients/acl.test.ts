import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLimiter, manualClock, StoreError } from '@sluice/core';
import { RedisStore } from '@sluice/core/redis';
import { Redis } from 'ioredis';
import { fencesOf } from '../markdown.js';
import { type RedisServer, redisCommand, startCluster, startRedis } from '../redis-server.js';
import { algorithms } from '../settings.js';
import { commandsOf, forgetCommands } from './command-stats.js';
import { clusters, openSnippet, patient, type Snippet, singles } from './snippets.js';
import { limiterOn, untilServed } from './suite.js';

const page = readFileSync(join(__dirname, '..', '..', '..', '..', 'docs', 'clients.md'), 'utf8');
const line = fencesOf(page).find(({ text }) => text.startsWith('ACL SETUSER limiter '))?.text ?? '';
const rules = line.split(' ').slice(3);
const commands = rules.filter((rule) => rule.startsWith('+')).map((rule) => rule.slice(1));

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const clients: Redis[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect();
});

let users = 0;
/** A store on a connection of a user with these rules. */
async function storeOf(rulesOfUser: readonly string[]): Promise<RedisStore> {
  users += 1;
  const username = `user${users}`;
  expect(await redisCommand(server.port, 'ACL', 'SETUSER', username, ...rulesOfUser)).toBe('OK');
  const client = new Redis({
    port: server.port,
    host: '127.0.0.1',
    username,
    password: 'secret',
    enableAutoPipelining: true,
    enableReadyCheck: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
  });
  clients.push(client);
  return new RedisStore({ client, ...patient });
}

/** Whatever a limiter can be asked, so that the script calls every command that it ever calls. */
async function useAll(store: RedisStore): Promise<void> {
  users += 1;
  const id = `id${users}`;
  for (const { title: algorithm, policy } of algorithms) {
    const clock = manualClock(1000);
    const limiter = createLimiter({
      name: algorithm,
      policies: [policy(3000, 1e9)],
      store,
      clock,
      onStoreError: 'throw',
    });
    // A log so long that it is read and written in parts.
    const count = algorithm === 'sliding-window-log' ? 1500 : 2;
    const requests = Array.from({ length: count }, () => {
      clock.advance(1);
      return limiter.consume(id);
    });
    const [first] = await Promise.all(requests);
    await limiter.settle(first, 3);
    await limiter.refund(first);
    await limiter.peek(id);
    // A key that has lost its TTL.
    await redisCommand(server.port, 'PERSIST', `rl:{${id}}:${algorithm}`);
    expect(await limiter.consume(id, { cost: 3000 })).toMatchObject({ allowed: false });
    await limiter.reset(id);
  }
  const ownClock = createLimiter({
    name: 'own-clock',
    policies: [{ limit: 1, window: 1000 }],
    store,
    onStoreError: 'throw',
  });
  await ownClock.consume(id);
}

async function failureOf(store: RedisStore): Promise<unknown> {
  try {
    await useAll(store);
    return undefined;
  } catch (error) {
    return error;
  }
}

describe('The rights that the documentation lists', () => {
  it('are enough for whatever a limiter does', async () => {
    expect(commands).toEqual(expect.arrayContaining(['eval', 'evalsha', 'get', 'set']));
    const store = await storeOf(rules);
    await redisCommand(server.port, 'SCRIPT', 'FLUSH');
    await forgetCommands(server.port);
    await useAll(store);
    const used = Object.keys(await commandsOf(server.port));
    expect(used).toEqual(expect.arrayContaining(commands));
  });

  it.each(commands)(
    'are all needed: without %s some decision fails, and the error says why',
    async (name) => {
      const store = await storeOf(rules.filter((rule) => rule !== `+${name}`));
      await redisCommand(server.port, 'SCRIPT', 'FLUSH');
      const failure = await failureOf(store);
      expect(failure).toBeInstanceOf(StoreError);
      // Redis 7.0 does not say which command it is where a script calls it.
      const said = `no permissions to run the '${name}' command|user executing the script can't run this command`;
      expect(failure).toMatchObject({
        code: 'ERR_SLUICE_STORE_NOPERM',
        // Within the script, what came before was done.
        outcome: name.startsWith('eval') ? 'not-run' : 'unknown',
        message: expect.stringMatching(said),
      });
    },
  );

  it('are for the keys of the prefix: without them every decision fails, and the error says why', async () => {
    const store = await storeOf(rules.map((rule) => (rule.startsWith('~') ? '~other:*' : rule)));
    const failure = await failureOf(store);
    expect(failure).toBeInstanceOf(StoreError);
    expect(failure).toMatchObject({
      code: 'ERR_SLUICE_STORE_NOPERM',
      outcome: 'not-run',
      message: expect.stringMatching(/NOPERM .* key/),
    });
  });
});

describe('A client connects with', () => {
  // ioredis says that it does without INFO.
  beforeEach(() => void jest.spyOn(console, 'warn').mockImplementation(() => {}));
  afterEach(() => jest.restoreAllMocks());

  /** Takes all rights but these from those who do not log in. */
  async function restrict(ports: readonly number[], extra: readonly string[]): Promise<void> {
    for (const port of ports) {
      const only = ['reset', 'on', 'nopass', '~snippet*:*', ...commands.map((name) => `+${name}`), ...extra];
      expect(await redisCommand(port, 'ACL', 'SETUSER', 'default', ...only)).toBe('OK');
    }
  }

  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  async function itServes(snippet: Snippet, ports: readonly number[]): Promise<void> {
    const client = await openSnippet(snippet, ports, patient);
    cleanups.push(() => client.close());
    expect(await untilServed(limiterOn(client, 'rights'))).toBeLessThan(10_000);
  }

  const isNodeRedis = ({ title }: Snippet) => title.startsWith('node-redis');

  it.each(singles)('no other rights, or PING: $title', async (snippet) => {
    const alone = await startRedis();
    cleanups.push(() => alone.stop());
    await restrict([alone.port], isNodeRedis(snippet) ? ['+ping'] : []);
    await itServes(snippet, [alone.port]);
  });

  it.each(clusters)('those to ask who holds which keys: $title', async (snippet) => {
    const cluster = await startCluster();
    cleanups.push(() => cluster.stop());
    await restrict(cluster.ports, ['+cluster|slots', isNodeRedis(snippet) ? '+ping' : '+cluster|info']);
    await itServes(snippet, cluster.ports);
  });
});
