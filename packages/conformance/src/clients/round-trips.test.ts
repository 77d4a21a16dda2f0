import { Socket } from 'node:net';
import { createLimiter, type Limiter, type Policy } from '@sluice/core';
import { RedisStore } from '@sluice/core/redis';
import { Redis } from 'ioredis';
import { type RedisCluster, type RedisServer, startCluster, startRedis } from '../redis-server.js';
import { algorithms } from '../settings.js';
import { commandsOf, forgetCommands } from './command-stats.js';
import { clusters, type OpenClient, openSnippet, patient, singles } from './snippets.js';
import { limiterOn, untilServed } from './suite.js';

const N = 100;
const AT_ONCE = 64;

let server: RedisServer;
let cluster: RedisCluster;
let client: Redis;
beforeAll(async () => {
  [server, cluster] = await Promise.all([startRedis(), startCluster()]);
  // No ready check: it is an INFO like that of the count.
  client = new Redis({
    port: server.port,
    host: '127.0.0.1',
    enableReadyCheck: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
  });
  await client.ping();
});
afterAll(async () => {
  client.disconnect();
  await cluster.stop();
  await server.stop();
});

let names = 0;
function limiterOf(policies: readonly Policy[]): Limiter<true> {
  names += 1;
  return createLimiter({
    name: `t${names}`,
    policies,
    store: new RedisStore({ client, ...patient }),
    onStoreError: 'throw',
  });
}

/** What the server was asked while `task` ran. */
async function commandsDuring(task: () => Promise<unknown>): Promise<Record<string, number>> {
  await forgetCommands(server.port);
  await task();
  return commandsOf(server.port);
}

async function decide(limiter: Limiter<true>, times: number): Promise<void> {
  for (let i = 0; i < times; i++) await limiter.consume('key');
}

describe('A decision is one command and one round trip:', () => {
  const fixed = (name: string) => ({ name, algorithm: 'fixed-window', limit: 1e6, window: 1e13 }) as const;

  it('so many EVALSHA, and one EVAL where the script is not known yet', async () => {
    await client.script('FLUSH');
    const limiter = limiterOf([fixed('only')]);
    const commands = await commandsDuring(() => decide(limiter, N));
    // The first EVALSHA has run nothing.
    expect(commands).toEqual({
      evalsha: N,
      eval: 1,
      time: N,
      get: N,
      set: N,
      // A key that is there keeps its TTL, if it is the right one.
      pttl: N - 1,
    });
    expect(await commandsDuring(() => decide(limiter, N))).toEqual({
      evalsha: N,
      time: N,
      get: N,
      set: N,
      pttl: N,
    });
  });

  it('also for three policies', async () => {
    const limiter = limiterOf([fixed('one'), fixed('two'), fixed('three')]);
    const commands = await commandsDuring(() => decide(limiter, N));
    expect(commands).toEqual({ evalsha: N, time: N, get: 3 * N, set: 3 * N, pttl: 3 * (N - 1) });
  });

  it('a denial too, which writes nothing', async () => {
    const limiter = limiterOf([{ ...fixed('only'), limit: 1 }]);
    await limiter.consume('key');
    const commands = await commandsDuring(() => decide(limiter, N));
    expect(commands).toEqual({ evalsha: N, time: N, get: N, pttl: N });
  });

  it('and a peek, a refund, a reset', async () => {
    const limiter = limiterOf([fixed('only')]);
    const decision = await limiter.consume('key', { cost: 2 });
    expect(await commandsDuring(() => limiter.peek('key'))).toEqual({ evalsha: 1, time: 1, get: 1 });
    const refund = await commandsDuring(() => limiter.refund(decision, 1));
    expect(refund).toEqual({ evalsha: 1, time: 1, get: 1, set: 1, pttl: 1 });
    expect(await commandsDuring(() => limiter.reset('key'))).toEqual({ evalsha: 1, del: 1 });
  });

  it.each(algorithms)('$title', async ({ title, policy }) => {
    const limiter = limiterOf([policy(N / 2, 1e12)]);
    const { evalsha, ...inScript } = await commandsDuring(() => decide(limiter, N));
    expect(evalsha).toBe(N);
    const log = ['time', 'getrange', 'set', 'setrange', 'strlen', 'pexpire', 'pttl'];
    const others = ['time', 'get', 'set', 'pttl'];
    const known = title === 'sliding-window-log' ? log : others;
    expect(Object.keys(inScript).filter((name) => !known.includes(name))).toEqual([]);
  });
});

/** How many writes to these ports the network was given while `task` ran. */
async function writesDuring(ports: readonly number[], task: () => Promise<unknown>): Promise<number> {
  let writes = 0;
  const count = (socket: Socket) => {
    if (ports.includes(socket.remotePort as number)) writes += 1;
  };
  // What a stream hands to the system: one of these per write, however many pieces it was given.
  const { _write, _writev } = Socket.prototype;
  Socket.prototype._write = function (...args) {
    count(this);
    _write.apply(this, args);
  };
  Socket.prototype._writev = function (...args) {
    count(this);
    _writev?.apply(this, args);
  };
  try {
    await task();
  } finally {
    Object.assign(Socket.prototype, { _write, _writev });
  }
  return writes;
}

describe(`${AT_ONCE} decisions at once`, () => {
  const atOnce = (limiter: Limiter<true>) =>
    Promise.all(Array.from({ length: AT_ONCE }, (_, i) => limiter.consume(`key${i}`)));

  async function writesOf(open: OpenClient, ports: readonly number[]): Promise<number> {
    const limiter = limiterOn(open, 'writes');
    await untilServed(limiter);
    // Once for nothing: the script is known to all nodes, and the connections are there.
    await atOnce(limiter);
    return writesDuring(ports, () => atOnce(limiter));
  }

  it(`are ${AT_ONCE} writes where nothing puts them together`, async () => {
    const store = new RedisStore({ client, prefix: 'apart', ...patient });
    expect(await writesOf({ store, close: () => {} }, [server.port])).toBe(AT_ONCE);
  });

  it.each(singles)('are at most a tenth of that with the settings for $title', async (snippet) => {
    const open = await openSnippet(snippet, [server.port], patient);
    const writes = await writesOf(open, [server.port]);
    open.close();
    expect(writes).toBeGreaterThanOrEqual(1);
    expect(writes).toBeLessThanOrEqual(AT_ONCE / 10);
  });

  const sharing = clusters.filter(({ title }) => title !== 'iovalkey Cluster');
  it.each(sharing)('are at most a tenth of that with the settings for $title', async (snippet) => {
    const open = await openSnippet(snippet, cluster.ports, patient);
    const writes = await writesOf(open, cluster.ports);
    open.close();
    expect(writes).toBeGreaterThanOrEqual(1);
    expect(writes).toBeLessThanOrEqual(AT_ONCE / 10);
  });
});
