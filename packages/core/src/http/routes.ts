/**
 * Guards for frameworks whose routes bring limits of their own.
 *
 * @module
 */

import { expected } from '../errors.js';
import { MemoryStore } from '../index.js';
import { digest } from '../key.js';
import type { Limiter } from '../limiter.js';
import { createGuard, type Guard, type Host } from './guard.js';
import { mergeOptions } from './merge-options.js';
import type { RateLimitOptions } from './options.js';

/** Which requests are a route's. */
export interface Route {
  /** One, or several that share it. */
  readonly method: string | readonly string[];
  /** As it was added, with its prefix. */
  readonly url: string;
  /** What else tells it from routes of the same method and URL, such as a version. */
  readonly constraints?: object | undefined;
}

/** The guard of all routes, and those of the routes that want another. */
export interface RouteGuards<Req, Handler> {
  /** That of all routes without options of their own. */
  readonly general: Guard<Req, Handler>;
  /**
   * Returns the guard of a route, with `own` options where given and the general ones elsewhere. It has a quota of its
   * own, which it shares with nobody but what the framework made of it, and has the very same options: the HEAD that
   * is added to a GET, the URL with a slash at its end and the one without.
   *
   * @throws ArgumentError if an option is wrong.
   */
  of(own: Partial<RateLimitOptions<Req, Handler>>, route: Route): Guard<Req, Handler>;
  /** Closes all limiters that were made for these guards: their names are free again. Those that were given stay open. */
  close(): void;
}

/** Names may have 128 characters; what does not fit is cut to this many and a digest of the whole. */
const LONGEST_START = 100;

/**
 * Returns the guards of a plugin. Unless a store is given, one `MemoryStore` serves all of them.
 *
 * @throws ArgumentError if an option is wrong.
 *
 * @example
 * import type { IncomingMessage } from 'node:http';
 * import { createRouteGuards } from '@sluice/core/http';
 * const guards = createRouteGuards({ limit: 100, window: '1m' }, {
 *   raw: (request: IncomingMessage) => request,
 *   address: (request) => request.socket.remoteAddress,
 * });
 * const login = guards.of({ limit: 5 }, { method: 'POST', url: '/login' });
 */
export function createRouteGuards<Req, Handler>(
  options: RateLimitOptions<Req, Handler>,
  host: Host<Req>,
): RouteGuards<Req, Handler> {
  const store = options?.store === undefined ? new MemoryStore() : options.store;
  const withStore = (some: RateLimitOptions<Req, Handler>) =>
    createGuard(some?.limiter === undefined ? { store, ...some } : some, host);
  const general = withStore(options);
  const known: { own: object; place: string; guard: Guard<Req, Handler> }[] = [];
  const made: Limiter[] = options.limiter === undefined ? [general.limiter] : [];

  return {
    general,
    of(own, { method, url, constraints }) {
      if (typeof own !== 'object' || own === null) {
        throw expected('ERR_SLUICE_OPTION', 'config.rateLimit', 'an object or false', own);
      }
      const methods = [method].flat();
      const first = methods.includes('GET') ? 'GET' : methods[0];
      const others = Object.entries(constraints ?? {}).map(constraintOf);
      const where = [url, ...others].join(' ');
      const place = [first === 'HEAD' ? 'GET' : first, withoutSlash(url), ...others].join(' ');
      const same = known.find((route) => route.own === own && route.place === place);
      if (same !== undefined) return same.guard;

      const name = nameOf(general.limiter.name, `${first} ${where}`);
      const merged = mergeOptions(options, own);
      const guard = withStore(merged.limiter === undefined ? { ...merged, name: own.name ?? name } : merged);
      known.push({ own, place, guard });
      if (merged.limiter === undefined) made.push(guard.limiter);
      return guard;
    },
    close() {
      for (const limiter of made) limiter.close();
    },
  };
}

/** Returns the URL as it is without a slash at its end. */
function withoutSlash(url: string): string {
  return url.endsWith('/') ? url.slice(0, -1) : url;
}

/** Values are what a framework's router takes: texts, regular expressions, and whatever a strategy of the user reads. */
function constraintOf([name, value]: [string, unknown]): string {
  const plain = typeof value === 'object' && !(value instanceof RegExp);
  return `${name}=${plain ? JSON.stringify(value) : String(value)}`;
}

/** A limiter's name that no other route has: what may not stand in it is percent-encoded. */
function nameOf(general: string, route: string): string {
  const encoded = route.replace(/[^!#-$&-9;-[\]-z|~]/gu, encodeURIComponent);
  const name = `${general}-${encoded}`;
  return name.length <= 128 ? name : name.slice(0, LONGEST_START) + digest(name);
}
