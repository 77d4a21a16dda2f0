/**
 * Rate limits for Fastify 5.
 *
 * @module
 */

import { ArgumentError, type Decision } from '@sluice/core';
import {
  createRouteGuards,
  exposeHeaders,
  type Guard,
  type Host,
  type RateLimitOptions,
  trustsEveryone,
  type Verdict,
} from '@sluice/core/http';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import fp from 'fastify-plugin';
import { type addedAs, type LimitedRoute, routesOf } from './earlier-routes.js';

export {
  byHeader,
  type ClientIpOptions,
  clientIp,
  type LimitUpgradeOptions,
  limitUpgrade,
  RateLimitError,
} from '@sluice/core/http';
// Fastify takes the default of a module that is registered as it is, by require or by import.
export { rateLimit as default };

/** Answers a denied request as a route would: it returns the payload, or sends. Status and headers are set already. */
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
    [addedAs]?: LimitedRoute;
    /** A limit of this route's own, or `false` for none. */
    rateLimit?: RouteRateLimitOptions | false;
  }
}

const host: Host<FastifyRequest> = {
  raw: (request) => request.raw,
  address: (request) => request.ip,
  trust: (request) => {
    if (request.ips === undefined) return 'nobody';
    return trustsEveryone((address) => isTrusted(address, request)) ? 'everyone' : 'some';
  },
};

/** Fastify keeps its setting to itself. It trusts who may stand on all of a chain, up to the client at its end. */
function isTrusted(address: string, request: FastifyRequest): boolean {
  const chain = ['0.0.0.0', ...Array(100).fill(address)];
  const raw = { headers: { 'x-forwarded-for': chain.join() }, socket: { remoteAddress: address } };
  return Object.create(request, { raw: { value: raw } }).ip === '0.0.0.0';
}

/**
 * A plugin that lets through what its policies admit and answers the rest with a 429, on every route of the instance
 * it is registered on, also those that were added before it, and on its 404s.
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
    if (typeof instance?.addHook !== 'function') throw calledByHand();
    const guards = createRouteGuards(options, host);
    if (!instance.hasRequestDecorator('rateLimit')) instance.decorateRequest('rateLimit', null);

    // Here already, so that a wrong option is an error where the route is added.
    instance.addHook('onRoute', (route: RouteOptions) => {
      const own = route.config?.rateLimit;
      if (own === undefined || own === false) return;
      route.config = { ...route.config, [guardOf]: guards.of(own, route) };
    });

    /** The guard of the request's route, `undefined` if it has none. */
    function ownGuardOf(request: FastifyRequest): Guard<FastifyRequest, DenialHandler> | undefined {
      const { config } = request.routeOptions;
      const own = config.rateLimit;
      if (own === false) return undefined;
      // A route that was there before this plugin has no guard yet.
      if (own !== undefined && config[guardOf] === undefined) {
        const [last] = routesOf(request, own)
          .map((route) => guards.of(own, route))
          .slice(-1);
        config[guardOf] = last;
      }
      return config[guardOf] ?? guards.general;
    }

    // With a callback, as a promise for each request costs more than deciding it in memory.
    instance.addHook('onRequest', (request, reply, done) => {
      const guard = ownGuardOf(request);
      if (guard === undefined) return done();
      let verdict: ReturnType<typeof guard.check>;
      try {
        verdict = guard.check(request, reply.raw);
      } catch (error) {
        return done(error as Error);
      }
      if ('then' in verdict) verdict.then((settled) => answer(guard, settled, request, reply, done), done);
      else answer(guard, verdict, request, reply, done);
    });
  }) satisfies FastifyPluginAsync<FastifyRateLimitOptions>,
  { name: '@sluice/fastify', fastify: '5.x' },
);

function answer(
  { handler }: Guard<FastifyRequest, DenialHandler>,
  { decision, headers, denial, gone }: Verdict,
  request: FastifyRequest,
  reply: FastifyReply,
  done: (error?: Error) => void,
): void {
  // Nobody is there, and Fastify is to know that nothing comes.
  if (gone) reply.hijack();
  // Something else may have answered while the store was asked.
  if (gone || reply.sent || reply.raw.headersSent) return;
  if (decision !== undefined) request.rateLimit = decision;
  for (const [name, value] of headers) reply.header(name, value);
  exposeHeaders(request, reply.raw, headers);
  if (denial === undefined || decision === undefined) done();
  else if (denial.error !== undefined) done(denial.error);
  else {
    // Not by reply.code, which redirects and errors would then keep.
    reply.raw.statusCode = denial.status;
    if (handler === undefined) reply.send(denial.body);
    else void call(handler, request, reply, decision, done);
  }
}

/** As with routes: one that is not async and returns nothing sends by itself. */
async function call(
  handler: DenialHandler,
  request: FastifyRequest,
  reply: FastifyReply,
  decision: Decision,
  done: (error: Error) => void,
): Promise<void> {
  try {
    const answered = handler(request, reply, decision);
    if (answered === undefined) return;
    const payload = await answered;
    if (!reply.sent) reply.send(payload);
  } catch (error) {
    done(error as Error);
  }
}

/** It was called as in Express; the options stand where the instance should. */
function calledByHand(): ArgumentError {
  const message =
    '`rateLimit` is a Fastify plugin: app.register(rateLimit, { … }). Expected an instance of Fastify.';
  return new ArgumentError('ERR_SLUICE_ARGUMENT', message);
}
