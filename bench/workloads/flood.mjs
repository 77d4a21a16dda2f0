// A store that is full, and requests under keys that it never saw: what they cost, what they take, and whom they free.

import { createRequire } from 'node:module';
import { createLimiter, MemoryStore } from '../../packages/core/dist/index.mjs';

const require = createRequire(import.meta.url);

/** The control. */
export const KEEPING = 'a key it knows, and the new one kept (control)';

/**
 * By name: what decides of a key and returns a number of its answer, and whether it is let in if it asks again; `meet`
 * is what is done of a new key, where that is something else.
 */
const contenders = {
  // Every store has to keep the new key and let go of an old one, which is work for the collector.
  [KEEPING]: (options) => {
    const store = contenders.sluice(options);
    const { maxKeys } = options;
    const kept = new Array(maxKeys).fill('');
    let place = 0;
    return {
      ...store,
      meet(key, known) {
        kept[place] = key;
        place = (place + 1) % maxKeys;
        return store.take(known);
      },
    };
  },

  sluice: ({ maxKeys, limit, windowMs }) => {
    const limiter = createLimiter({
      policies: [{ limit, window: windowMs }],
      store: new MemoryStore({ maxKeys }),
    });
    return {
      take: (key) => limiter.consume(key).remaining,
      exhaust: (key) => limiter.consume(key, { cost: limit }),
      admits: (key) => limiter.peek(key).allowed,
    };
  },

  // A list of the keys in the order of their use: what is new takes the place of the oldest, whoever that is.
  '@fastify/rate-limit, local store': ({ maxKeys, limit, windowMs }) => {
    const LocalStore = require('@fastify/rate-limit/store/LocalStore.js');
    const store = new LocalStore(false, false, maxKeys);
    let current = 0;
    const callback = (_error, result) => {
      current = result.current;
    };
    const take = (key) => {
      store.incr(key, callback, windowMs, limit);
      return current;
    };
    return {
      take,
      exhaust(key) {
        for (let i = 0; i < limit; i++) take(key);
      },
      admits: (key) => take(key) <= limit,
    };
  },
};

/** Keys of one length, as the engine takes its time for those of 13 characters and more. */
const user = (i) => `user:${10_000_000 + i}`;
const other = (i) => `othr:${10_000_000 + i}`;

export function open(name, options) {
  const { maxKeys } = options;
  const { take, exhaust, admits, meet = take } = contenders[name](options);
  let flooded = 0;
  let asked = 0;

  /** Half of the keys of the beginning, each in its turn, in an order without pattern. */
  function known() {
    asked = (asked + 61_803) % (maxKeys >> 1);
    return user(maxKeys - 1 - asked);
  }

  return {
    /** Fills the store with keys, and exhausts the limit of the attacker; returns whether the next request fits. */
    prepare() {
      for (let i = 0; i < maxKeys; i++) take(user(i));
      exhaust('attacker');
      take('attacker');
      return admits('attacker');
    },
    /** Requests of keys that are known. */
    quiet(count) {
      let sum = 0;
      for (let i = 0; i < count; i++) sum += take(known());
      return sum;
    },
    /** Requests of keys that are new, each of which takes the place of another. */
    flood(count) {
      let sum = 0;
      for (let i = 0; i < count; i++) sum += meet(other(flooded++), known());
      return sum;
    },
    /** Whether the attacker is let in, who was not heard of meanwhile. */
    isFree: () => admits('attacker'),
    async bytes() {
      for (let i = 0; i < 4; i++) {
        globalThis.gc();
        await new Promise(setImmediate);
      }
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    },
  };
}
