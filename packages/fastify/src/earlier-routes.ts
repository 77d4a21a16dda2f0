/**
 * Routes that were added before the plugin: Fastify tells the hooks of a plugin nothing of them, and a request does not
 * tell the constraints of its route.
 *
 * @module
 */

import { subscribe } from 'node:diagnostics_channel';
import type { Route } from '@sluice/core/http';
import type { FastifyInstance, RouteOptions } from 'fastify';

/** Where a route carries what it was added with. */
export const addedAs: unique symbol = Symbol('route');

declare module 'fastify' {
  interface FastifyContextConfig {
    [addedAs]?: AddedRoute;
  }
}

/** A route as it was added. */
export interface AddedRoute extends Route {
  /** Where it was added. */
  readonly instance: FastifyInstance;
  /** What all hooks have made of it in the end. */
  readonly options: RouteOptions;
}

/** Those of each application, by its first instance, in the order in which they were added. */
const added = new WeakMap<object, AddedRoute[]>();

// Every application tells of itself on this channel before anything can be added to it.
subscribe('fastify.initialization', (message) => {
  const { fastify } = message as { fastify: FastifyInstance };
  const routes: AddedRoute[] = [];
  added.set(fastify, routes);
  fastify.addHook('onRoute', function add(options) {
    const { method, url, constraints } = options;
    const route = { method, url, constraints, instance: this, options };
    routes.push(route);
    options.config = { ...options.config, [addedAs]: route };
  });
});

/** Whether the routes of an instance are known, those from before the plugin included. */
export function knowsRoutesOf(instance: FastifyInstance): boolean {
  return addedTo(instance) !== undefined;
}

/**
 * Returns the routes of an instance and of its children, in the order in which they were added; none if the application
 * was made before this module was loaded.
 */
export function routesOf(instance: FastifyInstance): readonly AddedRoute[] {
  const routes = addedTo(instance) ?? [];
  // A child inherits from its parent.
  return routes.filter(
    ({ instance: own }) => own === instance || Object.prototype.isPrototypeOf.call(instance, own),
  );
}

/** A child inherits from its parent, and so at last from the first. */
function addedTo(instance: FastifyInstance): AddedRoute[] | undefined {
  for (let each: object | null = instance; each !== null; each = Object.getPrototypeOf(each)) {
    const routes = added.get(each);
    if (routes !== undefined) return routes;
  }
  return undefined;
}
