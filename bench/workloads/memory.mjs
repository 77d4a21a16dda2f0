// Decisions in this process. Every contender gets the same ids in the same order; every field of every result is read
// and summed up, and the last few results are kept, so that none can be optimised away.

import { createRequire } from 'node:module';
import { createLimiter, MemoryStore, manualClock } from '../../packages/core/dist/index.mjs';
import { makeIds, shuffled } from './ids.mjs';

const require = createRequire(import.meta.url);

const KEPT = 64;
const kept = new Array(KEPT).fill(undefined);
let place = 0;
let admitted = 0;

function keep(result) {
  kept[place] = result;
  place = (place + 1) % KEPT;
}

/** Reads all that a decision says. */
function read(decision) {
  keep(decision);
  if (decision.allowed) admitted += 1;
  return (
    decision.limit +
    decision.remaining +
    decision.retryAfterMs +
    decision.resetMs +
    decision.delayMs +
    decision.cost +
    decision.policy.length +
    decision.policies.length
  );
}

/**
 * By name: a function of the options that returns
 *   clear(ids): makes the store as new. It is the same store for good: what V8 has learnt of it must not die with it.
 *   take(id): decides once, and returns a number made of the result, or a promise of it;
 *   fill(id): takes all of the limit at once (only where requests can be denied).
 */
const contenders = {
  'map + typed array': ({ keys }) => {
    const width = 2;
    const slots = new Map();
    const counts = new Float64Array(width * (keys + 1));
    return {
      clear() {
        slots.clear();
        counts.fill(0);
      },
      take(id) {
        let slot = slots.get(id);
        if (slot === undefined) {
          slot = slots.size + 1;
          slots.set(id, slot);
        }
        counts[width * slot] += 1;
        return counts[width * slot];
      },
    };
  },

  'map alone': () => {
    const slots = new Map();
    return {
      take(id) {
        slots.set(id, slots.size);
        return slots.size;
      },
    };
  },

  'the same + clock + nine-field object': ({ keys, limit, windowMs }) => {
    const width = 2;
    const policies = [];
    const slots = new Map();
    const counts = new Float64Array(width * (keys + 1));
    return {
      clear() {
        slots.clear();
        counts.fill(0);
      },
      take(id) {
        const now = Date.now();
        let slot = slots.get(id);
        if (slot === undefined) {
          slot = slots.size + 1;
          slots.set(id, slot);
        }
        const used = counts[width * slot] + 1;
        counts[width * slot] = used;
        const reset = windowMs - (now % windowMs);
        const allowed = used <= limit;
        return read({
          allowed,
          policy: 'default',
          limit,
          remaining: allowed ? limit - used : 0,
          retryAfterMs: allowed ? 0 : reset,
          resetMs: reset,
          delayMs: 0,
          cost: 1,
          policies,
        });
      },
    };
  },

  // The least that returns what Sluice returns: a row of numbers per key, and a fresh decision that holds its policies'
  // answers and what a refund must know. Nothing is worked out that two counters would need, nothing is checked.
  'the same + clock + all objects of a decision': ({ keys, limit, windowMs }) => {
    const width = 4;
    const plan = {};
    const slots = new Map();
    const rows = new Float64Array(width * (keys + 1));
    return {
      clear() {
        slots.clear();
        rows.fill(0);
      },
      take(id) {
        const now = Date.now();
        let slot = slots.get(id);
        if (slot === undefined) {
          slot = slots.size + 1;
          slots.set(id, slot);
        }
        const base = width * slot;
        const used = rows[base] + 1;
        rows[base] = used;
        rows[base + 1] = windowMs;
        rows[base + 2] = now;
        rows[base + 3] = now + windowMs;
        const resetMs = windowMs - (now % windowMs);
        const allowed = used <= limit;
        const remaining = allowed ? limit - used : 0;
        const retryAfterMs = allowed ? 0 : resetMs;
        const only = { name: 'default', limit, windowMs, remaining, retryAfterMs, resetMs, allowed };
        return read({
          allowed,
          policy: only.name,
          limit,
          remaining,
          retryAfterMs,
          resetMs,
          delayMs: 0,
          cost: 1,
          degraded: false,
          policies: [only],
          limiter: slots,
          id,
          plan,
          left: 1,
          at: now,
        });
      },
    };
  },

  // What two counters must read, work out and write, by hand and in a row: for one policy with these numbers and cost 1,
  // without a bound on the keys, and none is ever forgotten. The decision is the same as above.
  'two counters by hand + all objects of a decision': ({ keys, limit, windowMs }) => {
    const width = 3;
    const plan = {};
    const slots = new Map();
    const rows = new Float64Array(width * (keys + 1));
    return {
      clear() {
        slots.clear();
        rows.fill(0);
      },
      take(id) {
        const now = Date.now();
        let slot = slots.get(id);
        if (slot === undefined) {
          slot = slots.size + 1;
          slots.set(id, slot);
        }
        const base = width * slot;
        const at = Math.max(now, rows[base] * windowMs);
        const elapsed = at % windowMs;
        const window = (at - elapsed) / windowMs;
        let used = rows[base + 1];
        let old = rows[base + 2];
        if (window !== rows[base]) {
          old = window === rows[base] + 1 ? used : 0;
          used = 0;
        }
        const room = limit - used - Math.ceil((old * (windowMs - elapsed)) / windowMs);
        const allowed = room >= 1;
        // Of what is denied only roughly: what is compared is what is admitted.
        const retryAfterMs = allowed ? 0 : windowMs - elapsed;
        const resetMs = 2 * windowMs - elapsed;
        const remaining = allowed ? room - 1 : 0;
        if (allowed) {
          rows[base] = window;
          rows[base + 1] = used + 1;
          rows[base + 2] = old;
        }
        const only = { name: 'default', limit, windowMs, remaining, retryAfterMs, resetMs, allowed };
        return read({
          allowed,
          policy: only.name,
          limit,
          remaining,
          retryAfterMs,
          resetMs,
          delayMs: 0,
          cost: 1,
          degraded: false,
          policies: [only],
          limiter: slots,
          id,
          plan,
          left: allowed ? 1 : -1,
          at,
        });
      },
    };
  },

  sluice: ({ keys, limit, windowMs, policy, entries = 1 }) => {
    // A round of requests may take less than a ms, and then a log has fewer entries.
    const clock = entries > 1 ? manualClock(Date.now()) : undefined;
    const limiter = createLimiter({
      policies: [{ limit, window: windowMs, ...policy }],
      store: new MemoryStore({ maxKeys: Math.max(1_000_000, keys) }),
      clock,
    });
    return {
      nextRound: () => clock?.advance(1),
      clear(ids) {
        for (const id of ids) limiter.reset(id);
      },
      take: (id) => read(limiter.consume(id)),
      fill: (id) => read(limiter.consume(id, { cost: limit })),
    };
  },

  'express-rate-limit, increment awaited': ({ windowMs }) => {
    const { MemoryStore: PeerStore } = require('express-rate-limit');
    const store = new PeerStore();
    store.init({ windowMs });
    return {
      clear: () => store.resetAll(),
      async: true,
      take: (id) => store.increment(id),
      read(result) {
        keep(result);
        return result.totalHits + result.resetTime.getTime();
      },
    };
  },

  // Less than anyone can use: the answer is in the promise, and nobody looks.
  'express-rate-limit, increment not awaited': ({ windowMs }) => {
    const { MemoryStore: PeerStore } = require('express-rate-limit');
    const store = new PeerStore();
    store.init({ windowMs });
    return {
      clear: () => store.resetAll(),
      take(id) {
        keep(store.increment(id));
        return 1;
      },
    };
  },

  '@fastify/rate-limit, local store': ({ keys, limit, windowMs }) => {
    const LocalStore = require('@fastify/rate-limit/store/LocalStore.js');
    // Its default of 5,000 would drop half of the ids.
    const store = new LocalStore(false, false, 2 * keys);
    let sum = 0;
    const callback = (_error, result) => {
      keep(result);
      sum = result.current + result.ttl;
    };
    return {
      clear: () => store.lru.clear(),
      take(id) {
        store.incr(id, callback, windowMs, limit);
        return sum;
      },
    };
  },

  'rate-limiter-flexible, memory': ({ limit, windowMs }) => {
    const { RateLimiterMemory } = require('rate-limiter-flexible');
    const limiter = new RateLimiterMemory({ points: limit, duration: windowMs / 1000 });
    const readResult = (result, fits) => {
      keep(result);
      if (fits) admitted += 1;
      return (
        result.remainingPoints +
        result.msBeforeNext +
        result.consumedPoints +
        (result.isFirstInDuration ? 1 : 0)
      );
    };
    const denied = (result) => {
      if (result instanceof Error) throw result;
      return readResult(result, false);
    };
    return {
      async clear(ids) {
        for (const id of ids) await limiter.delete(id);
      },
      async: true,
      take: (id) => limiter.consume(id),
      fill: (id) => limiter.consume(id, limit),
      read: (result) => readResult(result, true),
      denied,
    };
  },
};

