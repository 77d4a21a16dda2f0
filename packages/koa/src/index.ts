/**
 * Rate limits for Koa 2 and 3.
 *
 * @module
 */

import type { Decision } from '@sluice/core';
import {
  createGuard,
  exposeHeaders,
  type Header,
  type Host,
  listsHops,
  type RateLimitOptions,
} from '@sluice/core/http';
import type { Context, Middleware } from 'koa';

export {
  byHeader,
  type ClientIpOptions,
  clientIp,
  type LimitUpgradeOptions,
  limitUpgrade,
  RateLimitError,
} from '@sluice/core/http';
export { rateLimit as default };

declare module 'koa' {
  interface DefaultState {
    /** What the last limiter said of this request; absent where none did. */
    rateLimit?: Decision;
  }
}

/** Answers a denied request; status and headers are set already. */
export type DenialHandler = (context: Context, decision: Decision) => unknown;

/** The options of {@link rateLimit}. */
export type KoaRateLimitOptions = RateLimitOptions<Context, DenialHandler>;

const host: Host<Context> = {
  raw: (context) => context.req,
  address: (context) => context.ip,
  trust: ({ app: { proxy, maxIpsCount, proxyIpHeader } }) => {
    if (!proxy) return 'nobody';
    // The leftmost of a list is what the client wrote. Early versions of Koa 2 have no setting for the header.
    return maxIpsCount > 0 || !listsHops(proxyIpHeader) ? 'some' : 'everyone';
  },
};

/**
 * Returns middleware that lets through what its policies admit and answers the rest with a 429.
 *
 * Errors of your own functions and of the store are thrown, as Koa wants. Who is asking is `ctx.ip`, so `app.proxy`
 * decides behind a proxy. What the last limiter said stands in `ctx.state.rateLimit`.
 *
 * @throws ArgumentError if an option is wrong.
 *
 * @example
 * import Koa from 'koa';
 * import { rateLimit } from '@sluice/koa';
 * const app = new Koa();
 * app.use(rateLimit({ limit: 100, window: '1m' }));
 */
export function rateLimit(options: KoaRateLimitOptions): Middleware {
  const guard = createGuard(options, host);

  return async function limitRate(context, next) {
    const { req, res } = context;
    const begun = res.headersSent;
    const verdict = guard.check(context, res);
    // A wait costs, and most verdicts are here at once.
    const { decision, headers, denial, gone } = 'then' in verdict ? await verdict : verdict;
    // Something else may have answered before, or meanwhile.
    if (gone || res.writableEnded || (res.headersSent && !begun)) return;
    if (decision !== undefined) context.state.rateLimit = decision;
    if (!begun) {
      for (const [name, value] of headers) context.set(name, value);
      exposeHeaders(req, res, headers);
    }
    try {
      if (denial === undefined || decision === undefined) return await next();
      if (denial.error !== undefined) throw denial.error;
      // A head that was sent before says nothing more.
      if (begun) return void res.end();
      context.status = denial.status;
      if (guard.handler !== undefined) return await guard.handler(context, decision);
      context.body = denial.body;
    } catch (error) {
      if (!begun) keepHeaders(error, headers, context);
      throw error;
    }
  };
}

/** What errors had for headers of their own. */
const owned = new WeakMap<object, PropertyDescriptor | undefined>();

/**
 * Koa takes all headers off the response to an error, and puts on those that the error has. The error gets its own back
 * when the response is done: it may be one that is thrown more than once. One that cannot be given any is left alone.
 */
function keepHeaders(error: unknown, headers: readonly Header[], { res }: Context): void {
  if (typeof error !== 'object' || error === null) return;
  const before = Object.getOwnPropertyDescriptor(error, 'headers');
  // As they are now: a limiter further on may have more to tell.
  const kept = headers.flatMap(([name]) => (res.hasHeader(name) ? [[name, res.getHeader(name)]] : []));
  const { headers: others } = error as { headers?: object };
  const value = { ...others, ...Object.fromEntries(kept) };
  const given = { value, configurable: true, enumerable: true, writable: true };
  // By definition, as what is inherited may refuse to be set.
  if (!Reflect.defineProperty(error, 'headers', given)) return;
  if (owned.has(error)) return;
  owned.set(error, before);
  res.once('close', () => {
    if (!owned.has(error)) return;
    const own = owned.get(error);
    owned.delete(error);
    if (own === undefined) Reflect.deleteProperty(error, 'headers');
    else Reflect.defineProperty(error, 'headers', own);
  });
}
