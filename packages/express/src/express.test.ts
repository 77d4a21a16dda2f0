import { once } from 'node:events';
import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { adapterSuite, bodiesOf, listen, optionsFor, type Start } from '@sluice/conformance';
import type { Decision } from '@sluice/core';
import cors from 'cors';
import express, { type NextFunction, type Request, type Response } from 'express';
import express4 from 'express4';
import request from 'supertest';
import { type ExpressRateLimitOptions, RateLimitError, rateLimit } from './index.js';

const versions = { 'Express 5': express, 'Express 4': express4 as unknown as typeof express };

for (const [name, createApp] of Object.entries(versions)) {
  // Express has no HTTP/2: its requests and responses are made on those of HTTP/1.1.
  adapterSuite({ name, start: starting(createApp), http2: false });
}

/** Reads a body whatever its type. */
const textOf = (response: unknown, done: (error: Error | null, text: string) => void) => {
  let text = '';
  (response as NodeJS.ReadableStream)
    .on('data', (chunk) => {
      text += chunk;
    })
    .on('end', () => done(null, text));
};

const expressOptions = (options: Parameters<Start>[0]['limits'][number]) =>
  optionsFor<ExpressRateLimitOptions>(
    options,
    (handler) => (_request: Request, response: Response, decision: Decision) => {
      const answer = handler(decision);
      return typeof answer === 'string' ? response.send(answer) : answer.then((text) => response.send(text));
    },
  );

function starting(createApp: typeof express): Start {
  return async ({ limits, trustProxy = false, plainErrors = false, cors: sharing, before, answer, path }) => {
    const app = createApp();
    const errors: unknown[] = [];
    let handled = 0;

    if (trustProxy) app.set('trust proxy', 'loopback');
    app.use((_request, response, next) => {
      before?.(() => response.status(503).end('busy'));
      next();
    });
    const middlewares = new Map(limits.map((options) => [options, rateLimit(expressOptions(options))]));
    const share = cors(sharing?.exposed && { exposedHeaders: [...sharing.exposed] });
    if (sharing?.place === 'before') app.use(share);
    for (const options of limits) app.use(middlewares.get(options)!);
    if (sharing?.place === 'after') app.use(share);
    app.use((request: Request, response: Response) => {
      handled += 1;
      if (request.get('x-fail')) throw new Error('The route failed.');
      if (answer !== undefined) return answer(response, request.rateLimit ?? null);
      response.json({ decision: request.rateLimit ?? null });
    });
    app.use((error: unknown, _request: Request, response: Response, next: NextFunction) => {
      errors.push(error);
      if (plainErrors) next(error);
      else response.status(500).send('failed');
    });

    const server = await listen(app, { path });
    return { server, errors, handled: () => handled };
  };
}

