/**
 * A server that says what Node warned of: which framework, how many requests, and their headers come as arguments.
 *
 * @module
 */

import cluster from 'node:cluster';
import { once } from 'node:events';
import { createServer, get, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { connect, createServer as createServer2 } from 'node:http2';
import type { AddressInfo } from 'node:net';

/** What to try. */
export interface Trial {
  readonly framework: 'Express' | 'Fastify' | 'Koa';
  /** The framework's own setting: `true` is everyone. Only Fastify is tried with a number. */
  readonly trust: boolean | 'loopback' | number;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether a limiter is made for each request. */
  readonly perRequest?: boolean;
  /** Whether to speak HTTP/2. */
  readonly http2?: boolean;
  /** Whether to do so in a worker of a cluster. */
  readonly worker?: boolean;
}

/** The codes of the warnings, in order. */
export type Seen = readonly string[];

const trial: Trial = JSON.parse(process.argv[2]);
/** Each asks for a path of its own. */
const REQUESTS = 5;
const limit = { limit: 100, window: '1h' } as const;

/** Loads but the framework that is asked for. */
const apps: Record<Trial['framework'], () => Promise<RequestListener>> = {
  Express: async () => {
    const [{ default: express }, { rateLimit }] = await Promise.all([
      import('express'),
      import('@sluice/express'),
    ]);
    const app = express();
    app.set('trust proxy', trial.trust);
    const middleware = rateLimit(limit);
    app.use((...args) => (trial.perRequest ? rateLimit(limit) : middleware)(...args));
    return app;
  },
  Fastify: async () => {
    const [{ default: Fastify }, { rateLimit }] = await Promise.all([
      import('fastify'),
      import('@sluice/fastify'),
    ]);
    // The types of late refuse a number, which is still taken.
    const app = Fastify({ trustProxy: trial.trust as boolean | string });
    for (let i = 0; i < REQUESTS; i++) app.get(`/${i}`, { config: { rateLimit: {} } }, () => 'hello');
    app.register(rateLimit, limit);
    await app.ready();
    return app.routing;
  },
  Koa: async () => {
    const [{ default: Koa }, { rateLimit }] = await Promise.all([import('koa'), import('@sluice/koa')]);
    const app = new Koa({ proxy: trial.trust !== false, maxIpsCount: trial.trust === 'loopback' ? 1 : 0 });
    const middleware = rateLimit(limit);
    app.use((...args) => (trial.perRequest ? rateLimit(limit) : middleware)(...args));
    return app.callback();
  },
};

async function run(): Promise<Seen> {
  const seen: string[] = [];
  process.on('warning', (warning) => seen.push((warning as NodeJS.ErrnoException).code ?? warning.message));
  const listener = await apps[trial.framework]();
  const server = trial.http2
    ? createServer2(listener as unknown as Parameters<typeof createServer2>[1])
    : createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  for (let i = 0; i < REQUESTS; i++) {
    const headers = await (trial.http2 ? ask2 : ask)(port, `/${i}`);
    if (headers['x-ratelimit-limit'] !== '100') seen.push('The request was not limited.');
  }
  server.close();
  return seen;
}

async function ask(port: number, path: string): Promise<IncomingHttpHeaders> {
  const [response] = await once(get({ port, path, headers: trial.headers, agent: false }), 'response');
  await once(response.resume(), 'end');
  return response.headers;
}

async function ask2(port: number, path: string): Promise<IncomingHttpHeaders> {
  const client = connect(`http://127.0.0.1:${port}`);
  const stream = client.request({ ...trial.headers, ':path': path });
  const [headers] = await once(stream, 'response');
  await once(stream.resume(), 'end');
  client.close();
  return headers;
}

if (trial.worker && cluster.isPrimary) {
  cluster.setupPrimary({ args: process.argv.slice(2) });
  cluster.fork().on('message', (seen) => process.send?.(seen));
} else {
  run().then((seen) => process.send?.(seen, () => process.disconnect()));
}
