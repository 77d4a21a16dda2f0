import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster } from 'ioredis';
import { type RedisCluster, startCluster } from '../redis-server.js';
import {
  expectEachChargedOnce,
  expectInTime,
  expectNoError,
  expectNoFalseDenial,
  expectRecovery,
  outlast,
  outwaited,
  tally,
} from './harness/expect.js';
import { charged, kept, openInstance } from './harness/instance.js';
import { Load } from './harness/load.js';
import { Pulse } from './harness/meters.js';
import { Migration } from './harness/slots.js';

let servers: RedisCluster;
beforeAll(async () => {
  servers = await startCluster();
});
afterAll(() => servers.stop());

function connect(): Cluster {
  const nodes = servers.ports.map((port) => ({ host: '127.0.0.1', port }));
  return kept(new Cluster(nodes, { enableAutoPipelining: true, retryDelayOnFailover: 0 }));
}

describe('A slot that moves while its key is being limited', () => {
  // The key is at one node or at the other, never at both: a command that comes to the wrong one is sent on (ASK, MOVED)
  // before it runs. While its two policies are on different nodes no decision can be made (TRYAGAIN); the client asks
  // again, or the request is decided without Redis once its deadline is over, and charged when the move is done. So
  // nothing is lost and nothing is charged twice.
  it('is charged once for every request, at the old node or at the new one', async () => {
    const client = connect();
    const { roomy } = openInstance(client);
    const migration = await Migration.of('faults:{moved}', servers.ports);
    const load = new Load(roomy, { keys: ['moved'] });
    await sleep(200);
    await migration.open();
    await sleep(100);
    await migration.move('faults:{moved}:roomy:window');
    // The decision needs both keys, and they are apart.
    await sleep(100);
    expect(await migration.keys()).toEqual({ from: 1, to: 1 });
    await migration.move('faults:{moved}:roomy:bucket');
    await sleep(100);
    expect(await migration.keys()).toEqual({ from: 0, to: 2 });
    await migration.close();
    const closed = performance.now();
    const pulse = new Pulse(migration.newOwner);
    await outlast(closed, load.lag, pulse);
    const samples = await load.stop();
    expectNoError(samples);
    expectNoFalseDenial(samples);
    expectInTime(samples, load.lag);
    expectEachChargedOnce(samples);
    expectRecovery(samples, closed, load.lag, pulse);
    const { byStore, sent } = tally(samples);
    const units = await charged(client, 'roomy', 'moved');
    expect(units).toBeGreaterThanOrEqual(byStore);
    expect(units).toBeLessThanOrEqual(sent);
    expect(sent - units).toBeLessThanOrEqual(outwaited(samples).length);
  });

  // A key that is new to an open slot is made at the new node at once.
  it('is limited as ever when it is new to a slot that is open', async () => {
    const client = connect();
    const { tight } = openInstance(client);
    const migration = await Migration.of('faults:{fresh}', servers.ports);
    await migration.open();
    const decisions = await Promise.all(Array.from({ length: 80 }, () => tight.consume('fresh')));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(50);
    expect(await migration.keys()).toEqual({ from: 0, to: 1 });
    await migration.close();
    expect(await tight.consume('fresh')).toMatchObject({ allowed: false });
  });
});
