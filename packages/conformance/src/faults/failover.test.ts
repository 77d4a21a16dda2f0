import { setTimeout as sleep } from 'node:timers/promises';
import { redisCommand } from '../redis-server.js';
import { connect } from './harness/instance.js';
import { Scene } from './harness/scene.js';
import { connectBySentinel, Heartbeat, startTrio, until } from './harness/sentinel.js';

/** One request per client of the load. */
const IN_FLIGHT = 16;

describe('A master that dies, and whose replica is promoted by Sentinel', () => {
  // The replica knows what the master had done up to some moment shortly before. So what Redis admitted after that
  // moment may be had a second time, and nothing more: what is admitted while there is no master is charged to the new
  // one, except for what was on its way when the old one died.
  it('loses at most what was admitted within the replication lag, and charges nothing twice', async () => {
    const trio = await startTrio();
    const clients = [connectBySentinel(trio), connectBySentinel(trio)];
    const scene = new Scene(clients);
    const heartbeat = new Heartbeat(trio.master.port);
    await scene.prepare();
    expect(await redisCommand(trio.master.port, 'WAIT', 1, 1000)).toBe('1');
    await sleep(500);
    scene.strain();
    const killed = performance.now();
    await trio.master.stop();
    // From then on it tells clients where the new master is.
    await until(trio.sentinel.port, 'sentinel', `address=127.0.0.1:${trio.replica.port}`);
    const known = await heartbeat.arrivedAt(trio.replica.port);
    const outcome = await scene.recover(trio.replica.port);
    expect(known).toBeLessThanOrEqual(killed);
    const forgotten = outcome.samples.filter(({ startMs, endMs }) => endMs >= known && startMs <= killed);
    expect(outcome.roomy.locally).toBeGreaterThan(0);
    const direct = connect(trio.replica.port);
    await outcome.expectChargedAtMostOnce(direct, forgotten.length + IN_FLIGHT);
    await outcome.expectTightBound(direct);
  });
});
