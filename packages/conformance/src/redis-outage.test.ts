import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter, type Decision, type Limiter, type OnStoreError, type Policy } from '@sluice/core';
import { RedisStore, type StoreStateEvent } from '@sluice/core/redis';
import { Redis } from 'ioredis';
import { type RedisServer, redisCommand, startRedis } from './redis-server.js';

/** Long enough for a server that has to share this machine with other tests. */
const TIMEOUT_MS = 500;
/** What a decision may take longer than its deadline. */
const SLACK_MS = 50;
/** How long the store is left alone after it has failed, and some time to connect. */
const RECOVERY_MS = 1000;

/** A window that does not end while the tests run. */
const hundred: Policy = { algorithm: 'fixed-window', limit: 100, window: 1e13 };

const TICK_MS = 5;
/** The time for which other processes have kept this one from its event loop. No deadline can help that. */
let lostMs = 0;
let tickedMs = performance.now();
const ticker = setInterval(() => {
  const nowMs = performance.now();
  lostMs += Math.max(0, nowMs - tickedMs - 2 * TICK_MS);
  tickedMs = nowMs;
}, TICK_MS);
afterAll(() => clearInterval(ticker));

const clients: Redis[] = [];
const servers: RedisServer[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect();
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

async function server(port?: number): Promise<RedisServer> {
  const started = await startRedis(port === undefined ? {} : { port });
  servers.push(started);
  return started;
}

interface ConnectOptions {
  readonly enableOfflineQueue?: boolean;
  readonly enableAutoPipelining?: boolean;
}

/** A client as the docs have it. */
function connect(port: number, options: ConnectOptions = {}): Redis {
  const client = new Redis({
    port,
    host: '127.0.0.1',
    autoResendUnfulfilledCommands: false,
    enableOfflineQueue: false,
    retryStrategy: () => 100,
    ...options,
  });
  client.on('error', () => {});
  clients.push(client);
  return client;
}

/** The client's next such event, whatever errors it tells of meanwhile. */
function next(client: Redis, event: 'ready' | 'close'): Promise<void> {
  return new Promise((resolve) => client.once(event, () => resolve()));
}

interface Bench {
  readonly limiter: Limiter<true>;
  readonly events: string[];
  /** The decisions of so many requests at once; none may take longer than it may. */
  times(count: number, key?: string): Promise<Decision[]>;
  /** Waits until the store decides again, asking for another key; it must not take longer than it may. */
  recovered(): Promise<void>;
}

let names = 0;
function open(client: Redis, onStoreError: OnStoreError = 'local', localShare = 1): Bench {
  names += 1;
  return openAs(`t${names}`, client, onStoreError, localShare);
}

function openAs(name: string, client: Redis, onStoreError: OnStoreError = 'local', localShare = 1): Bench {
  const events: string[] = [];
  const onStateChange = ({ state }: StoreStateEvent) => events.push(state);
  const store = new RedisStore({ client, timeout: TIMEOUT_MS, onStateChange });
  const limiter = createLimiter({ name, policies: [hundred], store, onStoreError, localShare });
  const one = async (key: string) => {
    const began = performance.now();
    const before = lostMs;
    const decision = await limiter.consume(key);
    const tookMs = performance.now() - began;
    if (tookMs > TIMEOUT_MS + SLACK_MS) {
      // The ticker comes next, and may have something to add.
      await sleep(2 * TICK_MS);
      expect(tookMs - (lostMs - before)).toBeLessThan(TIMEOUT_MS + SLACK_MS);
    }
    return decision;
  };
  return {
    limiter,
    events,
    times: (count, key = 'k') => Promise.all(Array.from({ length: count }, () => one(key))),
    recovered: async () => {
      const began = performance.now();
      const before = lostMs;
      while ((await one('other')).degraded) await sleep(10);
      const tookMs = performance.now() - began;
      // What keeps this process from its work keeps the server, and the one that starts it, as well.
      expect(tookMs - 3 * (lostMs - before)).toBeLessThan(RECOVERY_MS);
    },
  };
}

const allowed = (decisions: readonly Decision[]) => decisions.filter((decision) => decision.allowed).length;
const degraded = (decisions: readonly Decision[]) => decisions.filter((decision) => decision.degraded).length;

/** What one sees who shares nothing with the limiters but the server. */
async function remainingOf(port: number, name: string, key = 'k'): Promise<number> {
  const client = connect(port);
  await next(client, 'ready');
  return (await openAs(name, client, 'throw').limiter.peek(key)).remaining;
}

describe('A Redis that is killed and comes back', () => {
  it('is stood in for by memory, and is charged for what that admitted', async () => {
    const first = await server();
    const client = connect(first.port);
    await next(client, 'ready');
    const { limiter, events, times, recovered } = open(client);
    expect(degraded(await times(3))).toBe(0);

    const gone = next(client, 'close');
    await first.stop();
    await gone;
    // It is left alone when it has served nothing for a tenth of a second.
    await sleep(100);
    const away = await times(40);
    expect(allowed(away)).toBe(40);
    expect(degraded(away)).toBe(40);
    expect((await limiter.consume('k', { cost: 70 })).allowed).toBe(false);
    expect(events).toEqual(['open']);

    await server(first.port);
    await recovered();
    // It kept nothing of the three that it had decided; the forty were charged before anyone asked for the key.
    await sleep(50);
    expect(await remainingOf(first.port, limiter.name)).toBe(60);
    expect(await limiter.consume('k')).toMatchObject({ allowed: true, degraded: false, remaining: 59 });
    expect(events).toEqual(['open', 'closed']);
  });

  it('decides a single request of a key before it is charged: the one that finds out that Redis is back', async () => {
    const first = await server();
    const client = connect(first.port);
    await next(client, 'ready');
    const { times } = open(client);
    const gone = next(client, 'close');
    await first.stop();
    await gone;
    expect(allowed(await times(120))).toBe(100);

    const back = next(client, 'ready');
    await server(first.port);
    await back;
    await sleep(500);
    // Those that are asked while it finds out are decided here.
    expect(allowed(await times(20))).toBe(1);
    await sleep(100);
    const [decision] = await times(1);
    expect(decision).toMatchObject({ allowed: false, degraded: false, remaining: 0 });
  });

  it('admits with all processes together what their shares come to', async () => {
    const first = await server();
    const both = [connect(first.port), connect(first.port)];
    await Promise.all(both.map((client) => next(client, 'ready')));
    names += 1;
    const name = `t${names}`;
    const processes = both.map((client) => openAs(name, client, 'local', 0.5));
    const gone = both.map((client) => next(client, 'close'));
    await first.stop();
    await Promise.all(gone);
    const away = await Promise.all(processes.map(({ times }) => times(80)));
    expect(away.map(allowed)).toEqual([50, 50]);

    await server(first.port);
    for (const { recovered } of processes) await recovered();
    await sleep(50);
    expect(await remainingOf(first.port, name)).toBe(0);
  });

  it('may come for the first time long after the limiter', async () => {
    const first = await startRedis();
    await first.stop();
    const { limiter, events, times, recovered } = open(connect(first.port));
    const away = await times(10);
    expect([allowed(away), degraded(away)]).toEqual([10, 10]);

    await server(first.port);
    await recovered();
    expect(await limiter.consume('k')).toMatchObject({ degraded: false, remaining: 89 });
    expect(events).toEqual(['open', 'closed']);
  });

  it('is told what requests really cost, whether that is known before or after it is back', async () => {
    const first = await server();
    const client = connect(first.port);
    await next(client, 'ready');
    const { limiter, recovered } = open(client);
    const gone = next(client, 'close');
    await first.stop();
    await gone;
    const decisions = [];
    for (const cost of [10, 20, 0]) decisions.push(await limiter.consume('k', { cost }));
    const [early, late, unknown] = decisions;
    await limiter.settle(early, 15);

    await server(first.port);
    await recovered();
    expect(await limiter.peek('k')).toMatchObject({ degraded: false, remaining: 65 });
    await limiter.settle(late, 5);
    expect(await limiter.peek('k')).toMatchObject({ remaining: 80 });
    await limiter.settle(unknown, 30);
    expect(await limiter.peek('k')).toMatchObject({ remaining: 50 });
    await limiter.refund(early);
    await limiter.refund(early);
    expect(await limiter.peek('k')).toMatchObject({ remaining: 65 });
  });

  it('is refused for, or admitted for, if told so, and charged for nothing', async () => {
    for (const onStoreError of ['deny', 'allow'] as const) {
      const first = await server();
      const client = connect(first.port);
      await next(client, 'ready');
      const { limiter, times, recovered } = open(client, onStoreError);
      const gone = next(client, 'close');
      await first.stop();
      await gone;
      const away = await times(200);
      expect([allowed(away), degraded(away)]).toEqual([onStoreError === 'allow' ? 200 : 0, 200]);

      await server(first.port);
      await recovered();
      expect(await limiter.consume('k')).toMatchObject({ degraded: false, remaining: 99 });
    }
  });
});

describe('A Redis that hangs', () => {
  it('costs the deadline once and then nothing, and in the end has charged each request once', async () => {
    const { port, pid } = await server();
    const client = connect(port);
    await next(client, 'ready');
    const { limiter, events, times, recovered } = open(client);
    expect(degraded(await times(1))).toBe(0);

    process.kill(pid, 'SIGSTOP');
    // Sent, so that they will be run when it goes on: nobody must charge them a second time.
    const sent = await times(50);
    expect([allowed(sent), degraded(sent)]).toEqual([50, 50]);
    expect(events).toEqual(['open']);
    const fast = Promise.race([times(20), sleep(TIMEOUT_MS / 2, [] as Decision[])]);
    const unsent = await fast;
    expect([allowed(unsent), degraded(unsent)]).toEqual([20, 20]);

    process.kill(pid, 'SIGCONT');
    await recovered();
    await sleep(50);
    expect(await remainingOf(port, limiter.name)).toBe(100 - 1 - 50 - 20);
    expect(events).toEqual(['open', 'closed']);
  });

  it('for less than the deadline is waited for', async () => {
    const { port, pid } = await server();
    const client = connect(port);
    await next(client, 'ready');
    const { events, times } = open(client);
    await times(1);
    process.kill(pid, 'SIGSTOP');
    const waiting = times(50);
    await sleep(TIMEOUT_MS / 5);
    process.kill(pid, 'SIGCONT');
    const decisions = await waiting;
    expect([allowed(decisions), degraded(decisions)]).toEqual([50, 0]);
    expect(events).toEqual([]);
  });

  it('holds up no request behind a client that queues while there is no connection', async () => {
    const gone = await startRedis();
    await gone.stop();
    const { times } = open(connect(gone.port, { enableOfflineQueue: true }));
    const decisions = await times(50);
    expect([allowed(decisions), degraded(decisions)]).toEqual([50, 50]);
  });
});

describe('A Redis that knows the script no more', () => {
  it('is well: fifty requests at once are charged once each', async () => {
    const { port } = await server();
    const client = connect(port, { enableAutoPipelining: true });
    await next(client, 'ready');
    const { limiter, events, times } = open(client);
    await times(1);
    for (let i = 0; i < 4; i++) {
      await redisCommand(port, 'SCRIPT', 'FLUSH');
      const decisions = await times(10);
      expect([allowed(decisions), degraded(decisions)]).toEqual([10, 0]);
    }
    expect((await limiter.peek('k')).remaining).toBe(59);
    expect(events).toEqual([]);
  });
});
