import { setTimeout as sleep } from 'node:timers/promises';
import { connect, serve } from './harness/instance.js';
import { Scene } from './harness/scene.js';

describe('A server that stands still (SIGSTOP) and goes on (SIGCONT)', () => {
  // What was sent before it stopped is in its socket, and is run when it goes on, long after the deadline: the request
  // was decided without it, and is charged by that late run alone. What came after the breaker had opened was not sent,
  // and is charged when it is back. So every request is charged exactly once.
  it('is decided for in time, without a false denial, and in the end every request is charged once', async () => {
    const server = await serve();
    const clients = [connect(server.port), connect(server.port)];
    const scene = new Scene(clients);
    await scene.prepare();
    await sleep(300);
    process.kill(server.pid, 'SIGSTOP');
    scene.strain();
    await sleep(1500);
    process.kill(server.pid, 'SIGCONT');
    const outcome = await scene.recover(server.port);
    expect(outcome.roomy.locally).toBeGreaterThan(0);
    await outcome.expectAllChargedOnce(clients[0]);
    await outcome.expectTightBound(clients[0]);
  });

  // For less than the deadline: nobody notices more than a wait.
  it('for less than the deadline is waited for', async () => {
    const server = await serve();
    const client = connect(server.port);
    const scene = new Scene([client]);
    await scene.prepare();
    await sleep(100);
    process.kill(server.pid, 'SIGSTOP');
    await sleep(50);
    process.kill(server.pid, 'SIGCONT');
    const outcome = await scene.recover(server.port);
    await outcome.expectAllChargedOnce(client);
  });
});
