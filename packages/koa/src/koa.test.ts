import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import cors from '@koa/cors';
import { adapterSuite, bodiesOf, listen, optionsFor, type Start } from '@sluice/conformance';
import type { Decision } from '@sluice/core';
import Koa, { type Context, type Middleware } from 'koa';
import Koa2 from 'koa2';
import request from 'supertest';
import { type DenialHandler, type KoaRateLimitOptions, type RateLimitError, rateLimit } from './index.js';

const versions = { 'Koa 3': Koa, 'Koa 2': Koa2 as unknown as typeof Koa };

for (const [name, App] of Object.entries(versions)) adapterSuite({ name, start: starting(App), http2: true });

const koaOptions = (options: Parameters<Start>[0]['limits'][number]) =>
  optionsFor<KoaRateLimitOptions>(options, (handler) => (context: Context, decision: Decision) => {
    const send = (text: string) => {
      context.body = text;
    };
    const answer = handler(decision);
    return typeof answer === 'string' ? send(answer) : answer.then(send);
  });

function starting(App: typeof Koa): Start {
  return async ({ limits, trustProxy = false, cors: sharing, before, answer, http2, path }) => {
    const app = new App();
    const errors: unknown[] = [];
    let handled = 0;

    app.proxy = trustProxy;
    app.maxIpsCount = 1;
    app.on('error', (error) => errors.push(error));
    app.use(async (context, next) => {
      if (before === undefined) return next();
      const impatience = new Promise<void>((resolve) => before(resolve)).then(() => {
        context.status = 503;
        context.body = 'busy';
      });
      await Promise.race([next(), impatience]);
    });
    const middlewares = new Map(limits.map((options) => [options, rateLimit(koaOptions(options))]));
    const share = cors(sharing?.exposed && { exposeHeaders: [...sharing.exposed] });
    if (sharing?.place === 'before') app.use(share);
    for (const options of limits) app.use(middlewares.get(options)!);
    if (sharing?.place === 'after') app.use(share);
    app.use((context) => {
      handled += 1;
      if (context.get('x-fail')) throw new Error('The route failed.');
      if (answer !== undefined) {
        context.respond = false;
        return answer(context.res, context.state.rateLimit ?? null);
      }
      context.body = { decision: context.state.rateLimit ?? null };
    });

    const server = await listen(app.callback(), { http2, path });
    return { server, errors, handled: () => handled };
  };
}

