// What stands between a decision and a client of Redis that answers at once: with a number of requests in flight.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';
import { createLimiter } from '../../packages/core/dist/index.mjs';
import { RedisStore } from '../../packages/core/dist/redis/index.mjs';

const REPLY = '99 60000 1796055362500.';
const KEYS = ['rl:{user:42}:default'];
const NUMBERS = Buffer.alloc(24);

const client = {
  evalsha: async () => REPLY,
  eval: async () => REPLY,
};

const read = (reply) => reply.split(' ').map(Number);

/** The part of the package that sends the script is none of its exports. */
async function importSource(name) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const outfile = join(folder, 'module.mjs');
  buildSync({
    entryPoints: [fileURLToPath(new URL(`../../packages/core/src/redis/${name}.ts`, import.meta.url))],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
  });
  const module = await import(pathToFileURL(outfile));
  rmSync(folder, { recursive: true });
  return module;
}

const limiterOf = (onStoreError) =>
  createLimiter({
    policies: [{ limit: 100, window: '1m' }],
    store: new RedisStore({ client }),
    onStoreError,
  });

/** By name: a function that returns one that decides once. */
const contenders = {
  'the client alone': () => async () => read(await client.evalsha('sha', KEYS.length, ...KEYS, NUMBERS)),

  'sent by name, and in full where it is not known': () => {
    const send = async () => {
      try {
        return await client.evalsha('sha', KEYS.length, ...KEYS, NUMBERS);
      } catch (error) {
        if (!error.message.startsWith('NOSCRIPT')) throw error;
      }
      return client.eval('script', KEYS.length, ...KEYS, NUMBERS);
    };
    return async () => read(await send());
  },

  async 'the same + deadline and breaker'() {
    const { ScriptRunner } = await importSource('script-runner');
    const runner = new ScriptRunner(client, 250);
    return () => runner.run(KEYS, NUMBERS, read);
  },

  "a limiter, onStoreError: 'throw'": () => {
    const limiter = limiterOf('throw');
    return () => limiter.consume('user:42');
  },

  "a limiter, onStoreError: 'local'": () => {
    const limiter = limiterOf('local');
    return () => limiter.consume('user:42');
  },
};

export async function open(name, { inFlight }) {
  const decide = await contenders[name]();
  return {
    async decide(count) {
      let left = count;
      let read = 0;
      async function lane() {
        while (left > 0) {
          left -= 1;
          const answer = await decide();
          read += answer[0] ?? answer.remaining;
        }
      }
      // Turns of the event loop between, as there are in a server.
      while (left > 0) {
        const rest = left - Math.min(left, 50 * inFlight);
        left -= rest;
        await Promise.all(Array.from({ length: inFlight }, lane));
        left = rest;
        await new Promise((resolve) => setImmediate(resolve));
      }
      if (read !== 99 * count) throw new Error('No decision');
      return { decided: count };
    },
  };
}
