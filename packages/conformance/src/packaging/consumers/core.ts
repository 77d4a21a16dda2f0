import {
  createLimiter,
  type Decision,
  type Limiter,
  type LimiterOptions,
  MemoryStore,
  manualClock,
  StoreError,
} from '@sluice/core';
import { createGuard, type Guard, RateLimitError } from '@sluice/core/http';
import { type RedisClient, RedisStore } from '@sluice/core/redis';

const policies = [{ limit: 100, window: '1m' }] as const;
const client: RedisClient = { evalsha: async () => [], eval: async () => [] };

/** On memory it answers at once. */
const atOnce: Decision = createLimiter({ policies }).consume('user:42', { cost: 3 });
export const left: number = atOnce.remaining;

/** On Redis it answers later. */
const onRedis: Limiter<true> = createLimiter({ policies, store: new RedisStore({ client }) });
export const later: Promise<Decision> = onRedis.consume('user:42');
// @ts-expect-error: a promise has nothing left.
onRedis.consume('user:42').remaining;

/** Where the configuration decides, `await` works on both. */
export async function whichever(redis: boolean): Promise<boolean> {
  const store = redis ? new RedisStore({ client }) : new MemoryStore();
  const options: LimiterOptions<boolean> = { name: 'either', policies, store, clock: manualClock(0) };
  const { allowed } = await createLimiter(options).consume('user:42');
  return allowed;
}

/** What a configuration leaves open may be said to be so. */
const open: { readonly name?: string; readonly burst?: number; readonly buckets?: number } = {};
createLimiter({
  name: open.name,
  store: undefined,
  clock: undefined,
  onStoreError: undefined,
  localShare: undefined,
  policies: [
    {
      name: open.name,
      limit: 10,
      window: 1000,
      algorithm: undefined,
      buckets: open.buckets,
      edge: undefined,
    },
    { name: 'second', limit: 10, window: 1000, algorithm: 'gcra', burst: open.burst },
  ],
});

createLimiter({ policies: [{ algorithm: 'gcra', limit: 10, window: 1000, burst: 20 }] });
// @ts-expect-error: a window has no burst.
createLimiter({ policies: [{ algorithm: 'fixed-window', limit: 10, window: 1000, burst: 20 }] });
// @ts-expect-error: no such unit.
createLimiter({ policies: [{ limit: 10, window: '1 fortnight' }] });

export const guard: Guard<{ readonly user: string }> = createGuard(
  { limit: 100, window: '1m', key: ({ user }) => user },
  { raw: ({ user }) => Object(user), address: () => undefined },
);

export const statusOf = (error: unknown): number =>
  error instanceof RateLimitError ? error.status : error instanceof StoreError ? 503 : 500;
