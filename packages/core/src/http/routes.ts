/**
 * Guards for frameworks whose routes bring limits of their own.
 *
 * @module
 */

import { MemoryStore } from '../index.js';
import { createGuard, type Guard, type Host } from './guard.js';
import { mergeOptions, type RateLimitOptions } from './options.js';

/** The guard of all routes, and those of the routes that want another. */
export interface RouteGuards<Req, Handler> {
  readonly general: Guard<Req, Handler>;
  /**
   * Returns a guard with `own` options where given and the general ones elsewhere, and with a quota of its own.
   *
   * @param route - what the route is called, such as `GET /users/:id`; its limiter is named after it.
   */
  of(own: Partial<RateLimitOptions<Req, Handler>>, route: string): Guard<Req, Handler>;
}

/** Returns the guards of a plugin. Unless a store is given, one `MemoryStore` serves all of them. */
export function createRouteGuards<Req, Handler>(
  options: RateLimitOptions<Req, Handler>,
  host: Host<Req>,
): RouteGuards<Req, Handler> {
  const store = options?.store ?? new MemoryStore();
  const withStore = (some: RateLimitOptions<Req, Handler>) =>
    createGuard(some?.limiter === undefined ? { ...some, store } : some, host);
  const general = withStore(options);
  return {
    general,
    of(own, route) {
      const merged = mergeOptions(options, own);
      const name = own.name ?? `${general.limiter.name}-${encode(route)}`;
      return withStore(merged.limiter === undefined ? { ...merged, name } : merged);
    },
  };
}

/** What may not stand in a name, percent-encoded, so that different routes stay different. */
function encode(route: string): string {
  return route.replace(/[^!#-$&-9;-[\]-z|~]/gu, (char) => encodeURIComponent(char).replace(':', '%3A'));
}
