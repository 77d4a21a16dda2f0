/**
 * What every adapter must do, seen from the other end of the line: it knows no framework.
 *
 * @module
 */

import { once } from 'node:events';
import { bodies, thrown } from './answers.js';
import { blocks } from './blocks.js';
import { settling } from './charging.js';
import { clients } from './clients.js';
import { countingOnly } from './count-only.js';
import type { Adapter, RunningDemo, Start } from './demo.js';
import { denials } from './denials.js';
import { accidents, construction, manyRequests, onRedis, severalLimiters } from './flow.js';
import { functions } from './functions.js';
import { holding } from './held.js';
import { overHttp2 } from './http2.js';
import { origins } from './origins.js';
import { severalKeys } from './several-keys.js';
import { onUnixSockets } from './unix-sockets.js';

/** Declares the tests of one framework. */
export function adapterSuite({ name, start, http2 }: Adapter): void {
  describe(`rateLimit on ${name}`, () => {
    const running: RunningDemo[] = [];

    const tracked: Start = async (demo) => {
      const app = await start(demo);
      running.push(app);
      return app;
    };

    afterEach(async () => {
      await Promise.all(running.splice(0).map(({ server }) => close(server)));
    });

    describe('tells', () => denials(tracked));
    describe('answers who is denied', () => bodies(tracked));
    describe('blocked', () => blocks(tracked));
    describe('throws', () => thrown(tracked));
    describe('among origins', () => origins(tracked));
    describe('asks the user’s functions', () => functions(tracked));
    describe('counts only', () => countingOnly(tracked));
    describe('charges', () => settling(tracked));
    describe('holds', () => holding(tracked));
    describe('knows who is asking', () => clients(tracked));
    describe('limits by several keys', () => severalKeys(tracked));
    describe('stands many requests', () => manyRequests(tracked));
    describe('stands beside others', () => severalLimiters(tracked));
    describe('stands accidents', () => accidents(tracked));
    describe('on Unix sockets', () => onUnixSockets(tracked));
    if (http2) describe('over HTTP/2', () => overHttp2(tracked));
    describe('on Redis', () => onRedis(tracked, `http ${name}`));
    describe('at construction', () => construction(tracked));
  });
}

async function close(server: RunningDemo['server']): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  // One for HTTP/2 has none: there, clients leave.
  server.closeAllConnections?.();
  await closed;
}
