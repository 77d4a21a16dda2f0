/**
 * Rate limits for Fastify 5.
 *
 * @module
 */

import { ArgumentError, type Decision } from '@sluice/core';
import { type Host, type RateLimitOptions, trustedBy, trustsByProbe } from '@sluice/core/http';
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { answer, answerLater } from './answer.js';
import { guardsOn } from './route-guards.js';

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

declare module 'fastify' {
  interface FastifyRequest {
    /** What the last limiter said of this request; `null` where none did. */
    rateLimit: Decision | null;
  }
  interface FastifyContextConfig {
    /** A limit of this route's own, or `false` for none. */
    rateLimit?: RouteRateLimitOptions | false;
  }
}

const host: Host<FastifyRequest> = {
  raw: (request) => request.raw,
  address: (request) => request.ip,
  trust: (request) => {
    // Fastify keeps its setting to itself.
    const trusts = trustsByProbe((probe) => Object.create(request, { raw: { value: probe } }).ip);
    return trustedBy(trusts, request.raw.socket.remoteAddress);
  },
};

/**
 * A plugin that lets through what its policies admit and answers the rest with a 429, on every route of the instance
 * it is registered on, also those that were added before it, and on its 404s.
 *
 * A route with `config.rateLimit` has a quota of its own; `false` takes the limit off. Errors of your own functions
 * and of the store go to the error handler. Who is asking is `request.ip`, so `trustProxy` decides behind a proxy.
 *
 * @throws ArgumentError, as a rejection of `register`, if an option is wrong, or if `rateLimit` of requests is taken. A
 *   wrong option of a route is thrown where it is added, or rejects `ready` if that was before the plugin.
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
    decorate(instance);
    const guardOf = guardsOn(instance, options, host);

    // With a callback, as a promise for each request costs more than deciding it in memory. Fastify catches what is
    // thrown at once.
    instance.addHook('onRequest', (request, reply, done) => {
      const guard = guardOf(request);
      if (guard === undefined) return done();
      const begun = reply.raw.headersSent;
      const verdict = guard.check(request, reply.raw);
      if ('then' in verdict) answerLater(guard, verdict, begun, request, reply, done);
      else if (answer(guard, verdict, begun, request, reply, done)) done();
    });
  }) satisfies FastifyPluginAsync<FastifyRateLimitOptions>,
  { name: '@sluice/fastify', fastify: '5.x' },
);

/** Tells which instances have `request.rateLimit` from here. Registered, so that other copies of the package know. */
const DECORATED = Symbol.for('sluice.decorated');

/** Fastify refuses a second decorator of one name after this plugin; before it, it would be written over or refuse to be. */
function decorate(instance: FastifyInstance): void {
  if (instance.hasDecorator(DECORATED)) return;
  if (instance.hasRequestDecorator('rateLimit')) {
    const message =
      'Expected `rateLimit` to be free on requests, where the decision stands, got a decorator of something else.';
    throw new ArgumentError('ERR_SLUICE_ARGUMENT', message);
  }
  instance.decorateRequest('rateLimit', null);
  instance.decorate(DECORATED, true);
}

/** It was called as in Express; the options stand where the instance should. */
function calledByHand(): ArgumentError {
  const message =
    '`rateLimit` is a Fastify plugin: app.register(rateLimit, { … }). Expected an instance of Fastify.';
  return new ArgumentError('ERR_SLUICE_ARGUMENT', message);
}