export function open(name, options) {
  const { clear, take, fill = take, read: readOne, denied, async = false } = contenders[name](options);
  const ids = makeIds(options.keys);
  const order = shuffled(options.keys);
  let next = 0;

  function following() {
    const id = ids[order[next]];
    next = next + 1 === order.length ? 0 : next + 1;
    return id;
  }

  function decideAtOnce(count) {
    let sum = 0;
    for (let i = 0; i < count; i++) sum += take(following());
    return sum;
  }

  async function decideByPromise(count) {
    let sum = 0;
    for (let i = 0; i < count; i++) {
      try {
        sum += readOne(await take(following()));
      } catch (result) {
        sum += denied(result);
      }
    }
    return sum;
  }

  return {
    clear: () => clear(ids),
    /** Requests every id once. */
    async visit() {
      for (const id of ids) {
        const result = take(id);
        if (async) await result;
      }
    },
    /** Takes all of every id's limit. */
    async exhaust() {
      for (const id of ids) await fill(id);
    },
    /** Returns the bytes that a store with every id in it holds, ids not included. */
    async weigh() {
      // What the first calls leave behind, such as compiled code, is no store's.
      for (const id of ids.slice(0, 2_000)) await take(id);
      const before = await bytesInUse();
      const other = contenders[name](options);
      for (let entry = 0; entry < (options.entries ?? 1); entry++) {
        other.nextRound?.();
        for (const id of ids) {
          const result = other.take(id);
          if (async) await result;
        }
      }
      const bytes = (await bytesInUse()) - before;
      // Still in use until here.
      await other.take(ids[0]);
      return bytes;
    },
    async decide(count) {
      admitted = 0;
      const sum = async ? await decideByPromise(count) : decideAtOnce(count);
      return { sum, admitted };
    },
  };
}

async function bytesInUse() {
  kept.fill(undefined);
  // What is collected in the background is only counted as free when the next collection begins.
  for (let i = 0; i < 4; i++) {
    globalThis.gc();
    await new Promise(setImmediate);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
