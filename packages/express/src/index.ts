/**
 * Rate limits for Express 4 and 5.
 *
 * @module
 */

import type { Decision } from '@sluice/core';
import {
  createGuard,
  type Host,
  type RateLimitOptions,
  setHeaders,
  trustedBy,
  type Verdict,
} from '@sluice/core/http';
import type { NextFunction, Request, Response } from 'express';
import { showDecision } from './decorate.js';

export {
  byHeader,
  type ClientIpOptions,
  clientIp,
  type LimitUpgradeOptions,
  limitUpgrade,
  RateLimitError,
} from '@sluice/core/http';
export { rateLimit as default };

declare global {
  namespace Express {
    interface Request {
      /** What the last limiter said of this request; absent where none did. */
      rateLimit?: Decision;
    }
  }
}

/** Answers a denied request; status and headers are set already. */
export type DenialHandler = (
  request: Request,
  response: Response,
  decision: Decision,
  next: NextFunction,
) => unknown;

/** The options of {@link rateLimit}. */
export type ExpressRateLimitOptions = RateLimitOptions<Request, DenialHandler>;

/** Middleware for requests of any type: what `request.params` holds is left to the route. */
export type RateLimitMiddleware = <P, ResBody, ReqBody, Query, Locals extends Record<string, unknown>>(
  request: Request<P, ResBody, ReqBody, Query, Locals>,
  response: Response<ResBody, Locals>,
  next: NextFunction,
) => void;

const host: Host<Request> = {
  raw: (request) => request,
  address: (request) => request.ip,
  // A mock-up of a request has no application.
  trust: ({ app, socket }) =>
    app === undefined ? 'some' : trustedBy(app.get('trust proxy fn'), socket.remoteAddress),
};

/**
 * Returns middleware that lets through what its policies admit and answers the rest with a 429.
 *
 * Errors of your own functions and of the store go to `next`. Who is asking is `req.ip`, so `trust proxy` decides
 * behind a proxy.
 *
 * @throws ArgumentError if an option is wrong.
 *
 * @example
 * import express from 'express';
 * import { rateLimit } from '@sluice/express';
 * const app = express();
 * app.use(rateLimit({ limit: 100, window: '1m' }));
 */
export function rateLimit(options: ExpressRateLimitOptions): RateLimitMiddleware {
  const guard = createGuard(options, host);

  return limitRate as RateLimitMiddleware;

  function limitRate(request: Request, response: Response, next: NextFunction): void {
    const begun = response.headersSent;
    let verdict: ReturnType<typeof guard.check>;
    try {
      verdict = guard.check(request, response);
    } catch (error) {
      next(error);
      return;
    }
    if ('then' in verdict)
      verdict.then((settled) => answer(settled, begun, request, response, next)).then(undefined, next);
    else answer(verdict, begun, request, response, next);
  }

  /** @param begun - whether the head had been sent before: then it can be told no more. */
  function answer(
    { decision, headers, denial, gone }: Verdict,
    begun: boolean,
    request: Request,
    response: Response,
    next: NextFunction,
  ): void {
    // Something else may have answered before, or meanwhile: then the head is sent at least.
    if (gone || (begun && response.writableEnded)) return;
    if (decision !== undefined) showDecision(request, decision);
    if (!begun && !setHeaders(request, response, headers)) return;
    if (denial === undefined || decision === undefined) {
      next();
      return;
    }
    if (denial.error !== undefined) {
      next(denial.error);
      return;
    }
    if (begun) {
      response.end();
      return;
    }
    response.statusCode = denial.status;
    if (guard.handler === undefined) response.end(denial.body);
    else call(guard.handler, request, response, decision, next);
  }
}

/** Whatever goes wrong in the handler goes to `next`, and is no 429 unless it says so itself. */
async function call(
  handler: DenialHandler,
  ...args: [request: Request, response: Response, decision: Decision, next: NextFunction]
): Promise<void> {
  try {
    await handler(...args);
  } catch (error) {
    if (!args[1].headersSent) args[1].statusCode = 500;
    args[3](error);
  }
}
