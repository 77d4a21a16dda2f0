/**
 * Requests that are injected into Fastify, which Jest cannot load the parts for.
 *
 * @module
 */

import { createLimiter } from '@sluice/core';
import { rateLimit } from '@sluice/fastify';
import Fastify from 'fastify';

/** What came of the requests, in order. */
export interface Injected {
  /** After each request that is to count if it fails: its path, and what is left of three. */
  readonly left: readonly [path: string, remaining: number][];
  /** Of two that were injected into a leaky bucket at once: status, wait, and whether that was kept. */
  readonly held: readonly [status: number, waits: boolean, kept: boolean][];
}

async function counted(): Promise<Injected['left']> {
  const app = Fastify();
  const limiter = createLimiter({ policies: [{ limit: 3, window: '1h' }] });
  await app.register(rateLimit, { limiter, key: () => 'k', countOnly: 'failed' });
  app.get('/', () => 'hello');
  app.get('/raw', (_request, reply) => {
    reply.hijack().raw.end('hello');
  });
  app.get('/fail', () => {
    throw new Error('The route failed.');
  });
  const left: [string, number][] = [];
  for (const path of ['/', '/raw', '/', '/fail', '/none', '/']) {
    await app.inject(path);
    await new Promise((resolve) => setImmediate(resolve));
    left.push([path, limiter.peek('k').remaining]);
  }
  return left;
}

async function held(): Promise<Injected['held']> {
  const app = Fastify();
  await app.register(rateLimit, { algorithm: 'leaky-bucket', limit: 20, window: '1s', key: () => 'k' });
  app.get('/', (request) => request.rateLimit?.delayMs);
  const began = performance.now();
  const ask = async (): Promise<[number, boolean, boolean]> => {
    const reply = await app.inject('/');
    const delayMs: number = reply.json();
    // A timer may fire up to a millisecond early.
    return [reply.statusCode, delayMs > 0, performance.now() - began > delayMs - 1];
  };
  return Promise.all([ask(), ask()]);
}

Promise.all([counted(), held()]).then(([left, delays]) =>
  process.send?.({ left, held: delays }, () => process.disconnect()),
);
