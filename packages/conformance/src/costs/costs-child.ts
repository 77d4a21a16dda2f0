/**
 * Tells how many bytes a decision allocates, by what it is made with: V8's own count, in a process that does nothing else.
 *
 * @module
 */

import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { createLimiter, type Policy } from '@sluice/core';
import { createGuard } from '@sluice/core/http';

/** Enough for the compiler to have done all it will. */
const WARM = 100_000;
/** So few that hardly any batch meets a collection; no collection is asked for, as it takes optimised code along. */
const BATCH = 100;
const BATCHES = 1001;

const LIMIT = 1_000_000_000;
const lone = (algorithm: Policy['algorithm']) => [{ algorithm, limit: 1000, window: 1000 } as Policy];
const ids = Array.from({ length: 64 }, (_, i) => `user:${i}`);

const host = {
  raw: (request: IncomingMessage) => request,
  address: ({ socket }: IncomingMessage) => socket.remoteAddress,
};

/** What is measured: each returns what makes one decision. */
const subjects: Readonly<Record<string, () => () => unknown>> = {
  'fixed-window': () => consuming(lone('fixed-window')),
  'sliding-window-counter': () => consuming(lone('sliding-window-counter')),
  'token-bucket': () => consuming(lone('token-bucket')),
  gcra: () => consuming(lone('gcra')),
  'leaky-bucket': () => consuming(lone('leaky-bucket')),
  'three policies': () =>
    consuming(
      [1, 60, 3600].map((seconds) => ({ name: `${seconds}s`, limit: LIMIT, window: seconds * 1000 })),
    ),
  'a request in HTTP': checking,
};

function consuming(policies: readonly Policy[]): () => unknown {
  const limiter = createLimiter({ policies });
  let next = 0;
  return () => {
    next = (next + 1) % ids.length;
    return limiter.consume(ids[next]);
  };
}

function checking(): () => unknown {
  const guard = createGuard({ limit: LIMIT, window: '1m' }, host);
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: '192.0.2.1' });
  const response = new ServerResponse(new IncomingMessage(socket));
  // Made before, so that they do not count.
  let requests: IncomingMessage[] = [];
  return () => {
    const request = requests.pop();
    if (request !== undefined) return guard.check(request, response);
    requests = Array.from({ length: BATCH }, () => {
      const made = new IncomingMessage(socket);
      made.method = 'GET';
      made.rawHeaders = ['Host', 'localhost', 'Accept', '*/*'];
      return made;
    });
    return undefined;
  };
}

function bytesOf(decide: () => unknown): number {
  for (let i = 0; i < WARM; i++) decide();
  const batches = Array.from({ length: BATCHES }, () => {
    // As it may make what it needs for a batch.
    decide();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < BATCH; i++) decide();
    return (process.memoryUsage().heapUsed - before) / BATCH;
  });
  return batches.sort((a, b) => a - b)[BATCHES >> 1];
}

const bytes = Object.fromEntries(
  Object.entries(subjects).map(([name, subject]) => [name, Math.round(bytesOf(subject()))]),
);
process.send?.(bytes);
