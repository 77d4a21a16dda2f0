import { createLimiter, type Decision, StoreError } from '@sluice/core';
import { RedisStore } from '@sluice/core/redis';
import { type RedisServer, redisCommand, startRedis } from '../redis-server.js';
import { connect } from './harness/instance.js';

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

let names = 0;

/** Fifty requests at once, each of a key of its own, in one pipeline; every fifth key holds what is no state at all. */
async function fifty(): Promise<PromiseSettledResult<Decision>[]> {
  const client = connect(server.port);
  names += 1;
  const name = `t${names}`;
  const store = new RedisStore({ client, prefix: 'fifty', timeout: '10s' });
  const policies = [{ algorithm: 'fixed-window', limit: 3, window: 1e13 }] as const;
  const limiter = createLimiter({ name, policies, store, onStoreError: 'throw' });
  const keys = Array.from({ length: 50 }, (_, i) => `k${i}`);
  for (const [i, key] of keys.entries()) if (i % 5 === 0) await client.rpush(`fifty:{${key}}:${name}`, 'x');
  return Promise.allSettled(keys.map((key) => limiter.consume(key)));
}

function expectOnlyTheTenFailed(results: readonly PromiseSettledResult<Decision>[]): void {
  for (const [i, result] of results.entries()) {
    if (i % 5 === 0) {
      expect(result).toMatchObject({ status: 'rejected', reason: expect.any(StoreError) });
    } else {
      expect(result).toMatchObject({ status: 'fulfilled', value: { allowed: true, remaining: 2 } });
    }
  }
}

// Commands share a pipeline, and replies come in a row; but each is an answer of its own. What fails, fails alone.
describe('Fifty requests in parallel, of which ten fail,', () => {
  it('are forty decisions and ten errors', async () => {
    expectOnlyTheTenFailed(await fifty());
  });

  it('are so too when the server has just forgotten the script', async () => {
    await redisCommand(server.port, 'SCRIPT', 'FLUSH');
    expectOnlyTheTenFailed(await fifty());
  });

  it('leave no other rejection unhandled', async () => {
    const unhandled: unknown[] = [];
    const listen = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', listen);
    for (let i = 0; i < 5; i++) expectOnlyTheTenFailed(await fifty());
    await new Promise((resolve) => setTimeout(resolve, 20));
    process.off('unhandledRejection', listen);
    expect(unhandled).toEqual([]);
  });
});
