import { setTimeout as sleep } from 'node:timers/promises';
import { charged, connect, decided, openInstance, serve, TIMEOUT_MS } from './harness/instance.js';
import { endAfterTest } from './harness/owned.js';
import { startProxy } from './harness/proxy.js';

describe('A client that keeps commands until it is connected', () => {
  // A probe that it keeps for longer than the deadline may run later or never. Nobody knows of that one request; but what
  // was used locally before is known, and is not lost with it: it is charged when Redis is back.
  it('loses no more than the probes that it kept', async () => {
    const server = await serve();
    const proxy = await startProxy(server.port);
    endAfterTest(() => proxy.close());
    proxy.set('refuse');
    const { roomy } = openInstance(connect(proxy.port));
    let sent = 0;
    let late = 0;
    const consume = async () => {
      const startMs = performance.now();
      expect(await roomy.consume('a')).toMatchObject({ allowed: true, degraded: true });
      sent += 1;
      if (performance.now() - startMs >= TIMEOUT_MS) late += 1;
    };
    for (let i = 0; i < 50; i++) await consume();
    // Now there is something that takes connections, and says nothing.
    proxy.set('mute');
    for (let i = 0; i < 100 || late === 0; i++) {
      await consume();
      await sleep(20);
    }
    // And now it is gone without having been told anything.
    proxy.set('refuse');
    await sleep(200);
    proxy.set('pass');
    await decided(roomy);
    await sleep(300);
    const units = await charged(connect(server.port), 'roomy', 'a');
    expect(units).toBeLessThanOrEqual(sent);
    expect(units).toBeGreaterThanOrEqual(sent - late);
  });
});
