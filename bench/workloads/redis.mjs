// Decisions in Redis, through ioredis, with a number of requests in flight all the time. Every result is read.

import { createRequire } from 'node:module';
import { Redis } from 'ioredis';
import { createLimiter } from '../../packages/core/dist/index.mjs';
import { RedisStore } from '../../packages/core/dist/redis/index.mjs';
import { makeIds, shuffled } from './ids.mjs';

const require = createRequire(import.meta.url);

/**
 * By name: a function of the client and the options that returns
 *   take(id, cost): decides once; a promise of whether the request was admitted.
 */
const contenders = {
  async noop(client) {
    const sha = await client.script('LOAD', 'return 1');
    return { take: async (id) => (await client.evalsha(sha, 1, `noop:${id}`)) === 1 };
  },

  /** The commands that no decision by the server's clock can do without, and a reply as long: what is left is deciding. */
  async undecided(client, { windowMs }) {
    const sha = await client.script(
      'LOAD',
      `redis.call('GET', KEYS[1]) local time = redis.call('TIME')
      redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return '99 60000 ' .. time[1] .. '000'`,
    );
    const [state, ttl] = [Buffer.alloc(33), String(windowMs)];
    return { take: async (id) => (await client.evalsha(sha, 1, `undecided:${id}`, state, ttl)).length > 0 };
  },

  /** The same of three policies of one key. */
  async undecidedThree(client, { windowMs }) {
    const sha = await client.script(
      'LOAD',
      `for i = 1, 3 do redis.call('GET', KEYS[i]) end local time = redis.call('TIME')
      for i = 1, 3 do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end
      return string.rep('99 60000 ' .. time[1] .. '000', 3, ',')`,
    );
    const [state, ttl] = [Buffer.alloc(33), String(windowMs)];
    const keys = (id) => ['a', 'b', 'c'].map((name) => `undecided:{${id}}:${name}`);
    return { take: async (id) => (await client.evalsha(sha, 3, ...keys(id), state, ttl)).length > 0 };
  },

  sluice(client, { limit, windowMs, policy }) {
    const limiter = createLimiter({
      policies: [{ limit, window: windowMs, ...policy }],
      // Whatever else the machine does: what is measured is Redis.
      store: new RedisStore({ client, timeout: '20s' }),
      onStoreError: 'throw',
    });
    return {
      async take(id, cost) {
        const decision = await limiter.consume(id, { cost });
        if (decision.policies.length !== 1 || !(decision.resetMs > 0)) throw new Error('No decision');
        return decision.allowed;
      },
    };
  },

  // Of one key: by the minute, the hour and the day.
  threePolicies(client, { limit }) {
    const limiter = createLimiter({
      policies: ['1m', '1h', '1d'].map((window) => ({ name: window, limit, window })),
      store: new RedisStore({ client, timeout: '20s' }),
      onStoreError: 'throw',
    });
    return {
      async take(id, cost) {
        const decision = await limiter.consume(id, { cost });
        if (decision.policies.length !== 3 || !(decision.resetMs > 0)) throw new Error('No decision');
        return decision.allowed;
      },
    };
  },

  // Three policies, each by a key of its own.
  severalKeys(client, { keys, limit, windowMs }) {
    const limiter = createLimiter({
      limits: [
        { name: 'address', policies: [{ limit, window: windowMs }] },
        { name: 'user', policies: [{ limit, window: windowMs }] },
        { name: 'all', policies: [{ limit: 2 * keys * limit, window: windowMs }] },
      ],
      store: new RedisStore({ client, timeout: '20s' }),
      onStoreError: 'throw',
    });
    return {
      async take(id, cost) {
        const decision = await limiter.consume({ address: id, user: `user:${id}`, all: 'all' }, { cost });
        if (decision.policies.length !== 3 || !(decision.resetMs > 0)) throw new Error('No decision');
        return decision.allowed;
      },
    };
  },

  flexible(client, { limit, windowMs }) {
    const { RateLimiterRedis } = require('rate-limiter-flexible');
    const limiter = new RateLimiterRedis({ storeClient: client, points: limit, duration: windowMs / 1000 });
    return {
      async take(id, cost) {
        try {
          return (await limiter.consume(id, cost)).msBeforeNext > 0;
        } catch (result) {
          if (result instanceof Error) throw result;
          return false;
        }
      },
    };
  },

  // What koa-ratelimit runs. It knows no cost.
  sortedSet(client, { limit, windowMs }) {
    const Limiter = require('async-ratelimiter');
    const limiter = new Limiter({ db: client, max: limit, duration: windowMs });
    return {
      async take(id, cost) {
        let result;
        for (let i = 0; i < cost; i++) result = await limiter.get({ id });
        return result.remaining > 0;
      },
    };
  },
};

export async function open(_name, options) {
  const client = new Redis({
    host: '127.0.0.1',
    port: options.port,
    autoResendUnfulfilledCommands: false,
    enableAutoPipelining: options.pipelined,
  });
  const { take } = await contenders[options.kind](client, options);
  const ids = makeIds(options.keys);
  const order = shuffled(options.keys);

  async function decide(count, cost) {
    let next = 0;
    let admitted = 0;
    async function lane() {
      while (next < count) {
        const id = ids[order[next % order.length]];
        next += 1;
        if (await take(id, cost)) admitted += 1;
      }
    }
    await Promise.all(Array.from({ length: options.inFlight }, lane));
    return { admitted };
  }

  return {
    /** Requests every id once. */
    visit: () => decide(ids.length, 1),
    /** Takes all of every id's limit. */
    exhaust: () => decide(ids.length, options.limit),
    decide: (count) => decide(count, 1),
  };
}
