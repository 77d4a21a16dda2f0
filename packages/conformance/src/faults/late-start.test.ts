import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { connect, serve } from './harness/instance.js';
import { type Outcome, Scene } from './harness/scene.js';

/** Starts two instances, and a little later the server; returns what came of it. */
async function startEarly(options: { enableOfflineQueue?: boolean }): Promise<[Outcome, Redis]> {
  const reserved = await serve();
  const { port } = reserved;
  await reserved.stop();
  const clients = [connect(port, options), connect(port, options)];
  const scene = new Scene(clients);
  scene.strain();
  await sleep(600);
  await serve({ port });
  const outcome = await scene.recover(port);
  expect(outcome.roomy.locally).toBeGreaterThan(0);
  return [outcome, clients[0]];
}

describe('An application that starts before its Redis works at once, and heals when there is one', () => {
  // Nothing reached a server, so nothing was charged; all of it is charged when there is one.
  it('if its client refuses commands until it is connected: every request is charged once', async () => {
    const [outcome, client] = await startEarly({ enableOfflineQueue: false });
    await outcome.expectAllChargedOnce(client);
  });

  // The same, except for what the client had kept for longer than the deadline when it gave it up.
  it('if its client keeps commands until it is connected: none is charged twice', async () => {
    const [outcome, client] = await startEarly({});
    await outcome.expectChargedAtMostOnce(client, 0);
  });
});
