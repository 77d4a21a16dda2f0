import rateLimitByDefault, {
  byHeader,
  type DenialHandler,
  type FastifyRateLimitOptions,
  type RouteRateLimitOptions,
  rateLimit,
} from '@sluice/fastify';
import fastify, { type FastifyPluginAsync, type FastifyRequest, type RouteShorthandOptions } from 'fastify';

const handler: DenialHandler = async (request, reply, decision) => {
  reply.type('text/plain');
  return `${request.id}: ${decision.retryAfterMs}`;
};
const options: FastifyRateLimitOptions = {
  name: 'api',
  limit: async (request) => (request.headers['x-plan'] === 'pro' ? 1000 : 10),
  window: '1m',
  key: byHeader('x-api-key'),
  skip: (request) => request.routeOptions.url === '/health',
  handler,
};
const login: RouteRateLimitOptions = { limit: 5 };

const app = fastify();
app.register(rateLimit, { limit: 100, window: '1m' });
app.register(rateLimitByDefault, options);
app.get('/login', { config: { rateLimit: login } }, async ({ rateLimit }) => rateLimit?.remaining);
app.get('/health', { config: { rateLimit: false } }, () => 'ok');
app.route({ method: ['GET', 'POST'], url: '/', config: { rateLimit: { cost: 2 } }, handler: () => 'ok' });
const shorthand: RouteShorthandOptions = { config: { rateLimit: { headers: 'draft-8' } } };
app.get('/short', shorthand, () => 'ok');

/** Each kind of server has types of its own. */
const overHttp2 = fastify({ http2: true });
overHttp2.register(rateLimit, { limit: 100, window: '1m', key: (request) => request.ip });
overHttp2.get('/', { config: { rateLimit: { limit: 5 } } }, async (request) => request.rateLimit?.remaining);
const overTls = fastify({ https: { key: '', cert: '' } });
overTls.register(rateLimit, options);
const overBoth = fastify({ http2: true, https: { allowHTTP1: true, key: '', cert: '' } });
overBoth.register(rateLimit, options);
overBoth.get('/', { config: { rateLimit: login } }, () => 'ok');

/** A plugin may limit what is in it, and routes may say what they take. */
export const part: FastifyPluginAsync = async (instance) => {
  await instance.register(rateLimit, options);
  instance.get<{ Params: { id: string } }>(
    '/:id',
    { config: { rateLimit: { limit: 1 } } },
    async (request) => {
      const id: string = request.params.id;
      return id;
    },
  );
};

/** A key function of one's own may be written elsewhere. */
export const userOf = (request: FastifyRequest): string | null => request.headers.authorization ?? null;
app.register(rateLimit, { limit: 1, window: '1m', key: userOf });

// @ts-expect-error: the decision may not be there.
app.get('/left', (request) => request.rateLimit.remaining);
// @ts-expect-error: no such option.
app.register(rateLimit, { limit: 1, window: '1m', max: 1 });
// @ts-expect-error: a limit is no text.
app.get('/text', { config: { rateLimit: { limit: '5' } } }, () => 'ok');
// @ts-expect-error: which limit that would be, nobody knows.
export const wrong: RouteShorthandOptions = { config: { rateLimit: true } };
