import { once } from 'node:events';
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import cors from '@fastify/cors';
import { adapterSuite, bodiesOf, optionsFor, type Start } from '@sluice/conformance';
import { createLimiter, type Decision, MemoryStore } from '@sluice/core';
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify';
import {
  type DenialHandler,
  type FastifyRateLimitOptions,
  type RouteRateLimitOptions,
  rateLimit,
} from './index.js';

adapterSuite({ name: 'Fastify 5', start, http2: true });

async function start({
  limits,
  trustProxy = false,
  plainErrors = false,
  cors: sharing,
  before,
  answer,
  http2 = false,
  path,
}: Parameters<Start>[0]): ReturnType<Start> {
  const options = { trustProxy: trustProxy && 'loopback' };
  // The requests of HTTP/2 have the same types here.
  const app = http2 ? (Fastify({ ...options, http2 }) as unknown as FastifyInstance) : Fastify(options);
  const errors: unknown[] = [];
  let handled = 0;

  app.setErrorHandler((error, _request, reply) => {
    errors.push(error);
    if (plainErrors) reply.send(error);
    else reply.code(500).send('failed');
  });
  app.addHook('onRequest', (_request, reply, done) => {
    before?.(() => reply.code(503).send('busy'));
    done();
  });
  const share = () => app.register(cors, sharing?.exposed ? { exposedHeaders: [...sharing.exposed] } : {});
  if (sharing?.place === 'before') await share();
  for (const options of limits) await app.register(rateLimit, fastifyOptions(options));
  if (sharing?.place === 'after') await share();
  app.route({
    // The CORS plugin answers OPTIONS by itself.
    method: ['GET', 'POST', ...(sharing === undefined ? ['OPTIONS'] : [])],
    url: '/*',
    handler: (request, reply) => {
      handled += 1;
      if (request.headers['x-fail']) throw new Error('The route failed.');
      if (answer !== undefined) return answer(reply.hijack().raw, request.rateLimit);
      return { decision: request.rateLimit };
    },
  });

  await app.listen(path === undefined ? { port: 0, host: '127.0.0.1' } : { path });
  return { server: app.server, errors, handled: () => handled };
}

const fastifyOptions = (options: Parameters<Start>[0]['limits'][number]) =>
  optionsFor<FastifyRateLimitOptions>(
    options,
    (handler) => (_request: FastifyRequest, _reply: FastifyReply, decision: Decision) => handler(decision),
  );

