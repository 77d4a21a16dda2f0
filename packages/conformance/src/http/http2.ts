/**
 * Many requests on one connection, each of which can be reset by itself (RFC 9113).
 *
 * @module
 */

import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createLimiter, manualClock } from '@sluice/core';
import { settle } from './client.js';
import type { AnyOptions, RunningDemo, Start } from './demo.js';
import { SlowStore } from './stores.js';

export function overHttp2(start: Start): void {
  const two = { limit: 2, window: '1h', algorithm: 'sliding-window-log' } as const;
  const sessions: ClientHttp2Session[] = [];
  afterEach(async () => {
    const closed = sessions.splice(0).map((session) => {
      const gone = once(session, 'close');
      session.destroy();
      return gone;
    });
    await Promise.all(closed);
  });

  async function serve(limits: readonly AnyOptions[], trustProxy = false) {
    const app = await start({ limits, trustProxy, http2: true });
    const { port } = app.server.address() as AddressInfo;
    const session = connect(`http://127.0.0.1:${port}`);
    sessions.push(session);
    return { app, session };
  }

  async function answer(stream: ClientHttp2Stream) {
    const [headers] = await once(stream, 'response');
    let body = '';
    for await (const chunk of stream) body += chunk;
    return { status: headers[':status'] as number, headers, body };
  }

  async function ask(session: ClientHttp2Session, headers: Record<string, string> = {}) {
    return answer(session.request({ ':path': '/', ...headers }));
  }

  /** Sends a request, and resets it once the server has it. */
  async function reset(session: ClientHttp2Session, app: RunningDemo, reached: Promise<unknown>) {
    const arrived = once(app.server, 'stream');
    const stream = session.request({ ':path': '/' });
    const [[there]] = await Promise.all([arrived, reached]);
    const gone = new Promise((resolve) => there.once('close', resolve));
    stream.on('error', () => {}).close(constants.NGHTTP2_CANCEL);
    await gone;
    await settle();
  }

  it('limits the requests of one connection, and tells as over HTTP/1.1', async () => {
    const { app, session } = await serve([{ ...two, headers: ['legacy', 'draft-8'] }]);
    for (const left of ['1', '0']) {
      const { status, headers } = await ask(session);
      expect([status, headers['x-ratelimit-remaining']]).toEqual([200, left]);
    }
    const { status, headers, body } = await ask(session);
    expect(status).toBe(429);
    expect(headers).toMatchObject({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '0',
      'ratelimit-policy': '"default";q=2;w=3600',
      'retry-after': expect.stringMatching(/^3[56]\d\d$/),
      'cache-control': 'no-store',
      'content-type': expect.stringMatching(/^application\/problem\+json/),
    });
    expect(JSON.parse(body)).toMatchObject({ status: 429, 'violated-policies': ['default'] });
    expect([app.handled(), app.errors]).toEqual([2, []]);
  });

  it('admits two of five that come at once', async () => {
    const { session } = await serve([{ ...two, store: new SlowStore() }]);
    const all = await Promise.all(Array.from({ length: 5 }, () => ask(session)));
    expect(all.map(({ status }) => status).sort()).toEqual([200, 200, 429, 429, 429]);
  });

  it('knows who is asking, with a proxy and without', async () => {
    const store = new SlowStore();
    for (const trustProxy of [false, true]) {
      const { session } = await serve([{ ...two, name: `${trustProxy}`, store }], trustProxy);
      await ask(session);
      if (trustProxy) await ask(session, { 'x-forwarded-for': '203.0.113.7' });
    }
    expect(store.ids).toEqual(['ip:127.0.0.1', 'ip:127.0.0.1', 'ip:203.0.113.7']);
  });

  it('charges who resets its request while the store is asked, whatever is counted', async () => {
    for (const countOnly of [false, 'failed', 'succeeded'] as const) {
      const store = new SlowStore();
      const { app, session } = await serve([{ ...two, store, countOnly }]);
      for (let i = 0; i < 2; i++) {
        store.shut();
        const asked = store.asked();
        await reset(session, app, asked);
        store.unlock();
        await settle();
      }
      expect([countOnly, (await ask(session)).status, app.errors]).toEqual([countOnly, 429, []]);
    }
  });

  it('forgets a held request that is reset, and gives its place back', async () => {
    const limiter = createLimiter({
      policies: [{ algorithm: 'leaky-bucket', limit: 2, window: '2h' }],
      clock: manualClock(0),
    });
    const { app, session } = await serve([{ limiter, key: () => 'k' }]);
    expect((await ask(session)).status).toBe(200);
    const held = async () => {
      while (limiter.peek('k').remaining > 0) await settle();
    };
    await reset(session, app, held());
    expect(limiter.peek('k').remaining).toBe(1);
    expect([app.handled(), app.errors]).toEqual([1, []]);
  });
}
