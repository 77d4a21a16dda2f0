import { ArgumentError, createLimiter, type Limiter, type Policy, StoreError } from '@sluice/core';
import { type RedisClient, RedisStore } from '@sluice/core/redis';
import { Redis } from 'ioredis';
import { type RedisServer, redisCommand, startRedis } from './redis-server.js';
import { lives } from './ttl.js';

/** 316 years: window 0 ends in 2286, and nothing comes back while the test runs. */
const WINDOW = 1e13;
const POLICIES: readonly Policy[] = [
  { name: 'minute', algorithm: 'fixed-window', limit: 5, window: WINDOW },
  { name: 'day', algorithm: 'sliding-window-log', limit: 9, window: WINDOW },
];

const began = Date.now();
let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const clients: Redis[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) if (client.status === 'ready') await client.quit();
});

/** A client that gives a request up at once, and connects again if `again`. Connection errors are its owner's to hear. */
function connect(port: number, again = false): Redis {
  const retryStrategy = () => (again ? 10 : null);
  const client = new Redis({
    port,
    host: '127.0.0.1',
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy,
  });
  client.on('error', () => {});
  clients.push(client);
  return client;
}

let names = 0;
function limiterOn(client: RedisClient): Limiter<true> {
  names += 1;
  return createLimiter({
    name: `t${names}`,
    policies: POLICIES,
    store: new RedisStore({ client, prefix: 'failures', timeout: '10s' }),
    onStoreError: 'throw',
  });
}

/** The two commands of a real client, counted, and altered on the way back. */
function through(client: Redis, alter: (reply: unknown) => unknown): RedisClient & { calls: string[] } {
  const calls: string[] = [];
  return {
    calls,
    evalsha: async (...args: Parameters<RedisClient['evalsha']>) => {
      calls.push('evalsha');
      return alter(await client.evalsha(...args));
    },
    eval: async (...args: Parameters<RedisClient['eval']>) => {
      calls.push('eval');
      return alter(await client.eval(...args));
    },
  };
}

describe('A Redis that cannot be reached', () => {
  it('is no error at construction, and a StoreError at every call: never a decision', async () => {
    const gone = await startRedis();
    await gone.stop();
    const limiter = limiterOn(connect(gone.port));
    for (const call of [limiter.consume('a'), limiter.peek('a'), limiter.reset('a')]) {
      const error: unknown = await call.then(
        () => undefined,
        (reason) => reason,
      );
      expect(error).toBeInstanceOf(StoreError);
      expect(error).not.toBeInstanceOf(ArgumentError);
      expect(error).toMatchObject({
        name: 'StoreError',
        code: 'ERR_SLUICE_STORE_CONNECTION',
        outcome: 'not-run',
        cause: expect.any(Error),
      });
    }
  });

  it('that dies in the middle of a request is a StoreError, and answers again when it is back', async () => {
    const mortal = await startRedis();
    const client = connect(mortal.port, true);
    const limiter = limiterOn(client);
    const decision = await limiter.consume('a');
    process.kill(mortal.pid, 'SIGSTOP');
    const waiting = [limiter.consume('a'), limiter.refund(decision)];
    const failed = Promise.allSettled(waiting);
    await mortal.stop();
    for (const result of await failed) {
      const reason = { code: 'ERR_SLUICE_STORE_CONNECTION', outcome: 'unknown' };
      expect(result).toMatchObject({ status: 'rejected', reason });
    }
    const ready = new Promise((resolve) => client.once('ready', resolve));
    const reborn = await startRedis({ port: mortal.port });
    await ready;
    expect(await limiter.consume('a')).toMatchObject({ allowed: true });
    await client.quit();
    await reborn.stop();
  });

  it('leaves no rejection unhandled', async () => {
    const gone = await startRedis();
    await gone.stop();
    const limiter = limiterOn(connect(gone.port));
    const calls = [limiter.consume('a'), limiter.peek('a'), limiter.consume('a', { cost: -1 })];
    const settled = await Promise.allSettled(calls);
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    // Jest fails a test during which a rejection goes unhandled; a listener of the test's own would hear nothing.
    await new Promise((resolve) => setTimeout(resolve, 20));
  });
});

