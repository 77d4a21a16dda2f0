import { setTimeout as sleep } from 'node:timers/promises';
import { charged, connect, decided, openInstance, serve } from './harness/instance.js';
import { endAfterTest } from './harness/owned.js';
import { startProxy } from './harness/proxy.js';
import { Scene } from './harness/scene.js';

async function scene() {
  const server = await serve();
  const proxy = await startProxy(server.port);
  endAfterTest(() => proxy.close());
  const clients = [connect(proxy.port), connect(proxy.port)];
  return { server, proxy, direct: connect(server.port), scene: new Scene(clients) };
}

describe('A network that', () => {
  // What was executed and never answered may have been charged, so it is neither sent again nor charged again: the
  // server's count never exceeds the number of requests. Lost at most: what never reached the server when the connection
  // went, and that is no more than was on its way, at most one request per client of the load for each connection cut.
  it('cuts the connection where replies would come: nothing is charged twice', async () => {
    const { server, proxy, direct, scene: two } = await scene();
    await two.prepare();
    await sleep(300);
    proxy.set('cut');
    two.strain();
    await sleep(1200);
    proxy.set('pass');
    const outcome = await two.recover(server.port);
    expect(proxy.cuts).toBeGreaterThan(0);
    await outcome.expectChargedAtMostOnce(direct, 8 * proxy.cuts);
    await outcome.expectTightBound(direct);
  });

  // The same for one request at a time: the server runs the script once for each, and neither the client nor the store
  // asks it again when the connection is back.
  it('cuts the connection of a single request: it is charged once', async () => {
    const server = await serve();
    const proxy = await startProxy(server.port);
    endAfterTest(() => proxy.close());
    const client = connect(proxy.port);
    const { roomy } = openInstance(client);
    for (let i = 1; i <= 5; i++) {
      await decided(roomy);
      proxy.set('cut');
      expect(await roomy.consume('single')).toMatchObject({ allowed: true, degraded: true });
      proxy.set('pass');
      await decided(roomy);
      expect(await charged(client, 'roomy', 'single')).toBe(i);
    }
    expect(proxy.cuts).toBeGreaterThanOrEqual(5);
  });

  // The server goes on charging what reaches it; the answers come when nobody waits for them any more.
  it('keeps the replies for a while: every request is charged once', async () => {
    const { server, proxy, direct, scene: two } = await scene();
    await two.prepare();
    await sleep(300);
    proxy.set('mute');
    two.strain();
    await sleep(1000);
    proxy.set('pass');
    const outcome = await two.recover(server.port);
    expect(outcome.roomy.locally).toBeGreaterThan(0);
    await outcome.expectAllChargedOnce(direct);
  });

  // What waits in the socket is run when it is read, however late.
  it('takes nothing any more, so that sockets fill: every request is charged once', async () => {
    const { server, proxy, direct, scene: two } = await scene();
    await two.prepare();
    await sleep(300);
    proxy.set('stuck');
    two.strain();
    await sleep(1000);
    proxy.set('pass');
    const outcome = await two.recover(server.port);
    expect(outcome.roomy.locally).toBeGreaterThan(0);
    await outcome.expectAllChargedOnce(direct);
    await outcome.expectTightBound(direct);
  });

  // Nothing is sent, so nothing is charged until the server can be reached again.
  it('refuses every connection for a while: at most what was on its way is lost', async () => {
    const { server, proxy, direct, scene: two } = await scene();
    await two.prepare();
    await sleep(300);
    proxy.set('refuse');
    two.strain();
    await sleep(1000);
    proxy.set('pass');
    const outcome = await two.recover(server.port);
    expect(outcome.roomy.locally).toBeGreaterThan(0);
    await outcome.expectChargedAtMostOnce(direct, 16);
    await outcome.expectTightBound(direct);
  });
});
