/**
 * Clients without an address.
 *
 * @module
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientIp } from '@sluice/core/http';
import type { AnyOptions, AnyRequest, Start } from './demo.js';
import { SlowStore } from './stores.js';

export function onUnixSockets(start: Start): void {
  const one = { limit: 1, window: '1h' } as const;
  let folder: string;
  const agents: Agent[] = [];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-'));
    // That it has no address is warned of.
    jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  });
  afterEach(() => {
    for (const agent of agents.splice(0)) agent.destroy();
    jest.restoreAllMocks();
    rmSync(folder, { recursive: true });
  });

  /** A server, and a way to make connections, each of which sends what it is told. */
  async function serve(options: AnyOptions) {
    const path = join(folder, 'socket');
    const app = await start({ limits: [options], path });
    const connect = () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      agents.push(agent);
      return (headers: Record<string, string> = {}) =>
        new Promise<number | undefined>((resolve, reject) => {
          const answered = (response: IncomingMessage) =>
            response.resume().on('end', () => resolve(response.statusCode));
          get({ socketPath: path, headers, agent }, answered).on('error', reject);
        });
    };
    return { app, connect };
  }

  it('limits each connection by itself', async () => {
    const store = new SlowStore();
    const { app, connect } = await serve({ ...one, store });
    const [first, second] = [connect(), connect()];
    expect([await first(), await first(), await second(), await second(), await first()]).toEqual([
      200, 429, 200, 429, 429,
    ]);
    for (const id of store.ids) expect(id).toMatch(/^connection:/);
    expect(new Set(store.ids).size).toBe(2);
    expect(app.errors).toEqual([]);
  });

  it('takes the address of whom the proxy at the other end names, by clientIp', async () => {
    const store = new SlowStore();
    const { connect } = await serve({ ...one, store, key: clientIp({ trust: 1 }) });
    const from = (address: string) => ({ 'x-forwarded-for': address });
    const [first, second] = [connect(), connect()];
    expect(await first(from('6.6.6.6, 203.0.113.7'))).toBe(200);
    expect(await second(from('203.0.113.7'))).toBe(429);
    expect(await second(from('203.0.113.8'))).toBe(200);
    expect(new Set(store.ids)).toEqual(new Set(['ip:203.0.113.7', 'ip:203.0.113.8']));
  });

  it('takes a key, and the connection where there is none', async () => {
    const key = ({ headers }: AnyRequest) => headers['x-user'] as string | undefined;
    const { connect } = await serve({ ...one, key });
    const [first, second] = [connect(), connect()];
    const alice = { 'x-user': 'alice' };
    expect([await first(alice), await second(alice)]).toEqual([200, 429]);
    expect([await first(), await second(), await second()]).toEqual([200, 200, 429]);
  });
}
