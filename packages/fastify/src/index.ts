/**
 * Rate limits for Fastify 5.
 *
 * @module
 */

import type { Decision } from '@sluice/core';
import { createRouteGuards, type Guard, type Host, type RateLimitOptions } from '@sluice/core/http';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import fp from 'fastify-plugin';

export { byHeader } from '@sluice/core/http';

/** Answers a denied request: what it sends or returns is sent. Status and headers are set already. */
export type DenialHandler = (request: FastifyRequest, reply: FastifyReply, decision: Decision) => unknown;

/** The options of {@link rateLimit}. */
export type FastifyRateLimitOptions = RateLimitOptions<FastifyRequest, DenialHandler>;

/** A route's own options: they stand in for the plugin's, one by one. */
export type RouteRateLimitOptions = Partial<FastifyRateLimitOptions>;

/** Where a route carries its own guard. */
const guardOf: unique symbol = Symbol('rateLimit');

declare module 'fastify' {
  interface FastifyRequest {
    /** What the last limiter said of this request; `null` where none did. */
    rateLimit: Decision | null;
  }
  interface FastifyContextConfig {
    [guardOf]?: Guard<FastifyRequest, DenialHandler>;
    /** A limit of this route's own, or `false` for none. */
    rateLimit?: RouteRateLimitOptions | false;
  }
}

const host: Host<FastifyRequest> = {
  raw: (request) => request.raw,
  address: (request) => request.ip,
};

/**
 * A plugin that lets through what its policies admit and answers the rest with a 429, on every route of the instance
 * it is registered on that is added after it, and on its 404s.
 *
 * A route with `config.rateLimit` has a quota of its own; `false` takes the limit off. Errors of your own functions
 * and of the store go to the error handler. Who is asking is `request.ip`, so `trustProxy` decides behind a proxy.
 *
 * @throws ArgumentError, as a rejection of `register`, if an option is wrong.
 *
 * @example
 * import Fastify from 'fastify';
 * import { rateLimit } from '@sluice/fastify';
 * const app = Fastify();
 * await app.register(rateLimit, { limit: 100, window: '1m' });
 * app.get('/health', { config: { rateLimit: false } }, () => 'ok');
 */
export const rateLimit: FastifyPluginAsync<FastifyRateLimitOptions> = fp(
  (async (instance, options) => {
    const guards = createRouteGuards(options, host);
    const byRoute = new Map<string, Guard<FastifyRequest, DenialHandler>>();
    if (!instance.hasRequestDecorator('rateLimit')) instance.decorateRequest('rateLimit', null);

    instance.addHook('onRoute', (route: RouteOptions) => {
      const own = route.config?.rateLimit;
      if (!own) return;
      // The HEAD route that Fastify adds to a GET is the same route.
      const name = `${route.method === 'HEAD' ? 'GET' : route.method} ${route.url}`;
      const guard = byRoute.get(name) ?? guards.of(own, name);
      byRoute.set(name, guard);
      route.config = { ...route.config, [guardOf]: guard };
    });

    instance.addHook('onRequest', async (request, reply) => {
      const { rateLimit, [guardOf]: guard = guards.general } = request.routeOptions.config;
      if (rateLimit === false) return undefined;
      const { decision, headers, denial } = await guard.check(request);
      if (reply.sent) return reply;
      if (decision !== undefined) request.rateLimit = decision;
      for (const [name, value] of headers) reply.header(name, value);
      if (denial === undefined || decision === undefined) return undefined;
      reply.code(denial.status);
      if (guard.handler === undefined) return reply.send(denial.body);
      const answer = await guard.handler(request, reply, decision);
      return reply.sent ? reply : reply.send(answer);
    });
  }) satisfies FastifyPluginAsync<FastifyRateLimitOptions>,
  { name: '@sluice/fastify', fastify: '5.x' },
);
