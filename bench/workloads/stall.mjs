// The longest that a single call takes while keys arrive, each for the first time, and those before it expire.

import { createRequire } from 'node:module';
import { PerformanceObserver } from 'node:perf_hooks';
import { createLimiter, MemoryStore } from '../../packages/core/dist/index.mjs';
import { makeIds } from './ids.mjs';

const require = createRequire(import.meta.url);

/** Shorter calls are not looked at. */
const LONG_MS = 0.2;

const answer = (used, now) => {
  const only = {
    name: 'default',
    limit: 100,
    windowMs: 500,
    remaining: used,
    retryAfterMs: 0,
    resetMs: 500,
    allowed: true,
  };
  return {
    allowed: true,
    policy: 'default',
    limit: 100,
    remaining: used,
    resetMs: 500,
    at: now,
    policies: [only],
  };
};

/** By name: a function of the options that returns what decides of a key. */
const contenders = {
  // It allocates as much, by pieces, and never looks for anything: so the collector has as much to do.
  'objects, rows and ids, never looked for': ({ keys }) => {
    const pieces = [];
    const cells = new Int32Array(4 * keys);
    let size = 0;
    return (id) => {
      if (size % 1024 === 0)
        pieces.push({ ids: new Array(1024).fill(undefined), rows: new Float64Array(8 * 1024) });
      const { ids, rows } = pieces[size >> 10];
      ids[size & 1023] = id;
      rows[8 * (size & 1023)] = id.length;
      cells[4 * (size % keys)] = size;
      size += 1;
      return answer(id.length, Date.now());
    };
  },
  'one Map that grows': () => {
    const slots = new Map();
    return (id) => {
      slots.set(id, slots.size);
      return answer(slots.size, Date.now());
    };
  },
  sluice: ({ keys, windowMs }) => {
    const limiter = createLimiter({
      policies: [{ limit: 100, window: windowMs }],
      store: new MemoryStore({ maxKeys: 2 * keys }),
    });
    return (id) => limiter.consume(id);
  },
  'express-rate-limit': ({ windowMs }) => {
    const { MemoryStore: PeerStore } = require('express-rate-limit');
    const store = new PeerStore();
    store.init({ windowMs });
    return Object.assign((id) => store.increment(id), { stop: () => store.shutdown() });
  },
  '@fastify/rate-limit, local store': ({ keys, windowMs }) => {
    const LocalStore = require('@fastify/rate-limit/store/LocalStore.js');
    const store = new LocalStore(false, false, 2 * keys);
    let last;
    const callback = (_error, result) => {
      last = result;
    };
    return (id) => {
      store.incr(id, callback, windowMs, 100);
      return last;
    };
  },
};

export function open(name, options) {
  const ids = makeIds(options.keys);
  return {
    /** Returns the longest call, as it was and without the collector, and its longest pause, in ms, of a new store. */
    async arrive() {
      const take = contenders[name](options);
      // Compiled before it is timed.
      for (let i = 0; i < 20_000; i++) take(`warm:${i}`);
      const pauses = [];
      const observer = new PerformanceObserver((list) => pauses.push(...list.getEntries()));
      observer.observe({ entryTypes: ['gc'] });
      const calls = [];
      let last;
      for (const id of ids) {
        const start = performance.now();
        last = take(id);
        const end = performance.now();
        if (end - start > LONG_MS) calls.push({ start, end });
      }
      await last;
      await new Promise((resolve) => setTimeout(resolve, 50));
      observer.disconnect();
      take.stop?.();
      return {
        longest: Math.max(0, ...calls.map(({ start, end }) => end - start)),
        own: Math.max(0, ...calls.map((call) => withoutPauses(call, pauses))),
        pause: Math.max(0, ...pauses.map(({ duration }) => duration)),
      };
    },
  };
}

function withoutPauses({ start, end }, pauses) {
  const within = pauses.map(({ startTime, duration }) =>
    Math.max(0, Math.min(end, startTime + duration) - Math.max(start, startTime)),
  );
  return end - start - within.reduce((sum, ms) => sum + ms, 0);
}