describe.each(Object.entries(versions))('the middleware on %s', (_, App) => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  /** An application whose errors are kept, and a server for it. */
  function create(): { app: Koa; errors: Error[]; serve(): Promise<Server> } {
    const app = new App();
    const errors: Error[] = [];
    app.on('error', (error: Error) => errors.push(error));
    const serve = async () => {
      const server = createServer(app.callback()).listen(0, '127.0.0.1');
      servers.push(server);
      await once(server, 'listening');
      return server;
    };
    return { app, errors, serve };
  }

  const two = { limit: 2, window: '1h' } as const;

  it('throws at the call if an option is wrong', () => {
    const wrong = (options: unknown) => () => rateLimit(options as KoaRateLimitOptions);
    expect(wrong({ ...two, limit: '2' })).toThrow(TypeError);
    expect(wrong({ ...two, limit: '2' })).toThrow(
      'Expected `limit` to be an integer >= 0 or Infinity, got "2".',
    );
    expect(wrong(undefined)).toThrow('Expected `options` to be an object, got undefined.');
  });

  it('leaves the status of an error further on, and gives its response the headers', async () => {
    const { app, errors, serve } = create();
    app.use(rateLimit(two));
    app.use((context) => {
      if (context.path === '/throw') context.throw(404, 'no such thing', { headers: { 'x-own': 'kept' } });
      throw new TypeError('a bug');
    });
    const server = await serve();
    const thrown = await request(server).get('/throw');
    expect([thrown.status, thrown.text]).toEqual([404, 'no such thing']);
    expect(thrown.headers).toMatchObject({
      'x-own': 'kept',
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '1',
    });
    const bug = await request(server).get('/');
    expect([bug.status, bug.text]).toEqual([500, 'Internal Server Error']);
    expect(bug.headers['x-ratelimit-remaining']).toBe('0');
    // A denied request is no error.
    expect((await request(server).get('/')).status).toBe(429);
    expect(errors.map(({ name }) => name)).toEqual(['NotFoundError', 'TypeError']);
  });

  it('tells the truth with an error that is thrown again and again, and throws the very same', async () => {
    const { app, errors, serve } = create();
    const constant = Object.assign(new Error('always the same'), { headers: { 'x-own': 'kept' } });
    const skip = (context: Context) => context.path === '/free';
    const headers = ['legacy', 'draft-8'] as const;
    app.use(rateLimit({ name: 'outer', limit: 9, window: '1h', headers, skip }));
    app.use(rateLimit({ name: 'inner', limit: 3, window: '1h', headers, skip }));
    app.use(() => {
      throw constant;
    });
    const server = await serve();
    for (const left of ['2', '1']) {
      const reply = await request(server).get('/');
      expect(reply.status).toBe(500);
      // As on a response that is no error: of both limiters, and of the one with the least left.
      expect(reply.headers).toMatchObject({
        'x-own': 'kept',
        'x-ratelimit-limit': '3',
        'x-ratelimit-remaining': left,
        'ratelimit-policy': '"outer";q=9;w=3600, "inner";q=3;w=3600',
      });
    }
    const free = await request(server).get('/free');
    expect([free.status, free.headers['x-own']]).toEqual([500, 'kept']);
    expect(Object.keys(free.headers).filter((name) => name.includes('ratelimit'))).toEqual([]);
    expect(errors).toHaveLength(3);
    for (const error of errors) expect(error).toBe(constant);
    expect(constant.headers).toEqual({ 'x-own': 'kept' });

    constant.headers = { 'x-own': 'changed' };
    expect((await request(server).get('/')).headers).toMatchObject({
      'x-own': 'changed',
      'x-ratelimit-remaining': '0',
    });
    expect(constant.headers).toEqual({ 'x-own': 'changed' });
  });

  it('lets what stands around it come to its end when a client leaves that is held', async () => {
    const { app, errors, serve } = create();
    const ended: string[] = [];
    let reached = () => {};
    const coming = new Promise<void>((resolve) => {
      reached = resolve;
    });
    app.use(async (context, next) => {
      if (context.path === '/held') reached();
      try {
        await next();
      } finally {
        ended.push(context.path);
      }
    });
    app.use(rateLimit({ algorithm: 'leaky-bucket', limit: 2, window: '2h', key: () => 'k' }));
    app.use((context) => {
      context.body = 'hello';
    });
    const server = await serve();
    expect((await request(server).get('/')).status).toBe(200);
    const accepted = once(server, 'connection');
    const { port } = server.address() as AddressInfo;
    const client = connect(port, '127.0.0.1');
    client.write('GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const [[socket]] = await Promise.all([accepted, coming]);
    const gone = new Promise((resolve) => socket.once('close', resolve));
    client.destroy();
    await gone;
    await new Promise((resolve) => setImmediate(resolve));
    expect(ended).toEqual(['/', '/held']);
    expect(errors).toEqual([]);
  });

  it('lets an error pass that cannot be given headers', async () => {
    const { app, serve } = create();
    const frozen = Object.freeze(new Error('frozen'));
    const caught: unknown[] = [];
    app.use((context, next) =>
      next().catch((error: unknown) => {
        caught.push(error);
        context.body = 'caught';
      }),
    );
    app.use(rateLimit(two));
    app.use(() => {
      throw frozen;
    });
    const reply = await request(await serve()).get('/');
    expect([reply.text, reply.headers['x-ratelimit-remaining']]).toEqual(['caught', '1']);
    expect(caught[0]).toBe(frozen);
  });

  it('leaves the status of an error whose headers cannot be set, and gives it some where it may', async () => {
    const { app, serve } = create();
    class Inherited extends Error {
      readonly status = 404;
      get headers() {
        return { 'x-own': 'kept' };
      }
    }
    const failing = (descriptor: PropertyDescriptor) =>
      Object.defineProperty(Object.assign(new Error('none'), { status: 404 }), 'headers', descriptor);
    const own = { 'x-own': 'kept' };
    /** The error, and what is left of two with its response, if anything. */
    const errors: [Error, string | undefined][] = [
      [new Inherited('none'), '1'],
      [failing({ value: own, configurable: true }), '0'],
      [failing({ get: () => own, configurable: true }), '1'],
      [failing({ value: own }), undefined],
      [failing({ get: () => own }), undefined],
    ];
    let i = 0;
    app.use(rateLimit({ ...two, key: () => `${Math.floor(i / 2)}` }));
    app.use(() => {
      throw errors[i][0];
    });
    const server = await serve();
    for (; i < errors.length; i++) {
      const [error, left] = errors[i];
      const before = Object.getOwnPropertyDescriptor(error, 'headers');
      const reply = await request(server).get('/');
      expect([i, reply.status, reply.headers['x-own'], reply.headers['x-ratelimit-remaining']]).toEqual([
        i,
        404,
        'kept',
        left,
      ]);
      expect(Object.getOwnPropertyDescriptor(error, 'headers')).toEqual(before);
    }
  });

  it('serves where Koa has no setting for the header of the proxy, as early versions of Koa 2', async () => {
    const { app, errors, serve } = create();
    app.proxy = true;
    Reflect.deleteProperty(app, 'proxyIpHeader');
    // As it was then.
    Object.defineProperty(app.request, 'ip', {
      get(this: Koa.Request) {
        return this.get('X-Forwarded-For').split(/\s*,\s*/)[0];
      },
    });
    app.use(rateLimit(two));
    app.use((context) => {
      context.body = 'hello';
    });
    const server = await serve();
    for (const left of ['1', '0']) {
      const reply = await request(server).get('/').set('X-Forwarded-For', '203.0.113.7');
      expect([reply.status, reply.headers['x-ratelimit-remaining']]).toEqual([200, left]);
    }
    expect(errors).toEqual([]);
  });

  it('lets error middleware before it answer', async () => {
    const { app, errors, serve } = create();
    app.use(async (context, next) => {
      try {
        await next();
      } catch (error) {
        context.status = 503;
        context.body = (error as Error).message;
      }
    });
    app.use(
      rateLimit({
        window: '1h',
        limit: ({ path }) => (path === '/fails' ? Promise.reject(new Error('no database')) : 1),
      }),
    );
    app.use((context) => {
      if (context.path === '/bug') throw new Error('a bug');
      context.body = 'hello';
    });
    const server = await serve();
    const failed = await request(server).get('/fails');
    expect([failed.status, failed.text]).toEqual([503, 'no database']);
    const bug = await request(server).get('/bug');
    expect([bug.status, bug.text, bug.headers['x-ratelimit-remaining']]).toEqual([503, 'a bug', '0']);
    const denied = await request(server).get('/');
    expect([denied.status, denied.body['violated-policies']]).toEqual([429, ['default']]);
    expect(errors).toEqual([]);
  });

  it('throws who is denied past error middleware, which sees the status and may answer', async () => {
    const { app, errors, serve } = create();
    app.use(async (context, next) => {
      try {
        await next();
      } catch (error) {
        const { status, headers } = error as RateLimitError;
        context.status = status;
        context.body = { wait: headers['Retry-After'] };
      }
    });
    app.use(rateLimit({ limit: 1, window: '1h', algorithm: 'sliding-window-log', throw: true }));
    app.use((context) => {
      context.body = 'hello';
    });
    const server = await serve();
    expect((await request(server).get('/')).text).toBe('hello');
    const denied = await request(server).get('/');
    expect([denied.status, denied.body]).toEqual([429, { wait: '3600' }]);
    expect(denied.headers).toMatchObject({ 'x-ratelimit-remaining': '0', 'retry-after': '3600' });
    expect(errors).toEqual([]);
  });

  it('throws who is denied without a line in the log', async () => {
    const log = jest.spyOn(console, 'error').mockImplementation();
    try {
      const app = new App();
      app.use(rateLimit({ limit: 0, window: '1h', throw: true }));
      const server = createServer(app.callback()).listen(0, '127.0.0.1');
      servers.push(server);
      await once(server, 'listening');
      const reply = await request(server).get('/');
      expect([reply.status, reply.text]).toEqual([
        429,
        'This request asks for more than its limit ever admits. Waiting does not help.',
      ]);
      expect(log).not.toHaveBeenCalled();
    } finally {
      log.mockRestore();
    }
  });

  it('charges once where the same middleware stands twice, and runs what follows once', async () => {
    const { app, serve } = create();
    const limit = rateLimit(two);
    let ran = 0;
    app.use(limit).use(limit);
    app.use(async (context, next) => {
      ran += 1;
      await next();
      context.body = `${context.body} ${context.state.rateLimit?.remaining}`;
    });
    app.use(limit);
    app.use((context) => {
      context.body = 'hello';
    });
    const server = await serve();
    expect((await request(server).get('/')).text).toBe('hello 1');
    expect((await request(server).get('/')).text).toBe('hello 0');
    expect((await request(server).get('/')).status).toBe(429);
    expect(ran).toBe(2);
  });

  it('charges once where a router with a limit is mounted twice, and the stricter limit inside as well', async () => {
    const { app, serve } = create();
    const strict = rateLimit({ name: 'strict', limit: 1, window: '1h' });
    /** Runs what it has under a path that begins so, as routers do. */
    const mount = (prefix: string, ...middlewares: Middleware[]): Middleware => {
      const run = (i: number, context: Context, next: () => Promise<unknown>): Promise<unknown> =>
        i === middlewares.length
          ? next()
          : Promise.resolve(middlewares[i](context, () => run(i + 1, context, next)));
      return (context, next) => (context.path.startsWith(prefix) ? run(0, context, next) : next());
    };
    const router = mount(
      '/',
      rateLimit({ name: 'general', limit: 3, window: '1h' }),
      mount('/login', strict),
    );
    app.use(router).use(mount('/', router));
    app.use((context) => {
      context.body = 'hello';
    });
    const server = await serve();
    const seen = [];
    for (const path of ['/login', '/login', '/', '/']) {
      const { status, headers } = await request(server).get(path);
      seen.push([status, headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']]);
    }
    expect(seen).toEqual([
      [200, '1', '0'],
      [429, '1', '0'],
      [200, '3', '0'],
      [429, '3', '0'],
    ]);
  });

  it('lets the handler do what middleware may: throw a status, redirect, set a body', async () => {
    const { app, serve } = create();
    const denied = { limit: 0, window: '1h' } as const;
    const handlers: Record<string, DenialHandler> = {
      '/throw': (context) => context.throw(503, 'busy'),
      '/away': (context) => context.redirect('/slow'),
      '/json': (context, { limit }) => {
        context.body = { limit };
      },
    };
    for (const [path, handler] of Object.entries(handlers)) {
      app.use(rateLimit({ ...denied, handler, skip: (context) => context.path !== path }));
    }
    const server = await serve();
    const thrown = await request(server).get('/throw');
    expect([thrown.status, thrown.headers['x-ratelimit-limit']]).toEqual([503, '0']);
    const away = await request(server).get('/away');
    expect([away.status, away.headers.location]).toEqual([302, '/slow']);
    const json = await request(server).get('/json');
    expect([json.status, json.body]).toEqual([429, { limit: 0 }]);
    expect(json.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it('limits what no route answers', async () => {
    const { app, serve } = create();
    app.use(rateLimit(two));
    const server = await serve();
    const seen = [];
    for (let i = 0; i < 3; i++) seen.push((await request(server).get('/nowhere')).status);
    expect(seen).toEqual([404, 404, 429]);
  });
});

it.each(Object.entries(versions))(
  '%s goes on with a response that was begun before, and ends one that is denied',
  async (_, App) => {
    const app = new App();
    app.use(async (context, next) => {
      context.respond = false;
      context.res.write('begun');
      await next();
    });
    app.use(rateLimit({ limit: 1, window: '1h' }));
    app.use((context) => void context.res.end(', done'));
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const bodies = await bodiesOf(server, 2);
    server.close();
    expect(bodies).toEqual(['begun, done', 'begun']);
  },
);

it('Koa has one listener for an error that comes through a dozen limiters', async () => {
  const app = new Koa();
  app.silent = true;
  let listeners = 0;
  app.use(async (context, next) => {
    const before = context.res.listenerCount('close');
    await next().catch((error) => {
      listeners = context.res.listenerCount('close') - before;
      throw error;
    });
  });
  for (let i = 0; i < 12; i++) app.use(rateLimit({ limit: 9, window: '1h' }));
  app.use(() => {
    throw new Error('The route failed.');
  });
  const response = await request(app.callback()).get('/');
  expect(response.status).toBe(500);
  expect(listeners).toBe(1);
});
