import { createLimiter, StoreError } from '@sluice/core';
import { fromNodeRedis, type NodeRedisClient, RedisStore } from '@sluice/core/redis';
import { Redis } from 'ioredis';
import * as redis6 from 'redis';
import * as redis5 from 'redis5';
import { sharedServers } from '../redis-server.js';

const { port, clusterPorts } = sharedServers();
const url = `redis://127.0.0.1:${port}`;
const rootNodes = clusterPorts.map((node) => ({ url: `redis://127.0.0.1:${node}` }));

const versions = [
  { version: 6, ...redis6 },
  { version: 5, ...(redis5 as unknown as typeof redis6) },
];

let names = 0;
function consume(client: NodeRedisClient) {
  names += 1;
  const store = new RedisStore({ client: fromNodeRedis(client), prefix: 'node-redis', timeout: '20s' });
  // A number that Redis answers as text, because clients would round it.
  const policies = [{ algorithm: 'fixed-window', limit: 2 ** 53 - 1, window: 1e13 } as const];
  return createLimiter({ name: `t${names}-${process.pid}`, policies, store, onStoreError: 'throw' }).consume(
    'key',
  );
}

describe('fromNodeRedis', () => {
  it('takes what both versions create, as they type it', () => {
    const clients: NodeRedisClient[] = [
      redis6.createClient(),
      redis6.createClient({ RESP: 2 }),
      redis6.createCluster({ rootNodes }),
      redis5.createClient(),
      redis5.createClient({ RESP: 3 }),
      redis5.createCluster({ rootNodes }),
    ];
    clients.forEach((client, i) => {
      expect(fromNodeRedis(client)).toEqual({
        evalsha: expect.any(Function),
        eval: expect.any(Function),
        // The last of each version.
        isCluster: i % 3 === 2,
      });
    });
  });

  it('refuses what is no client of node-redis, in a sentence', () => {
    const ioredis = new Redis({ lazyConnect: true });
    for (const client of [undefined, null, {}, 'redis://', redis6.createClient, ioredis]) {
      expect(() => fromNodeRedis(client as unknown as NodeRedisClient)).toThrow(
        expect.objectContaining({
          code: 'ERR_SLUICE_OPTION',
          message: expect.stringContaining(
            'Expected `client` to be a node-redis client (with evalSha and eval)',
          ),
        }),
      );
    }
  });
});

describe.each(versions)(
  'fromNodeRedis, version $version',
  ({ createClient, createCluster, createClientPool, RESP_TYPES }) => {
    it.each([
      ['client', () => createClient({ url })],
      ['cluster', () => createCluster({ rootNodes })],
    ])('says of a %s that is not connected what to do, and works once it is', async (_, create) => {
      const client = create();
      client.on('error', () => {});
      const failed: unknown = await consume(client).catch((error: unknown) => error);
      expect(failed).toBeInstanceOf(StoreError);
      expect(failed).toMatchObject({
        code: 'ERR_SLUICE_STORE_CONNECTION',
        outcome: 'not-run',
        message: expect.stringContaining('call connect()'),
      });
      await client.connect();
      expect(await consume(client)).toMatchObject({ remaining: 2 ** 53 - 2 });
      client.destroy();
      await expect(consume(client)).rejects.toThrow('call connect()');
    });

    it('says of a cluster that is still connecting that it is offline', async () => {
      const client = createCluster({ rootNodes });
      client.on('error', () => {});
      const connecting = client.connect();
      await expect(consume(client)).rejects.toMatchObject({
        code: 'ERR_SLUICE_STORE_CONNECTION',
        outcome: 'not-run',
        message: expect.stringContaining('The client is offline'),
      });
      await connecting;
      client.destroy();
    });

    it('decides by a pool', async () => {
      const pool = createClientPool({ url });
      await pool.connect();
      expect(await consume(pool)).toMatchObject({ remaining: 2 ** 53 - 2 });
      pool.destroy();
    });

    it.each([2, 3] as const)('decides whatever types the client gives, by RESP%i', async (RESP) => {
      const client = createClient({ url, RESP });
      client.on('error', () => {});
      await client.connect();
      const mapped = client.withTypeMapping({
        [RESP_TYPES.NUMBER]: String,
        [RESP_TYPES.BLOB_STRING]: Buffer,
        [RESP_TYPES.BIG_NUMBER]: String,
      });
      expect(await consume(mapped)).toMatchObject({ remaining: 2 ** 53 - 2 });
      // And leaves them as they are for the rest of the program.
      expect(await mapped.get('node-redis:none')).toBeNull();
      expect(await mapped.strLen('node-redis:none')).toBe('0');
      client.destroy();
    });
  },
);
