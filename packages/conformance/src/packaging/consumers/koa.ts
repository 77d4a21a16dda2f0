import rateLimitByDefault, {
  byHeader,
  type DenialHandler,
  type KoaRateLimitOptions,
  rateLimit,
} from '@sluice/koa';
import Koa, { type Context, type Middleware } from 'koa';

const app = new Koa();
app.use(rateLimit({ limit: 100, window: '1m' }));
app.use(rateLimitByDefault({ policies: [{ limit: 100, window: '1m' }], headers: false }));

const handler: DenialHandler = (context, decision) => {
  context.body = { after: decision.retryAfterMs };
};
const options: KoaRateLimitOptions = {
  limit: 10,
  window: '1m',
  key: (context) => context.state.user ?? context.get('x-user'),
  cost: async ({ request }) => request.length ?? 1,
  handler,
};
const limiters: Middleware[] = [
  rateLimit(options),
  rateLimit({ limit: 1, window: '1s', key: byHeader('x-api-key') }),
];
for (const limiter of limiters) app.use(limiter);

app.use((context) => {
  const left: number | undefined = context.state.rateLimit?.remaining;
  context.body = `${left}`;
});
// @ts-expect-error: the decision may not be there.
app.use((context) => context.state.rateLimit.remaining);

/** An application may say what its state and its context are. */
interface State extends Koa.DefaultState {
  user: string;
}
interface Extras extends Koa.DefaultContext {
  log(text: string): void;
}
const own = new Koa<State, Extras>();
own.use(rateLimit({ limit: 100, window: '1m' }));
own.use(async (context, next) => {
  const user: string = context.state.user;
  context.log(user);
  await next();
});

/** A key function of one's own may be written elsewhere. */
export const userOf = (context: Context): string => context.get('x-user');
rateLimit({ limit: 1, window: '1m', key: userOf });

// @ts-expect-error: no such option.
rateLimit({ limit: 1, window: '1m', duration: 1 });
// @ts-expect-error: a window is no list.
rateLimit({ limit: 1, window: [] });