describe('A Redis that answers with an error', () => {
  it('is a StoreError, and nothing is charged to any policy', async () => {
    const client = connect(server.port);
    const limiter = limiterOn(client);
    await client.rpush(`failures:{a}:${limiter.name}:day`, 'not a log');
    await expect(limiter.consume('a')).rejects.toMatchObject({
      code: 'ERR_SLUICE_STORE',
      outcome: 'not-run',
      message: expect.stringContaining('WRONGTYPE'),
    });
    expect(await client.exists(`failures:{a}:${limiter.name}:minute`)).toBe(0);
    await client.del(`failures:{a}:${limiter.name}:day`);
  });

  it('out of memory is a StoreError, and the limiter goes on when there is room', async () => {
    const client = connect(server.port);
    const limiter = limiterOn(client);
    await limiter.consume('a');
    await client.config('SET', 'maxmemory', '1');
    await expect(limiter.consume('a')).rejects.toMatchObject({
      code: 'ERR_SLUICE_STORE_OOM',
      outcome: 'not-run',
    });
    await client.config('SET', 'maxmemory', '0');
    expect(await limiter.consume('a')).toMatchObject({ allowed: true, remaining: 3 });
  });

  it('in a way that makes no sense is a StoreError of its own code, never a decision', async () => {
    const client = connect(server.port);
    const nonsense = [
      ...[null, 'OK', '', '1', '1 1', 7, 7n, [], [1], ['a'], {}, Buffer.from('[]')],
      (reply: string) => `${reply} 1`,
      (reply: string) => `${reply.slice(0, -1)} 1.`,
      (reply: string) => ` ${reply}`,
      (reply: string) => reply.replace(' ', '  '),
      (reply: string) => reply.replaceAll(' ', ','),
      (reply: string) => reply.split(' '),
      (reply: string) => reply.split(' ').map(Number),
      (reply: string) => Buffer.from(reply),
    ];
    for (const answer of nonsense) {
      const bent = through(client, (reply) =>
        typeof answer === 'function' ? answer(reply as string) : answer,
      );
      await expect(limiterOn(bent).consume('a')).rejects.toMatchObject({
        name: 'StoreError',
        code: 'ERR_SLUICE_STORE_REPLY',
        outcome: 'unknown',
      });
    }
  });

  it('of which the end is missing is a StoreError, wherever it was cut', async () => {
    const client = connect(server.port);
    const lone = (own: RedisClient) =>
      createLimiter({
        name: 'lone',
        policies: [{ algorithm: 'leaky-bucket', limit: 2, window: '1h' }],
        store: new RedisStore({ client: own, prefix: `failures${names++}`, timeout: '10s' }),
        onStoreError: 'throw',
      });
    const replies: string[] = [];
    const heard = lone(through(client, (reply) => replies.push(reply as string) && reply));
    // What admits at once, what waits in the queue, and what denies, each with other fields.
    for (let i = 0; i < 3; i++) await heard.consume('cut');
    const lengths = new Set(replies.map((reply) => reply.split(' ').length));
    expect([...lengths].sort()).toEqual([3, 4, 5]);
    for (const reply of replies) {
      for (let length = 0; length < reply.length; length++) {
        const bent = lone(through(client, () => reply.slice(0, length)));
        await expect(bent.consume('cut')).rejects.toMatchObject({ code: 'ERR_SLUICE_STORE_REPLY' });
      }
    }
  });

  it('with a number that is none is a StoreError', async () => {
    const client = connect(server.port);
    for (const number of ['NaN', '0.5', '', '12', '-1', '1e0', '0x1', 'nan', '99999999999999999']) {
      const bent = through(client, (reply) => [number, ...(reply as string).split(' ').slice(1)].join(' '));
      await expect(limiterOn(bent).consume('a')).rejects.toMatchObject({ code: 'ERR_SLUICE_STORE_REPLY' });
    }
  });
});

describe('The script', () => {
  it('is sent in full once, and then called by its name: one command for each decision, whatever the policies', async () => {
    await redisCommand(server.port, 'SCRIPT', 'FLUSH');
    const client = through(connect(server.port), (reply) => reply);
    const limiter = limiterOn(client);
    await limiter.consume('a');
    expect(client.calls).toEqual(['evalsha', 'eval']);
    const decision = await limiter.consume('a');
    await limiter.peek('a');
    await limiter.refund(decision);
    await limiter.reset('a');
    expect(client.calls).toEqual(['evalsha', 'eval', 'evalsha', 'evalsha', 'evalsha', 'evalsha']);
  });

  it('is sent anew to a server that has forgotten it, and what was used stays used', async () => {
    const limiter = limiterOn(connect(server.port));
    await limiter.consume('a', { cost: 2 });
    await redisCommand(server.port, 'SCRIPT', 'FLUSH');
    expect(await limiter.consume('a')).toMatchObject({ allowed: true, remaining: 2 });
  });

  it('is never called a second time when the outcome of the first is unknown', async () => {
    const real = connect(server.port);
    const client = through(real, () => {
      throw new Error('Connection is closed.');
    });
    const limiter = limiterOn(client);
    await limiterOn(real).peek('a');
    await expect(limiter.consume('a')).rejects.toMatchObject({
      code: 'ERR_SLUICE_STORE_CONNECTION',
      outcome: 'unknown',
    });
    expect(client.calls).toEqual(['evalsha']);
  });

  it('asks for nothing where no policy has a limit', async () => {
    const client = through(connect(server.port), (reply) => reply);
    const store = new RedisStore({ client, prefix: 'failures', timeout: '20s' });
    const limiter = createLimiter({ name: 'free', policies: [{ limit: Infinity, window: 1000 }], store });
    expect(await limiter.consume('a')).toMatchObject({ allowed: true, remaining: Infinity });
    expect(client.calls).toEqual([]);
  });
});

describe('After all of this', () => {
  it('every key has a TTL of at least its resetMs, and not much more', async () => {
    const client = connect(server.port);
    const before = Date.now();
    const keys = await lives({ masters: () => [client], prefix: 'failures' });
    const after = Date.now();
    expect(keys.length).toBeGreaterThan(0);
    for (const { key, ttlMs } of keys) {
      // Window 0 ends at an instant; an entry of the log, a window after it was made.
      const [least, most] = key.endsWith(':minute') ? [WINDOW, WINDOW] : [began + WINDOW, after + WINDOW];
      expect({ key, early: after + ttlMs < least, late: before + ttlMs > most + 1000 }).toEqual({
        key,
        early: false,
        late: false,
      });
    }
  });
});
