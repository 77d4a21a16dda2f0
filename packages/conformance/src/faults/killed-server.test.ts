import { setTimeout as sleep } from 'node:timers/promises';
import { connect, serve } from './harness/instance.js';
import { Scene } from './harness/scene.js';

/** The most requests that are on their way at once. */
const IN_FLIGHT = 16;

describe('A server that is killed in mid-load and started again, empty,', () => {
  // What it knew is gone, so the limit may be had anew; no more than that: what the instances admitted in between is
  // charged to the new server. Lost beyond that is only what was on its way when it died: at most one request per client
  // of the load, of which nobody knows whether it had been charged.
  it('is decided for in time, without a false denial, and what was used in between is charged to the new one', async () => {
    const server = await serve();
    const clients = [connect(server.port), connect(server.port)];
    const scene = new Scene(clients);
    await scene.prepare();
    await sleep(300);
    await server.stop();
    const killed = performance.now();
    scene.strain();
    await sleep(800);
    await serve({ port: server.port });
    const outcome = await scene.recover(server.port);
    expect(outcome.roomy.locally).toBeGreaterThan(0);
    const before = outcome.samples.filter(({ endMs }) => endMs < killed).length;
    await outcome.expectChargedAtMostOnce(clients[0], before + IN_FLIGHT);
    await outcome.expectTightBoundAnew(clients[0]);
  });

  // The last server knows nothing that was charged to those before it, and no more than that is lost.
  it('and killed again finds the limiter on its feet each time', async () => {
    let server = await serve();
    const client = connect(server.port);
    const scene = new Scene([client]);
    await scene.prepare();
    let killed = 0;
    for (let i = 0; i < 3; i++) {
      await sleep(200);
      await server.stop();
      killed = performance.now();
      await sleep(200);
      server = await serve({ port: server.port });
    }
    const outcome = await scene.recover(server.port);
    expect(outcome.roomy.locally).toBeGreaterThan(0);
    const before = outcome.samples.filter(({ endMs }) => endMs < killed).length;
    await outcome.expectChargedAtMostOnce(client, before + IN_FLIGHT);
  });
});
