/**
 * Routes that were added before the plugin: Fastify tells the hooks of a plugin nothing of them, and a request does not
 * tell the constraints of its route.
 *
 * @module
 */

import { subscribe } from 'node:diagnostics_channel';
import { type Route, withoutSlash } from '@sluice/core/http';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** Where a route carries what it was added with. */
export const addedAs: unique symbol = Symbol('route');

/** A route that has options of its own. */
export interface LimitedRoute extends Route {
  readonly own: object;
}

/** Those of each application, by its server, in the order in which they were added. */
const limited = new WeakMap<object, LimitedRoute[]>();

// Every application tells of itself on this channel before anything can be added to it.
subscribe('fastify.initialization', (message) => {
  const { fastify } = message as { fastify: FastifyInstance };
  const routes: LimitedRoute[] = [];
  limited.set(fastify.server, routes);
  fastify.addHook('onRoute', (route) => {
    const own = route.config?.rateLimit;
    if (typeof own !== 'object' || own === null) return;
    const { method, url, constraints } = route;
    const added = { method, url, constraints, own };
    routes.push(added);
    route.config = { ...route.config, [addedAs]: added };
  });
});

/**
 * Returns the route of a request, as the last of those that were added up to it with the same options and URL: it may
 * share the guard of one of them. Guards that are made in this order have the names that they would have if the plugin
 * had been there first, whichever route is asked for first.
 */
export function routesOf({ routeOptions, server }: FastifyRequest, own: object): readonly Route[] {
  const { config, method = '', url = '' } = routeOptions;
  const route = config[addedAs];
  // The application was made before this module was loaded. A HEAD may be asked for before its GET.
  if (route === undefined) return [{ method: method === 'HEAD' ? 'GET' : method, url }];
  const all = limited.get(server.server) ?? [];
  const path = withoutSlash(route.url);
  return all
    .slice(0, all.indexOf(route) + 1)
    .filter((other) => other.own === own && withoutSlash(other.url) === path);
}