describe.each(Object.entries(versions))('the middleware on %s', (name, createApp) => {
  const servers: Server[] = [];

  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  async function serve(app: ReturnType<typeof express>): Promise<Server> {
    const server = createServer(app).listen(0, '127.0.0.1');
    servers.push(server);
    await once(server, 'listening');
    return server;
  }

  async function statuses(server: Server, times: number, path: string) {
    const all: number[] = [];
    for (let i = 0; i < times; i++) all.push((await request(server).get(path)).status);
    return all;
  }

  const hello = (_request: Request, response: Response) => {
    response.send('hello');
  };

  it('throws at the call if an option is wrong', () => {
    const wrong = (options: unknown) => () => rateLimit(options as ExpressRateLimitOptions);
    expect(wrong({ limit: '10', window: '1m' })).toThrow(TypeError);
    expect(wrong({ limit: '10', window: '1m' })).toThrow(
      'Expected `limit` to be an integer >= 0 or Infinity, got "10".',
    );
    expect(wrong(undefined)).toThrow('Expected `options` to be an object, got undefined.');
    expect(wrong(null)).toThrow('Expected `options` to be an object, got null.');
    expect(wrong(100)).toThrow('Expected `options` to be an object, got 100.');
  });

  it('charges once where the same middleware stands on the application, a router and a route', async () => {
    const app = createApp();
    const limit = rateLimit({ limit: 3, window: '1h' });
    const router = createApp.Router();
    app.use(limit);
    router.use(limit);
    router.get('/deep', limit, hello);
    app.use('/sub', router, router);
    const server = await serve(app);
    const first = await request(server).get('/sub/deep');
    expect([first.status, first.headers['x-ratelimit-remaining']]).toEqual([200, '2']);
    expect(await statuses(server, 3, '/sub/deep')).toEqual([200, 200, 429]);
  });

  it('limits a sub-application and a router, and nothing beside them', async () => {
    const app = createApp();
    const child = createApp();
    child.use(rateLimit({ limit: 1, window: '1h' }));
    child.get('/', hello);
    const router = createApp.Router();
    router.get('/', rateLimit({ limit: 2, window: '1h' }), hello);
    app.use('/child', child);
    app.use('/router', router);
    app.get('/', hello);
    const server = await serve(app);
    expect(await statuses(server, 2, '/child')).toEqual([200, 429]);
    expect(await statuses(server, 3, '/router')).toEqual([200, 200, 429]);
    expect(await statuses(server, 3, '/')).toEqual([200, 200, 200]);
  });

  it('asks the limiter of all and that of the route, and tells of both', async () => {
    const app = createApp();
    const headers = ['legacy', 'draft-8'] as const;
    app.use(rateLimit({ name: 'all', limit: 3, window: '1h', headers }));
    app.get('/login', rateLimit({ name: 'login', limit: 1, window: '1h', headers }), hello);
    app.get('/', hello);
    const server = await serve(app);
    const login = await request(server).get('/login');
    expect(login.status).toBe(200);
    expect(login.headers['x-ratelimit-limit']).toBe('1');
    expect(login.headers['ratelimit-policy']).toBe('"all";q=3;w=3600, "login";q=1;w=3600');
    const denied = await request(server).get('/login');
    expect(denied.status).toBe(429);
    expect(denied.body['violated-policies']).toEqual(['login']);
    // Both log-ins were charged to the limit of all, the denied one as well: it stands before the other.
    expect(await statuses(server, 2, '/')).toEqual([200, 429]);
  });

  it('keeps the type of what the route finds in its path', async () => {
    const app = createApp();
    app.get('/users/:id', rateLimit({ limit: 1, window: '1h' }), (request, response) => {
      const id: string = request.params.id;
      const left: number | undefined = request.rateLimit?.remaining;
      response.json({ id, left });
    });
    const server = await serve(app);
    expect((await request(server).get('/users/7')).body).toEqual({ id: '7', left: 0 });
  });

  it('shows the decision to all that handle the request: within a sub-application, after it, when it is over', async () => {
    const app = createApp();
    const child = createApp();
    const seen: (number | undefined)[] = [];
    app.use((request, response, next) => {
      response.once('finish', () => seen.push(request.rateLimit?.remaining));
      next();
    });
    child.use(rateLimit({ limit: 3, window: '1h' }));
    child.use((request, _response, next) => {
      seen.push(request.rateLimit?.remaining);
      next();
    });
    app.use('/child', child);
    app.use((request: Request, response: Response) => {
      response.json({ left: request.rateLimit?.remaining, listed: 'rateLimit' in request });
    });
    const server = await serve(app);
    expect((await request(server).get('/child')).body).toEqual({ left: 2, listed: true });
    expect(seen).toEqual([2, 2]);
    // Another request has none of it.
    expect((await request(server).get('/')).body).toEqual({ listed: true });
    expect(seen).toEqual([2, 2, undefined]);
  });

  it('shares `request.rateLimit` with what else sets it: the last one stands', async () => {
    const app = createApp();
    const other = (request: Request, _response: Response, next: NextFunction) => {
      request.rateLimit = { limit: 7 } as Decision;
      next();
    };
    const show = (request: Request, response: Response) => void response.json(request.rateLimit?.limit);
    const limit = rateLimit({ limit: 3, window: '1h' });
    app.get('/other', limit, other, show);
    app.get('/ours', other, limit, show);
    const server = await serve(app);
    expect((await request(server).get('/other')).body).toBe(7);
    expect((await request(server).get('/ours')).body).toBe(3);
    const own = createApp();
    Object.defineProperty(own.request, 'rateLimit', { value: 'own', writable: true });
    own.get('/', limit, show);
    expect((await request(await serve(own)).get('/')).body).toBe(3);
  });

  it('shows the decision where something else stood on the first requests before', async () => {
    // A copy of its own, whose requests have not been seen.
    let app: ReturnType<typeof express> | undefined;
    jest.isolateModules(() => {
      const own: typeof express = require(name === 'Express 5' ? 'express' : 'express4');
      app = own();
    });
    if (app === undefined || 'rateLimit' in app.request) throw new Error('It has been seen.');
    app.use((request, _response, next) => {
      Object.defineProperty(request, 'rateLimit', {
        value: { limit: 7 },
        writable: true,
        configurable: true,
      });
      next();
    });
    app.get('/', rateLimit({ limit: 3, window: '1h' }), (request, response) => {
      response.json(request.rateLimit?.limit);
    });
    const server = await serve(app);
    for (let i = 0; i < 2; i++) expect((await request(server).get('/')).body).toBe(3);
  });

  it.each([
    ['before', {}],
    ['before, and is denied', { limit: 0 }],
    ['before, and is denied with an error', { limit: 0, throw: true }],
    ['before, while something is waited for', { key: async () => 'k', limit: 0, throw: true }],
  ])('leaves a response alone that was ended %s', async (_what, options) => {
    const app = createApp();
    const passed: unknown[] = [];
    // More than a socket takes at once: whoever destroys it cuts it off.
    const body = Buffer.alloc(8_000_000, 'a');
    app.use((_request, response, next) => {
      response.end(body);
      next();
    });
    app.use(rateLimit({ limit: 5, window: '1h', ...options }));
    app.use((_request: Request, _response: Response) => void passed.push('handler'));
    app.use((error: Error, _request: Request, _response: Response, next: NextFunction) => {
      passed.push(error);
      next(error);
    });
    const reply = await request(await serve(app))
      .get('/')
      .buffer(true)
      .parse(textOf);
    expect([reply.status, reply.body.length, passed]).toEqual([200, body.length, []]);
  });

  it('leaves a response alone that a function of its own ends, begun before or not', async () => {
    for (const begun of [false, true]) {
      for (const end of ['key', 'skip', 'cost'] as const) {
        const app = createApp();
        const passed: string[] = [];
        app.use((_request, response, next) => {
          if (begun) response.write('begun, ');
          next();
        });
        const answers = { key: 'k', skip: false, cost: 1 } as const;
        const ends = ({ res }: Request) => {
          res?.end('ended');
          return answers[end];
        };
        app.use(rateLimit({ limit: 5, window: '1h', [end]: ends }));
        app.use((_request: Request, response: Response) => {
          passed.push('handler');
          response.end();
        });
        const reply = await request(await serve(app))
          .get('/')
          .buffer(true)
          .parse(textOf);
        expect([end, reply.body, passed]).toEqual([end, begun ? 'begun, ended' : 'ended', []]);
      }
    }
  });

  it('limits what looks like a request, and shows the decision on it', () => {
    const limit = rateLimit({ limit: 1, window: '1h', key: () => 'k' });
    for (const mocked of [{}, { rawHeaders: Object.freeze([]) }, new IncomingMessage(new Socket())]) {
      const request = Object.assign(mocked, { method: 'GET', headers: {} }) as unknown as Request;
      const response = new ServerResponse(request) as Response;
      const next = jest.fn();
      limit(request, response, next);
      expect(request.rateLimit?.limit).toBe(1);
    }
  });

  it('passes an error on once, past all that is not for errors, to the answer of Express', async () => {
    const app = createApp();
    const passed: string[] = [];
    app.use(rateLimit({ window: '1h', limit: () => Promise.reject(new Error('no database')) }));
    app.use((_request, _response, next) => {
      passed.push('middleware');
      next();
    });
    app.use((error: Error, _request: Request, _response: Response, next: NextFunction) => {
      passed.push(error.message);
      next(error);
    });
    const reply = await request(await serve(app)).get('/');
    expect(reply.status).toBe(500);
    expect(passed).toEqual(['no database']);
  });

  it('answers 500 when a handler fails, unless the error says otherwise, as Express does', async () => {
    for (const [error, status] of [
      [new Error('no template'), 500],
      [Object.assign(new Error('busy'), { status: 503 }), 503],
    ] as const) {
      for (const handler of [
        () => {
          throw error;
        },
        () => Promise.reject(error),
      ]) {
        const app = createApp();
        app.use(rateLimit({ limit: 0, window: '1h', handler }), hello);
        const reply = await request(await serve(app)).get('/');
        expect(reply.status).toBe(status);
        expect(reply.text).not.toBe('hello');
        expect(reply.headers['x-ratelimit-limit']).toBe('0');
      }
    }
  });

  it('hands who is denied to error middleware with all headers set, and to nothing else', async () => {
    const app = createApp();
    app.use(rateLimit({ limit: 1, window: '1h', algorithm: 'sliding-window-log', throw: true }), hello);
    app.use((error: unknown, _request: Request, response: Response, next: NextFunction) => {
      if (error instanceof RateLimitError) response.status(error.status).json({ of: error.decision.limit });
      else next(error);
    });
    const server = await serve(app);
    expect((await request(server).get('/')).text).toBe('hello');
    const denied = await request(server).get('/');
    expect([denied.status, denied.body]).toEqual([429, { of: 1 }]);
    expect(denied.headers).toMatchObject({
      'cache-control': 'no-store',
      'x-ratelimit-remaining': '0',
      'retry-after': '3600',
    });
  });

  it('lets the handler do what a route may: send JSON, redirect, go on', async () => {
    const app = createApp();
    const denied = { limit: 0, window: '1h' } as const;
    app.get('/json', rateLimit({ ...denied, handler: (_request, response) => response.json({ slow: 1 }) }));
    app.get('/away', rateLimit({ ...denied, handler: (_request, response) => response.redirect('/slow') }));
    app.get(
      '/on',
      rateLimit({
        ...denied,
        handler: (_request, response, _decision, next) => {
          response.status(200);
          next();
        },
      }),
      hello,
    );
    const server = await serve(app);
    const json = await request(server).get('/json');
    expect([json.status, json.body]).toEqual([429, { slow: 1 }]);
    expect(json.headers['content-type']).toBe('application/json; charset=utf-8');
    const away = await request(server).get('/away');
    expect([away.status, away.headers.location]).toEqual([302, '/slow']);
    const on = await request(server).get('/on');
    expect([on.status, on.text]).toEqual([200, 'hello']);
  });

  it('does not go on to limited routes when an error handler makes good for a failed limit', async () => {
    const app = createApp();
    let broken = true;
    const limit = rateLimit({
      window: '1h',
      limit: () => {
        if (broken) throw new Error('no database');
        return 1;
      },
    });
    app.use(limit);
    app.use((_error: Error, _request: Request, _response: Response, next: NextFunction) => {
      broken = false;
      next();
    });
    app.get('/', limit, hello);
    const server = await serve(app);
    expect((await request(server).get('/')).status).toBe(200);
    broken = true;
    expect((await request(server).get('/')).status).toBe(429);
  });
});

it.each(Object.entries(versions))(
  '%s goes on with a response that was begun before, and ends one that is denied',
  async (_, createApp) => {
    const app = createApp();
    app.use((_request, response, next) => {
      response.write('begun');
      next();
    });
    app.use(rateLimit({ limit: 1, window: '1h' }));
    app.use((_request: Request, response: Response) => void response.end(', done'));
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const bodies = await bodiesOf(server, 2);
    server.close();
    expect(bodies).toEqual(['begun, done', 'begun']);
  },
);
