import { createServer } from 'node:http';
import { MemoryStore } from '@sluice/core';
import rateLimitByDefault, {
  byHeader,
  clientIp,
  type DenialHandler,
  type ExpressRateLimitOptions,
  type LimitUpgradeOptions,
  limitUpgrade,
  RateLimitError,
  rateLimit,
} from '@sluice/express';
import express, { type ErrorRequestHandler, type Request, type RequestHandler } from 'express';

const app = express();
app.use(rateLimit({ limit: 100, window: '1m' }));
app.use(
  '/api',
  rateLimitByDefault({ policies: [{ limit: 100, window: '1m' }], headers: ['legacy', 'draft-8'] }),
);

const limitOf: { readonly name?: string; readonly prefix?: number } = {};
app.use(
  rateLimit({
    limit: 100,
    window: '1m',
    name: limitOf.name,
    store: undefined,
    key: undefined,
    ipv6Prefix: limitOf.prefix,
    headers: undefined,
    handler: undefined,
  }),
);

const handler: DenialHandler = (request, response, decision, next) => {
  if (request.path === '/') return next();
  return response.json({ after: decision.retryAfterMs });
};
const options: ExpressRateLimitOptions = {
  name: 'login',
  limit: async (request) => (request.get('x-plan') === 'pro' ? 1000 : 10),
  window: 60_000,
  store: new MemoryStore(),
  key: byHeader('x-api-key'),
  cost: ({ body }) => body.length,
  skip: (request) => request.method === 'HEAD',
  handler,
};

/** What a route knows of its request is left to it. */
app.get('/users/:id', rateLimit(options), (request, response) => {
  const id: string = request.params.id;
  const left: number | undefined = request.rateLimit?.remaining;
  response.send(`${id}: ${left}`);
});
interface Locals extends Record<string, unknown> {
  user: string;
}
app.post<{ id: string }, { done: boolean }, { units: number }, { dry?: string }, Locals>(
  '/jobs/:id',
  rateLimit({ limit: 5, window: '1m', key: clientIp({ trust: ['10.0.0.0/8'] }) }),
  (request, response) => {
    const units: number = request.body.units;
    const dry: string | undefined = request.query.dry;
    response.json({ done: units > 0 && dry === undefined && response.locals.user !== '' });
  },
);

/** Middleware is kept in variables, lists and routers. */
const limiters: RequestHandler[] = [rateLimit(options), rateLimit({ limit: 1, window: '1s' })];
express
  .Router()
  .use(...limiters)
  .all('/', limiters);

const answer: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  if (error instanceof RateLimitError) response.status(error.status).end();
  else next(error);
};
app.use(answer);

/** A key function of one's own may be written elsewhere. */
export const userOf = (request: Request): string | undefined => request.get('x-user');
rateLimit({ limit: 1, window: '1m', key: userOf });

// @ts-expect-error: the decision may not be there.
app.use((request, response) => response.send(request.rateLimit.remaining));
// @ts-expect-error: no such option.
rateLimit({ limit: 1, window: '1m', max: 1 });
// @ts-expect-error: a key is text.
rateLimit({ limit: 1, window: '1m', key: () => 42 });

const upgrades: LimitUpgradeOptions = { limit: 10, window: '1m', key: clientIp({ trust: 'loopback' }) };
const limitUpgrades = limitUpgrade(upgrades);
createServer(app).on('upgrade', async (request, socket) => {
  const going: boolean = await limitUpgrades(request, socket);
  if (going) socket.end();
});
// @ts-expect-error: there is no response that a handler could answer by.
limitUpgrade({ limit: 10, window: '1m', handler: () => {} });
