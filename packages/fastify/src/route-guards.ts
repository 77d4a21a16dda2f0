/**
 * Which guard a request is for: that of its route, or that of all.
 *
 * @module
 */

import { ArgumentError } from '@sluice/core';
import {
  createRouteGuards,
  type Guard,
  type Host,
  type RateLimitOptions,
  type Route,
} from '@sluice/core/http';
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import { addedAs, knowsRoutesOf, routesOf } from './earlier-routes.js';

/** Returns the guard of a request, or `undefined` where its route is not limited. */
export type GuardOf<Handler> = (request: FastifyRequest) => Guard<FastifyRequest, Handler> | undefined;

/**
 * Returns the guards of one registration, which looks at each route of the instance: a wrong option is an error where
 * the route is added, or, if it was there before, when the application gets ready.
 *
 * @throws ArgumentError if an option of the plugin is wrong.
 */
export function guardsOn<Handler>(
  instance: FastifyInstance,
  options: RateLimitOptions<FastifyRequest, Handler>,
  host: Host<FastifyRequest>,
): GuardOf<Handler> {
  type Own = Parameters<typeof guards.of>[0];
  type Config = { [guardOf]?: Guard<FastifyRequest, Handler>; [addedAs]?: Route; rateLimit?: Own | false };
  const guards = createRouteGuards(options, host);
  // One for each registration, as a route of a child is one of its parent's as well.
  const guardOf: unique symbol = Symbol('rateLimit');
  // Asking a request for its route makes an object each time: not for applications where no route has a say.
  let asksRoutes = !knowsRoutesOf(instance);

  instance.addHook('onRoute', (route: RouteOptions) => {
    const { rateLimit: own } = (route.config ?? {}) as Config;
    if (own === undefined) return;
    asksRoutes = true;
    if (own === false) return;
    route.config = { ...route.config, [guardOf]: guards.of(own, route) } as object;
  });

  // In the order in which they were added, so that names do not depend on what is asked for first.
  instance.addHook('onReady', async () => {
    for (const route of routesOf(instance)) {
      const { rateLimit: own, [guardOf]: made } = (route.options.config ?? {}) as Config;
      if (own !== undefined) asksRoutes = true;
      if (own !== undefined && own !== false && made === undefined)
        withPlace(route, () => guards.of(own, route));
    }
  });

  // A name that is not given back could not be taken by the application's next start in this process.
  instance.addHook('onClose', async () => guards.close());

  return (request) => {
    // What answers a 404 may have a say as well, and nobody tells of it.
    if (!asksRoutes && !request.is404) return guards.general;
    const { config: given, method = '', url = '' } = request.routeOptions;
    const config = given as Config;
    const { rateLimit: own } = config;
    if (own === false) return undefined;
    if (own === undefined) return guards.general;
    // A route that was there before the plugin has the guard that was made for it when all was ready.
    config[guardOf] ??= config[addedAs] ? guards.of(own, config[addedAs]) : guardOfUnknown(own, method, url);
    return config[guardOf];
  };

  /** Of a route nobody told of, the constraints are not known: another may have its name. */
  function guardOfUnknown(own: Own, methods: string | string[], url: string): Guard<FastifyRequest, Handler> {
    // A HEAD may be asked for before its GET.
    const method = methods === 'HEAD' ? 'GET' : methods;
    for (let nth = 1; ; nth++) {
      try {
        return guards.of(own, { method, url, constraints: nth === 1 ? {} : { nth } });
      } catch (error) {
        if (own.name !== undefined || codeOf(error) !== 'ERR_SLUICE_NAME_TAKEN') throw error;
      }
    }
  }
}

/** Says whose options are wrong, as the place where they stand is no longer on the stack. */
function withPlace({ method, url }: Route, make: () => unknown): void {
  try {
    make();
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error;
    throw new ArgumentError(error.code, `Route ${[method].flat().join(', ')} ${url}: ${error.message}`);
  }
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}