describe('the plugin', () => {
  const apps: FastifyInstance[] = [];
  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
  });

  function create(options: FastifyServerOptions = {}): FastifyInstance {
    const app = Fastify(options);
    apps.push(app);
    return app;
  }

  async function ask(
    app: FastifyInstance,
    path: string,
    { method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
  ) {
    if (!app.server.listening) await app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = app.server.address() as AddressInfo;
    const sent = request({ port, host: '127.0.0.1', path, method, headers, agent: false }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    let body = '';
    for await (const chunk of response) body += chunk;
    return { status: response.statusCode, headers: response.headers, body };
  }

  async function statuses(app: FastifyInstance, times: number, url: string, method?: string) {
    const all: (number | undefined)[] = [];
    for (let i = 0; i < times; i++) all.push((await ask(app, url, method ? { method } : {})).status);
    return all;
  }

  const one = { limit: 1, window: '1h' } as const;
  const two = { limit: 2, window: '1h' } as const;
  const hello = () => 'hello';

  describe('on routes with a limit of their own', () => {
    it('counts only what the route says, or all, whatever the plugin counts', async () => {
      const app = create();
      const fail = (_request: FastifyRequest, reply: FastifyReply) => reply.code(404).send('none');
      await app.register(rateLimit, { ...one, countOnly: 'failed' });
      app.get('/', hello);
      app.get('/all', { config: { rateLimit: { countOnly: false } } }, hello);
      app.get('/succeeded', { config: { rateLimit: { countOnly: 'succeeded' } } }, hello);
      app.get('/missing', { config: { rateLimit: { countOnly: 'succeeded' } } }, fail);
      expect(await statuses(app, 3, '/')).toEqual([200, 200, 200]);
      expect(await statuses(app, 2, '/all')).toEqual([200, 429]);
      expect(await statuses(app, 2, '/succeeded')).toEqual([200, 429]);
      expect(await statuses(app, 3, '/missing')).toEqual([404, 404, 404]);
    });

    it('merges it with the limit of all, and gives it a quota of its own', async () => {
      const app = create();
      await app.register(rateLimit, { ...two, headers: 'draft-8', name: 'api' });
      app.get('/', hello);
      app.get('/login', { config: { rateLimit: { limit: 1 } } }, hello);
      app.get('/users/:id', { config: { rateLimit: { window: '1m', headers: 'legacy' } } }, hello);
      app.get('/named', { config: { rateLimit: { name: 'mine' } } }, hello);

      expect((await ask(app, '/')).headers).toMatchObject({
        'ratelimit-policy': '"api";q=2;w=3600',
        ratelimit: expect.stringMatching(/^"api";r=1;t=\d+$/),
      });
      expect((await ask(app, '/login')).headers).toMatchObject({
        'ratelimit-policy': '"api-GET%20/login";q=1;w=3600',
        ratelimit: expect.stringMatching(/^"api-GET%20\/login";r=0;t=\d+$/),
      });
      expect((await ask(app, '/users/1')).headers).toMatchObject({
        'x-ratelimit-limit': '2',
        'x-ratelimit-remaining': '1',
      });
      expect((await ask(app, '/users/2')).headers).toMatchObject({ 'x-ratelimit-remaining': '0' });
      expect((await ask(app, '/named')).headers['ratelimit-policy']).toBe('"mine";q=2;w=3600');

      expect(await statuses(app, 1, '/login')).toEqual([429]);
      expect(await statuses(app, 1, '/users/3')).toEqual([429]);
      expect(await statuses(app, 2, '/')).toEqual([200, 429]);
    });

    it('takes any kind of policy in place of any other', async () => {
      const [store, limiter] = [new MemoryStore(), createLimiter({ policies: [one] })];
      const kinds = {
        lone: { limit: 1, window: '1h', algorithm: 'token-bucket', burst: 1 },
        several: {
          policies: [
            { name: 'hour', ...one },
            { name: 'day', limit: 9, window: '1d' },
          ],
        },
        function: { limit: () => 1 },
        limiter: { limiter },
      } as const;
      const generals = {
        lone: two,
        'lone with a function': { limit: () => 2, window: '1h' },
        several: { policies: [{ name: 'minute', limit: 2, window: '1m' }] },
        limiter: { limiter: createLimiter({ policies: [two] }) },
        store: { ...two, store, name: 'general' },
      } as const;
      for (const [name, general] of Object.entries(generals)) {
        const app = create();
        await app.register(rateLimit, { ...general, key: () => name } as FastifyRateLimitOptions);
        for (const [kind, own] of Object.entries(kinds)) {
          // A number for the lone policy; where there are several, by name.
          const rateLimit =
            name === 'several' && kind === 'function' ? { limit: () => ({ minute: 1 }) } : (own as object);
          app.get(`/${kind}`, { config: { rateLimit } }, hello);
        }
        for (const kind of Object.keys(kinds)) {
          // What a function limits on a limiter that others use is their quota, which is untouched so far.
          expect([name, kind, await statuses(app, 2, `/${kind}`)]).toEqual([name, kind, [200, 429]]);
        }
      }
    });

    it('takes a handler, a key, a cost and a skip of the route', async () => {
      const app = create();
      await app.register(rateLimit, { ...two, key: () => 'all', handler: () => 'of all' });
      const routes: Record<string, RouteRateLimitOptions> = {
        '/handler': { limit: 0, handler: (_request, _reply, { limit }) => ({ limit }) },
        '/general': { limit: 0 },
        '/key': { limit: 1, key: (request) => request.headers['x-user'] as string },
        '/cost': { limit: 4, cost: 3 },
        '/skip': { limit: 0, skip: () => true },
      };
      for (const [url, rateLimit] of Object.entries(routes)) app.get(url, { config: { rateLimit } }, hello);

      const own = await ask(app, '/handler');
      expect([own.status, JSON.parse(own.body)]).toEqual([429, { limit: 0 }]);
      expect(own.headers['content-type']).toMatch(/^application\/json/);
      const general = await ask(app, '/general');
      expect([general.status, general.body]).toEqual([429, 'of all']);
      for (const user of ['a', 'b']) {
        const seen = [];
        for (let i = 0; i < 2; i++)
          seen.push((await ask(app, '/key', { headers: { 'x-user': user } })).status);
        expect(seen).toEqual([200, 429]);
      }
      expect(await statuses(app, 2, '/cost')).toEqual([200, 429]);
      expect(await statuses(app, 2, '/skip')).toEqual([200, 200]);
    });

    it('takes who answers from the route, whoever answers elsewhere', async () => {
      const kinds = {
        handler: { handler: () => 'handler' },
        body: { body: 'body', contentType: 'text/html' },
        throw: { throw: true },
      } satisfies Record<string, RouteRateLimitOptions>;
      for (const general of Object.values(kinds)) {
        const app = create();
        app.setErrorHandler((_error, _request, reply) => reply.code(418).send('throw'));
        await app.register(rateLimit, { ...one, limit: 0, ...general });
        for (const [kind, own] of Object.entries(kinds)) {
          app.get(`/${kind}`, { config: { rateLimit: { limit: 0, ...own } } }, hello);
        }
        // What is switched off replaces nothing, but what it switches off.
        app.get('/off', { config: { rateLimit: { limit: 0, throw: false } } }, hello);
        for (const kind of Object.keys(kinds)) expect((await ask(app, `/${kind}`)).body).toBe(kind);
        const { body } = await ask(app, '/off');
        if ('throw' in general) expect(JSON.parse(body)).toMatchObject({ title: 'Quota Exceeded' });
        else expect(['handler', 'body']).toContain(body);
      }
    });

    it('limits routes that are given one limiter together', async () => {
      const app = create();
      const limiter = createLimiter({ name: 'codes', policies: [{ limit: 3, window: '1h' }] });
      await app.register(rateLimit, two);
      for (const path of ['/send', '/resend']) app.get(path, { config: { rateLimit: { limiter } } }, hello);
      expect(await statuses(app, 2, '/send')).toEqual([200, 200]);
      expect(await statuses(app, 2, '/resend')).toEqual([200, 429]);
      expect(await statuses(app, 1, '/send')).toEqual([429]);
    });

    it('limits the routes that name a limit where that of all is Infinity', async () => {
      const app = create();
      await app.register(rateLimit, { limit: Infinity, window: '1h' });
      app.get('/free', hello);
      app.get('/dear', { config: { rateLimit: { limit: 1 } } }, hello);
      expect(await statuses(app, 2, '/dear')).toEqual([200, 429]);
      expect(await statuses(app, 3, '/free')).toEqual([200, 200, 200]);
      expect((await ask(app, '/free')).headers['x-ratelimit-limit']).toBeUndefined();
    });

    it('leaves a route alone that says false', async () => {
      const app = create();
      await app.register(rateLimit, one);
      app.get('/', hello);
      app.get('/health', { config: { rateLimit: false } }, (request) => ({ decision: request.rateLimit }));
      const free = await ask(app, '/health');
      expect(JSON.parse(free.body)).toEqual({ decision: null });
      expect(Object.keys(free.headers).filter((name) => name.includes('ratelimit'))).toEqual([]);
      expect(await statuses(app, 3, '/health')).toEqual([200, 200, 200]);
      expect(await statuses(app, 2, '/')).toEqual([200, 429]);
    });

    it('keeps the quotas of routes apart that share one object', async () => {
      const app = create();
      await app.register(rateLimit, two);
      const config = { rateLimit: { limit: 1 } };
      app.get('/a', { config }, hello);
      app.get('/b', { config }, hello);
      app.post('/a', { config }, hello);
      expect(await statuses(app, 2, '/a')).toEqual([200, 429]);
      expect(await statuses(app, 2, '/b')).toEqual([200, 429]);
      expect(await statuses(app, 2, '/a', 'POST')).toEqual([200, 429]);
      expect(config).toEqual({ rateLimit: { limit: 1 } });
    });

    it('keeps the quotas of versions of a route apart', async () => {
      const app = create();
      await app.register(rateLimit, two);
      const get = (version: string, limit: number) =>
        app.get('/', { constraints: { version }, config: { rateLimit: { limit } } }, hello);
      get('1.0.0', 1);
      get('2.0.0', 3);
      const seen = async (version: string) => {
        const { headers } = await ask(app, '/', { headers: { 'accept-version': version } });
        return [headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']];
      };
      expect(await seen('1.0.0')).toEqual(['1', '0']);
      expect(await seen('2.0.0')).toEqual(['3', '2']);
    });

    it('counts a GET and the HEAD that Fastify adds to it as one route', async () => {
      const app = create();
      await app.register(rateLimit, { limit: 9, window: '1h' });
      const config = { rateLimit: { limit: 2 } };
      app.get('/get', { config }, hello);
      app.route({ method: ['GET', 'POST'], url: '/both', config, handler: hello });
      for (const url of ['/get', '/both']) {
        const head = await ask(app, url, { method: 'HEAD' });
        expect([url, head.status, head.headers['x-ratelimit-remaining']]).toEqual([url, 200, '1']);
        const get = await ask(app, url, { method: 'GET' });
        expect([url, get.status, get.headers['x-ratelimit-remaining']]).toEqual([url, 200, '0']);
        expect(await statuses(app, 1, url, 'HEAD')).toEqual([429]);
        expect(await statuses(app, 1, url)).toEqual([429]);
      }
      expect(await statuses(app, 1, '/both', 'POST')).toEqual([429]);
    });

    it('counts a route as one that a prefix gives two URLs, and its HEADs with it', async () => {
      const own = { config: { rateLimit: { limit: 2 } } };
      for (const early of [false, true]) {
        const app = create();
        if (!early) await app.register(rateLimit, { limit: 9, window: '1h', headers: 'draft-8' });
        app.register(async (child) => void child.get('/', own, hello), { prefix: '/child' });
        if (early) await app.register(rateLimit, { limit: 9, window: '1h', headers: 'draft-8' });
        const seen = [];
        for (const [url, method] of [
          ['/child/', 'GET'],
          ['/child', 'HEAD'],
          ['/child', 'GET'],
          ['/child/', 'HEAD'],
        ] as const) {
          const { status, headers } = await ask(app, url, { method });
          seen.push([status, headers['ratelimit-policy']]);
        }
        const policy = '"default-GET%20/child";q=2;w=3600';
        expect([early, seen]).toEqual([early, [200, 200, 429, 429].map((status) => [status, policy])]);
      }
    });

    it('counts each of a route’s methods on one quota, once a request', async () => {
      for (const exposeHeadRoutes of [false, true]) {
        const app = create({ exposeHeadRoutes });
        await app.register(rateLimit, two);
        const config = { rateLimit: { limit: 3 } };
        app.route({ method: ['GET', 'POST', 'DELETE'], url: '/own', config, handler: hello });
        app.route({ method: ['PUT', 'PATCH'], url: '/general', handler: hello });
        const left = async (url: string, method: string) => {
          const { status, headers } = await ask(app, url, { method });
          return [status, headers['x-ratelimit-remaining']];
        };
        expect(await left('/own', 'POST')).toEqual([200, '2']);
        expect(await left('/own', 'GET')).toEqual([200, '1']);
        expect(await left('/own', 'DELETE')).toEqual([200, '0']);
        // Where there is no HEAD, it is not found, which the limit of all counts.
        expect(await left('/own', 'HEAD')).toEqual(exposeHeadRoutes ? [429, '0'] : [404, '1']);
        expect(await left('/general', 'PUT')).toEqual([200, exposeHeadRoutes ? '1' : '0']);
      }
    });

    it('keeps the limit of a HEAD that was written out', async () => {
      const app = create();
      await app.register(rateLimit, { limit: 9, window: '1h' });
      app.head('/', { config: { rateLimit: { limit: 1 } } }, hello);
      app.get('/', { config: { rateLimit: { limit: 2 } } }, hello);
      expect((await ask(app, '/', { method: 'HEAD' })).headers['x-ratelimit-limit']).toBe('1');
      expect((await ask(app, '/')).headers['x-ratelimit-limit']).toBe('2');
    });

    it('gives a name to every route, however long or odd', async () => {
      const app = create();
      const store = new MemoryStore();
      await app.register(rateLimit, { ...two, store, headers: 'draft-8' });
      const odd = [
        '/a:b',
        '/%61',
        '/ä',
        '/{x}',
        '/"',
        '/\\',
        `/${'long'.repeat(40)}/1`,
        `/${'long'.repeat(40)}/2`,
      ];
      for (const url of odd) app.get(url.replace(':', '::'), { config: { rateLimit: { limit: 1 } } }, hello);
      const names = new Set<string>();
      for (const url of odd) {
        const { status, headers } = await ask(app, encodeURI(url));
        const [, name] =
          /^"([ !#-9;-[\]-z|~]{1,128})";q=1;w=3600$/.exec(String(headers['ratelimit-policy'])) ?? [];
        expect([url, status, typeof name]).toEqual([url, 200, 'string']);
        names.add(name);
      }
      expect(names.size).toBe(odd.length);
    });

    it('limits a route that was there before the plugin, by its own limit as well', async () => {
      const app = create();
      app.get('/before', hello);
      app.get('/own', { config: { rateLimit: { limit: 1 } } }, hello);
      app.get('/free', { config: { rateLimit: false } }, hello);
      // Not awaited: Fastify runs it when all is there.
      app.register(rateLimit, { ...two, headers: 'draft-8' });
      app.get('/after', { config: { rateLimit: { limit: 1 } } }, hello);
      expect(await statuses(app, 3, '/before')).toEqual([200, 200, 429]);
      const head = await ask(app, '/own', { method: 'HEAD' });
      // The name that the GET has as well, whichever is asked for first.
      expect([head.status, head.headers['ratelimit-policy']]).toEqual([
        200,
        '"default-GET%20/own";q=1;w=3600',
      ]);
      expect(await statuses(app, 1, '/own')).toEqual([429]);
      expect(await statuses(app, 2, '/after')).toEqual([200, 429]);
      expect(await statuses(app, 3, '/free')).toEqual([200, 200, 200]);
    });

    describe('that were there before the plugin', () => {
      const version = (value: string) => ({ 'accept-version': value });
      const host = (value: string) => ({ host: value });
      const shared = { rateLimit: { limit: 2 } };
      /** One URL; what tells each route apart, the limit of its own, and a request that reaches it. */
      const routes = [
        { constraints: { version: '1.0.0' }, limit: 1, headers: version('1.0.0') },
        { constraints: { version: '2.0.0' }, limit: 1, headers: version('2.x') },
        { constraints: { version: '3.0.0' }, config: shared, limit: 2, headers: version('3.0.0') },
        { constraints: { version: '4.0.0' }, config: shared, limit: 2, headers: version('4.0.0') },
        { constraints: { host: 'a.example' }, limit: 1, headers: host('a.example') },
        { constraints: { host: /^b\d\.example$/ }, limit: 1, headers: host('b1.example') },
        {
          constraints: { host: 'a.example', version: '1.0.0' },
          limit: 1,
          headers: { ...host('a.example'), ...version('1.0.0') },
        },
        { method: ['GET', 'PUT'], limit: 2, headers: {} },
        { method: 'POST', limit: 1, headers: {} },
        { method: 'DELETE', config: shared, limit: 2, headers: {} },
      ] as const;

      function add(app: FastifyInstance): void {
        for (const { limit, ...route } of routes) {
          const config = 'config' in route ? route.config : { rateLimit: { limit } };
          const { method = 'GET', constraints = {} } = {
            method: undefined,
            constraints: undefined,
            ...route,
          };
          app.route({ method: [method].flat() as string[], url: '/', constraints, config, handler: hello });
        }
      }

      /** The names that the routes' policies have in headers, asked for in this order. */
      async function names(app: FastifyInstance, order: readonly (typeof routes)[number][]) {
        const named = new Map<object, unknown>();
        for (const route of order) {
          const method = 'method' in route ? [route.method].flat()[0] : 'GET';
          const told: unknown[] = [];
          for (let left = route.limit - 1; left >= -1; left--) {
            const reply = await ask(app, '/', { method, headers: route.headers });
            expect([route, reply.status]).toEqual([route, left < 0 ? 429 : 200]);
            expect(reply.headers.ratelimit).toMatch(new RegExp(`;r=${Math.max(0, left)};`));
            told.push(reply.headers['ratelimit-policy']);
          }
          expect(new Set(told).size).toBe(1);
          named.set(route, told[0]);
        }
        return routes.map((route) => named.get(route));
      }

      it('have quotas and names of their own, whatever tells them apart, as those have that come after it', async () => {
        const [after, before, turned] = [create(), create(), create()];
        const options = { limit: 9, window: '1h', headers: 'draft-8' } as const;
        await after.register(rateLimit, options);
        for (const app of [after, before, turned]) add(app);
        for (const app of [before, turned]) await app.register(rateLimit, options);

        const right = await names(after, routes);
        expect(right.slice(0, 2)).toEqual([
          '"default-GET%20/%20version=1.0.0";q=1;w=3600',
          '"default-GET%20/%20version=2.0.0";q=1;w=3600',
        ]);
        expect(new Set(right).size).toBe(routes.length);
        expect(await names(before, routes)).toEqual(right);
        // As another process may be asked: names must not depend on it.
        expect(await names(turned, [...routes].reverse())).toEqual(right);
      });

      it('share one quota between a GET and its HEAD, and not with a HEAD that was written out', async () => {
        const options = { limit: 9, window: '1h', headers: 'draft-8' } as const;
        for (const order of [
          ['HEAD', 'GET'],
          ['GET', 'HEAD'],
        ]) {
          const app = create();
          app.get('/', { config: { rateLimit: { limit: 2 } } }, hello);
          app.head('/own', { config: { rateLimit: { limit: 1 } } }, hello);
          app.get('/own', { config: { rateLimit: { limit: 2 } } }, hello);
          await app.register(rateLimit, options);
          for (const method of order) {
            const { headers } = await ask(app, '/', { method });
            expect(headers['ratelimit-policy']).toBe('"default-GET%20/";q=2;w=3600');
          }
          expect(await statuses(app, 1, '/')).toEqual([429]);
          for (const method of order) {
            const { headers } = await ask(app, '/own', { method });
            const limit = method === 'HEAD' ? 1 : 2;
            expect(headers['ratelimit-policy']).toBe(`"default-${method}%20/own";q=${limit};w=3600`);
            expect(headers.ratelimit).toMatch(new RegExp(`;r=${limit - 1};`));
          }
        }
      });
    });

    describe('of an application that was made before this package was loaded', () => {
      function loadLate(): typeof rateLimit {
        let late: typeof rateLimit | undefined;
        jest.isolateModules(() => {
          late = (require('./index.js') as { rateLimit: typeof rateLimit }).rateLimit;
        });
        return late!;
      }

      it('are served and limited each by itself, also if only a constraint tells them apart', async () => {
        const app = create();
        for (const version of ['1.0.0', '2.0.0', '3.0.0']) {
          app.get('/', { constraints: { version }, config: { rateLimit: { limit: 2 } } }, hello);
        }
        await app.register(loadLate(), { limit: 9, window: '1h' });
        for (const version of ['2.0.0', '1.0.0', '3.0.0']) {
          const headers = { 'accept-version': version };
          const seen = [];
          for (const method of ['HEAD', 'GET', 'HEAD'])
            seen.push((await ask(app, '/', { method, headers })).status);
          expect([version, seen]).toEqual([version, [200, 200, 429]]);
        }
      });

      it('answer with the error, and do not search for ever, where the name of a route’s own is taken', async () => {
        const app = create();
        app.get('/', { config: { rateLimit: { name: 'default' } } }, hello);
        await app.register(loadLate(), one);
        const { status, body } = await ask(app, '/');
        expect([status, JSON.parse(body).code]).toEqual([500, 'ERR_SLUICE_NAME_TAKEN']);
      });
    });

    it('refuses wrong options of a route that was there before the plugin when the application gets ready', async () => {
      const mistakes: [unknown, string][] = [
        [{ limit: '5' }, 'Expected `limit` to be an integer >= 0 or Infinity, got "5".'],
        [true, 'Expected `config.rateLimit` to be an object or false, got true.'],
        [null, 'Expected `config.rateLimit` to be an object or false, got null.'],
      ];
      for (const [rateLimitOfRoute, mistake] of mistakes) {
        const config = { rateLimit: rateLimitOfRoute as RouteRateLimitOptions };
        const app = create();
        app.register(async (child) => void child.get('/own', { config }, hello), { prefix: '/child' });
        app.register(rateLimit, two);
        await expect(app.ready()).rejects.toMatchObject({
          code: 'ERR_SLUICE_OPTION',
          message: `Route GET /child/own: ${mistake}`,
        });
        // No plugin looks at these options.
        const aside = create();
        aside.get('/', { config }, hello);
        aside.register(async (child) => void child.register(rateLimit, two));
        expect(await statuses(aside, 1, '/')).toEqual([200]);
      }
    });

    it('refuses wrong options where the route is added', async () => {
      const app = create();
      await app.register(rateLimit, two);
      const add = (rateLimit: unknown) => () =>
        app.get('/', { config: { rateLimit: rateLimit as RouteRateLimitOptions } }, hello);
      expect(add({ limit: '5' })).toThrow('Expected `limit` to be an integer >= 0 or Infinity, got "5".');
      expect(add({ max: 5 })).toThrow(
        /^Expected no option that rateLimit does not have, got `max` \(did you mean `limit`\?\)\. It has /,
      );
      expect(add(true)).toThrow('Expected `config.rateLimit` to be an object or false, got true.');
      expect(add(null)).toThrow('Expected `config.rateLimit` to be an object or false, got null.');
      expect(add(5)).toThrow('Expected `config.rateLimit` to be an object or false, got 5.');
    });
  });

  describe('where it is registered', () => {
    it('limits a child, not its parent or siblings, if it is registered there', async () => {
      const app = create();
      app.register(async (child) => {
        await child.register(rateLimit, one);
        child.get('/limited', hello);
        child.register(async (grandchild) => {
          grandchild.get('/inner', hello);
        });
      });
      app.register(async (sibling) => {
        sibling.get('/sibling', (request) => ({ decision: request.rateLimit ?? null }));
      });
      app.get('/parent', { config: { rateLimit: { limit: 0 } } }, hello);
      expect(await statuses(app, 2, '/limited')).toEqual([200, 429]);
      expect(await statuses(app, 1, '/inner')).toEqual([429]);
      expect(await statuses(app, 3, '/sibling')).toEqual([200, 200, 200]);
      expect(await statuses(app, 3, '/parent')).toEqual([200, 200, 200]);
      expect(await statuses(app, 2, '/nowhere')).toEqual([404, 404]);
    });

    it('limits children, if it is registered on the root', async () => {
      const app = create();
      await app.register(rateLimit, two);
      app.register(
        async (child) => {
          child.get('/', hello);
          child.get('/own', { config: { rateLimit: { limit: 1 } } }, hello);
        },
        { prefix: '/child' },
      );
      expect(await statuses(app, 2, '/child/own')).toEqual([200, 429]);
      expect(await statuses(app, 1, '/child')).toEqual([200]);
      expect(await statuses(app, 1, '/child/')).toEqual([200]);
      expect(await statuses(app, 1, '/child')).toEqual([429]);
    });

    it('asks the limiters of the root and of the child, each once', async () => {
      const app = create();
      await app.register(rateLimit, { limit: 3, window: '1h' });
      app.register(async (child) => {
        await child.register(rateLimit, one);
        child.get('/child', hello);
      });
      app.get('/root', hello);
      expect(await statuses(app, 2, '/child')).toEqual([200, 429]);
      expect(await statuses(app, 2, '/root')).toEqual([200, 429]);
    });

    it('counts a route with options of its own by the limits of the root and of the child, whichever is stricter', async () => {
      const [strict, lenient] = [one, { limit: 10, window: '1m' }] as const;
      const route = { config: { rateLimit: { resetFormat: 'seconds' } } } as const;
      const seen = [];
      for (const [root, inner] of [
        [strict, lenient],
        [lenient, strict],
      ]) {
        for (const first of ['root', 'child']) {
          const app = create();
          if (first === 'root') await app.register(rateLimit, root);
          await app.register(async (child) => {
            await child.register(rateLimit, inner);
            child.get('/', route, hello);
          });
          if (first === 'child') await app.register(rateLimit, root);
          seen.push(await statuses(app, 3, '/'));
        }
      }
      expect(seen).toEqual(Array(4).fill([200, 429, 429]));
    });

    it('refuses a decorator of something else that stands where the decision is to be', async () => {
      for (const own of [null, { getter: () => 'theirs' }]) {
        const app = create();
        app.decorateRequest('rateLimit', own as never);
        await expect(app.register(rateLimit, one)).rejects.toMatchObject({
          code: 'ERR_SLUICE_ARGUMENT',
          message:
            'Expected `rateLimit` to be free on requests, where the decision stands, got a decorator of something else.',
        });
      }
    });

    it('limits what is not found, by the default answer and by one of your own', async () => {
      for (const custom of [false, true]) {
        const app = create();
        await app.register(rateLimit, two);
        if (custom) app.setNotFoundHandler((_request, reply) => reply.code(404).send('not here'));
        app.register(
          async (child) => {
            if (custom) child.setNotFoundHandler((_request, reply) => reply.code(404).send('nor here'));
            child.get('/', hello);
          },
          { prefix: '/child' },
        );
        const first = await ask(app, '/nowhere');
        expect([first.status, first.headers['x-ratelimit-remaining']]).toEqual([404, '1']);
        expect(await statuses(app, 2, '/child/nowhere')).toEqual([404, 429]);
        expect(await statuses(app, 1, '/', 'DELETE')).toEqual([429]);
      }
    });

    it('says how it is registered where it is called as in Express, and what it needs', async () => {
      const called = (rateLimit as unknown as (options: object) => Promise<void>)(one);
      const message =
        '`rateLimit` is a Fastify plugin: app.register(rateLimit, { … }). Expected an instance of Fastify.';
      await expect(create().register(called as never)).rejects.toMatchObject({
        code: 'ERR_SLUICE_ARGUMENT',
        message,
      });
      const without = create().register(rateLimit as never);
      await expect(without).rejects.toThrow(/^Expected `limit` and `window`, or /);
    });

    it('rejects the registration if an option is wrong', async () => {
      const app = create();
      await expect(app.register(rateLimit, { limit: 1 } as FastifyRateLimitOptions)).rejects.toMatchObject({
        name: 'ArgumentError',
        message: expect.stringMatching(/^Expected `window` to be .+, got undefined\.$/),
      });
    });
  });

  describe('on its way to the client', () => {
    it('lets the error handler see what goes wrong, and nothing else', async () => {
      const app = create();
      const seen: unknown[] = [];
      app.setErrorHandler((error, _request, reply) => {
        seen.push(error);
        return reply.redirect('/sorry', 303);
      });
      const failure = new Error('no database');
      const limit = (request: FastifyRequest) => (request.url === '/fails' ? Promise.reject(failure) : 1);
      await app.register(rateLimit, { limit, window: '1h' });
      app.get('/*', hello);
      expect(await statuses(app, 1, '/fails')).toEqual([303]);
      expect(seen).toEqual([failure]);
      expect(await statuses(app, 2, '/')).toEqual([200, 429]);
      expect(seen).toEqual([failure]);
    });

    it('lets the error handler see, once, what goes wrong while the request is told of its decision', async () => {
      const strays: unknown[] = [];
      const stray = (reason: unknown) => strays.push(reason);
      process.on('unhandledRejection', stray);
      try {
        for (const key of [() => 'k', async () => 'k']) {
          const app = create();
          const seen: unknown[] = [];
          app.setErrorHandler((error, _request, reply) => {
            seen.push((error as Error).name);
            reply.code(500).send('failed');
          });
          app.addHook('onRequest', async (request) => {
            const set = () => {
              throw new TypeError('not writable');
            };
            Object.defineProperty(request, 'rateLimit', { set });
          });
          await app.register(rateLimit, { ...two, key });
          app.get('/', hello);
          expect((await ask(app, '/')).body).toBe('failed');
          await new Promise((resolve) => setImmediate(resolve));
          expect(seen).toEqual(['TypeError']);
        }
        expect(strays).toEqual([]);
      } finally {
        process.off('unhandledRejection', stray);
      }
    });

    it('lets the error handler answer as it likes who is denied, if that is to be an error', async () => {
      const app = create();
      const seen: unknown[] = [];
      app.setErrorHandler((error, _request, reply) => {
        seen.push((error as { code?: unknown }).code);
        return reply.redirect('/sorry', 303);
      });
      await app.register(rateLimit, { ...one, limit: 0, throw: true });
      app.get('/', hello);
      const reply = await ask(app, '/');
      expect([reply.status, reply.headers.location]).toEqual([303, '/sorry']);
      expect(reply.headers['x-ratelimit-limit']).toBe('0');
      expect(seen).toEqual(['ERR_SLUICE_DENIED']);
    });

    it('answers with the fields of Fastify’s own errors, if nobody else does', async () => {
      const app = create();
      await app.register(rateLimit, { ...one, limit: 0, throw: true });
      const reply = await ask(app, '/nowhere');
      expect([reply.status, JSON.parse(reply.body)]).toEqual([
        429,
        {
          statusCode: 429,
          code: 'ERR_SLUICE_DENIED',
          error: 'Too Many Requests',
          message: 'This request asks for more than its limit ever admits. Waiting does not help.',
        },
      ]);
    });

    it('fails with a 500 when a handler does, as there is nobody to say otherwise', async () => {
      const app = create();
      const handler = async () => {
        throw new Error('no template');
      };
      await app.register(rateLimit, { ...one, limit: 0, handler });
      app.get('/', hello);
      const reply = await ask(app, '/');
      expect([reply.status, JSON.parse(reply.body)]).toEqual([
        500,
        { statusCode: 500, error: 'Internal Server Error', message: 'no template' },
      ]);
      expect(reply.headers['x-ratelimit-limit']).toBe('0');
    });

    const handlers: [string, DenialHandler, number, string][] = [
      ['returns text', () => 'text', 429, 'text'],
      ['returns an object', async () => ({ error: 'slow down' }), 429, '{"error":"slow down"}'],
      ['returns nothing, later', async () => {}, 429, ''],
      ['sends text', (_request, reply) => void reply.send('text'), 429, 'text'],
      ['sends text and returns the reply', (_request, reply) => reply.send('text'), 429, 'text'],
      ['sends text, later', (_request, reply) => void setImmediate(() => reply.send('text')), 429, 'text'],
      ['sends another status', (_request, reply) => reply.code(503).send('text'), 503, 'text'],
      ['redirects', (_request, reply) => reply.redirect('/slow'), 302, ''],
    ];
    it.each(handlers)('sends once what a handler answers that %s', async (_, handler, status, body) => {
      for (const slow of [false, true]) {
        const log: string[] = [];
        const app = create({
          logger: { level: 'warn', stream: { write: (line: string) => log.push(line) } },
        });
        const sent: unknown[] = [];
        app.addHook('onSend', async (_request, _reply, payload) => {
          if (slow) await new Promise((resolve) => setImmediate(resolve));
          sent.push(payload);
          return payload;
        });
        await app.register(rateLimit, { ...one, limit: 0, handler });
        let handled = 0;
        app.get('/', () => {
          handled += 1;
          return 'hello';
        });
        const reply = await ask(app, '/');
        expect([slow, reply.status, reply.body]).toEqual([slow, status, body]);
        expect(reply.headers['x-ratelimit-limit']).toBe('0');
        expect([handled, sent.length, log]).toEqual([0, 1, []]);
      }
    });

    it('leaves a reply alone that a function of its own has hijacked', async () => {
      const app = create();
      const replies: FastifyReply[] = [];
      app.addHook('onRequest', (_request, reply, done) => {
        replies.push(reply);
        done();
      });
      const key = () => {
        replies.at(-1)?.hijack();
        setImmediate(() => replies.at(-1)?.raw.end('mine'));
        return 'k';
      };
      await app.register(rateLimit, { ...one, limit: 0, key });
      app.get('/', hello);
      const reply = await ask(app, '/');
      expect([reply.status, reply.body]).toEqual([200, 'mine']);
    });

    it('leaves a response alone that was begun while the limiter waited', async () => {
      const app = create();
      const errors: unknown[] = [];
      app.setErrorHandler((error, _request, reply) => {
        errors.push(error);
        reply.send();
      });
      let [handled, begin] = [0, () => {}];
      app.addHook('onRequest', async (_request, { raw }) => {
        begin = () => {
          raw.writeHead(203).write('begun');
          setImmediate(() => setImmediate(() => raw.end()));
        };
      });
      const key = async () => {
        begin();
        return 'k';
      };
      await app.register(rateLimit, { ...one, key });
      app.get('/', () => {
        handled += 1;
        return 'hello';
      });
      const reply = await ask(app, '/');
      expect([reply.status, reply.body]).toEqual([203, 'begun']);
      expect([handled, errors]).toEqual([0, []]);
    });

    it('has the headers of a reply that is hijacked where its route hands them on', async () => {
      const app = create();
      await app.register(rateLimit, two);
      app.get('/', (_request, reply) => {
        reply.hijack();
        reply.raw.writeHead(203, reply.getHeaders() as OutgoingHttpHeaders).end('raw');
      });
      const replies = [await ask(app, '/'), await ask(app, '/')];
      expect(replies.map(({ status, body }) => [status, body])).toEqual(Array(2).fill([203, 'raw']));
      expect(replies.map(({ headers }) => headers['x-ratelimit-remaining'])).toEqual(['1', '0']);
      expect((await ask(app, '/')).status).toBe(429);
    });

    it('runs the hooks of the application on a denied request', async () => {
      const app = create();
      const ran: string[] = [];
      app.addHook('onSend', async (_request, reply) => {
        ran.push('onSend');
        reply.header('access-control-allow-origin', '*');
      });
      app.addHook('onResponse', async () => void ran.push('onResponse'));
      app.addHook('preHandler', async () => void ran.push('preHandler'));
      await app.register(rateLimit, { ...one, limit: 0 });
      app.get('/', hello);
      const reply = await ask(app, '/');
      expect(reply.status).toBe(429);
      expect(reply.headers['access-control-allow-origin']).toBe('*');
      expect(ran).toEqual(['onSend', 'onResponse']);
    });
  });

  it('has types for routes', () => {
    const app = create();
    app.get('/', { config: { rateLimit: { limit: 5, key: (request) => request.ip } } }, (request) => {
      const decision: Decision | null = request.rateLimit;
      return decision;
    });
    app.get('/free', { config: { rateLimit: false } }, hello);
    // @ts-expect-error: a text is no limit.
    app.get('/text', { config: { rateLimit: { limit: '5' } } }, hello);
    // @ts-expect-error: there is no such option.
    const unknown: RouteRateLimitOptions = { max: 5 };
    // @ts-expect-error: a bucket's option on a window.
    const mixed: RouteRateLimitOptions = { algorithm: 'fixed-window', burst: 5 };
    expect([unknown, mixed]).toHaveLength(2);
  });
});

it('knows the routes of each application, though they share a server', async () => {
  let handler: (request: unknown, response: unknown) => void = () => {};
  const server = createServer((request, response) => handler(request, response));
  const app = Fastify({
    serverFactory: (own) => {
      handler = own as typeof handler;
      return server;
    },
  });
  app.get('/free', { config: { rateLimit: false } }, () => 'free');
  app.get('/own', { config: { rateLimit: { limit: 2 } } }, () => 'own');
  await app.register(rateLimit, { limit: 1, window: '1h' });
  await Fastify({ serverFactory: () => server }).ready();
  await app.ready();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const statusesOf = async (url: string) => {
    const all: number[] = [];
    for (let i = 0; i < 3; i++) all.push((await fetch(`http://127.0.0.1:${port}${url}`)).status);
    return all;
  };
  expect(await statusesOf('/free')).toEqual([200, 200, 200]);
  expect(await statusesOf('/own')).toEqual([200, 200, 429]);
  server.closeAllConnections();
  server.close();
});

it('goes on with a response that was begun before, and ends one that is denied', async () => {
  const app = Fastify();
  app.addHook('onRequest', (_request, reply, done) => {
    reply.raw.write('begun');
    done();
  });
  await app.register(rateLimit, { limit: 1, window: '1h' });
  app.get('/', (_request, reply) => {
    reply.hijack();
    reply.raw.end(', done');
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const bodies = await bodiesOf(app.server, 2);
  await app.close();
  expect(bodies).toEqual(['begun, done', 'begun']);
});

it('gives the names of its limiters back when the application is closed, but for those it was given', async () => {
  const store = new MemoryStore();
  const limiter = createLimiter({ name: 'given', policies: [{ limit: 5, window: '1h' }], store });
  for (let i = 0; i < 2; i++) {
    const app = Fastify();
    await app.register(rateLimit, { limit: 5, window: '1h', store });
    app.get('/own', { config: { rateLimit: { limit: 1 } } }, () => 'ok');
    app.get('/given', { config: { rateLimit: { limiter } } }, () => 'ok');
    await app.ready();
    await app.close();
  }
  expect(limiter.consume('k')).toMatchObject({ allowed: true });
});
