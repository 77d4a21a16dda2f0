/**
 * A server that says which of its requests are still in memory after they are over. The framework comes as an argument.
 *
 * @module
 */

import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createLimiter, type Decision, manualClock } from '@sluice/core';
import { createGuard, type RateLimitOptions, type RawResponse } from '@sluice/core/http';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** A server of one of these, or none: the guard alone. */
export type Subject = 'Express' | 'Fastify' | 'Koa' | 'none';

/** How many requests there were, and how many of each kind are still in memory. */
export interface Remains {
  readonly sent: number;
  /** Streams that have ended, those whose client left, and those whose client left while they were held. */
  readonly alive: Readonly<Record<'ended' | 'left' | 'held', number>>;
  /** Of streams that go on, for the guard alone: the requests that nobody else holds, and the most listeners of one. */
  readonly open?: { readonly alive: number; readonly listeners: number };
}

const SENT = 50;

/** Every object that stands for a request, while it is in memory. */
const tracked: WeakRef<object>[] = [];
const registry = new FinalizationRegistry<WeakRef<object>>((ref) => tracked.splice(tracked.indexOf(ref), 1));
function track(...requests: object[]): void {
  for (const request of requests) {
    const ref = new WeakRef(request);
    tracked.push(ref);
    registry.register(request, ref);
  }
}

/** The streams that are open. */
const streams = new Set<ServerResponse>();
function stream(response: ServerResponse, decision: Decision | null | undefined): void {
  if (decision?.settle(2) !== undefined) throw new Error('The store is not the one in memory.');
  response.write('begun');
  streams.add(response);
  response.once('close', () => streams.delete(response));
}

const CAPACITY = 1e6;
const queue = createLimiter({
  name: 'queue',
  policies: [{ algorithm: 'leaky-bucket', limit: 1, window: '1h', capacity: CAPACITY }],
  clock: manualClock(0),
});
/** How many requests stand in the queue behind the first. */
const heldNow = () => Math.max(0, CAPACITY - queue.peek('held').remaining - 1);

/** Every kind of waiting for the end, and a queue in which all but the first are held for a long time. */
const limits = [
  { name: 'plain', limit: 1e6, window: '1h' },
  { name: 'failed', limit: 1e6, window: '1h', countOnly: 'failed' },
  { name: 'function', limit: 1e6, window: '1h', countOnly: async () => false },
  {
    limiter: queue,
    // Each stream has a queue of its own.
    key: ({ url }: { url: string }) => (url === '/held' ? 'held' : `${Math.random()}`),
  },
] as const;

const apps: Record<Exclude<Subject, 'none'>, () => Promise<RequestListener>> = {
  Express: async () => {
    const [{ default: express }, { rateLimit }] = await Promise.all([
      import('express'),
      import('@sluice/express'),
    ]);
    const app = express();
    app.use((request, response, next) => {
      track(request, response);
      next();
    });
    for (const limit of limits) app.use(rateLimit(limit));
    app.use((request, response) => stream(response, request.rateLimit));
    return app;
  },
  Fastify: async () => {
    const [{ default: Fastify }, { rateLimit }] = await Promise.all([
      import('fastify'),
      import('@sluice/fastify'),
    ]);
    const app = Fastify();
    app.addHook('onRequest', async (request, reply) => track(request, request.raw, reply, reply.raw));
    for (const limit of limits) await app.register(rateLimit, limit);
    app.get('/*', (request, reply) => stream(reply.hijack().raw, request.rateLimit));
    await app.ready();
    return app.routing;
  },
  Koa: async () => {
    const [{ default: Koa }, { rateLimit }] = await Promise.all([import('koa'), import('@sluice/koa')]);
    const app = new Koa();
    app.use((context, next) => {
      track(context, context.req, context.res);
      return next();
    });
    for (const limit of limits) app.use(rateLimit(limit));
    app.use((context) => {
      context.respond = false;
      stream(context.res, context.state.rateLimit);
    });
    return app.callback();
  },
};

const turn = () => new Promise((resolve) => setTimeout(resolve, 5));

/** How many of the tracked objects are not collected, once no more are. */
async function remaining(): Promise<number> {
  for (let i = 0; i < 20 && tracked.length > 0; i++) {
    collectGarbage();
    await turn();
  }
  return tracked.splice(0).length;
}

async function serve(subject: Exclude<Subject, 'none'>): Promise<Remains> {
  const server = createServer(await apps[subject]()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  /** Opens streams, ends them, and counts what is left of them. */
  const stage = async (path: string, end: (clients: Socket[]) => void): Promise<number> => {
    const clients = await Promise.all(
      Array.from({ length: SENT }, async () => {
        const client = connect(port, '127.0.0.1');
        client.on('error', () => {}).resume();
        await once(client, 'connect');
        client.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
        return client;
      }),
    );
    while (streams.size + heldNow() < SENT) await turn();
    end(clients);
    for (const client of clients) client.destroySoon();
    while (streams.size > 0) await turn();
    return remaining();
  };

  const ended = await stage('/', () => {
    for (const response of streams) response.end();
  });
  const leave = (clients: Socket[]) => {
    for (const client of clients) client.destroy();
  };
  const left = await stage('/', leave);
  // The place of the first in the queue, who is served.
  queue.consume('held');
  const held = await stage('/held', leave);
  server.close();
  return { sent: SENT, alive: { ended, left, held } };
}

/** The guard alone: no framework holds the requests of streams that go on. */
async function guardAlone(): Promise<Remains> {
  const host = { raw: (request: IncomingMessage) => request, address: () => '192.0.2.1' };
  const guards = limits
    .slice(0, 2)
    .map((limit) => createGuard(limit as RateLimitOptions<IncomingMessage, never>, host));
  const responses = Array.from({ length: SENT }, () => new EventEmitter());
  // A function of its own, as this one would hold on to the last.
  const ask = (response: EventEmitter) => {
    const request = { headers: {}, socket: {} } as IncomingMessage;
    track(request);
    for (const guard of guards) guard.check(request, response as RawResponse);
  };
  responses.forEach(ask);
  const alive = await remaining();
  const listeners = Math.max(...responses.map((response) => response.listenerCount('close')));
  return { sent: SENT, alive: { ended: 0, left: 0, held: 0 }, open: { alive, listeners } };
}

const subject = process.argv[2] as Subject;
(subject === 'none' ? guardAlone() : serve(subject)).then((remains) =>
  process.send?.(remains, () => process.disconnect()),
);
