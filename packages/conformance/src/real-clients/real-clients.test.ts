import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { rateLimit } from '@sluice/express';
import express from 'express';

const run = promisify(execFile);

/** One request of a client, as the server saw it. */
interface Seen {
  readonly atMs: number;
  readonly status: number;
  /** What the client was told to wait. */
  readonly toldMs: number | undefined;
}

describe('a client that was denied', () => {
  let server: Server;
  let url: string;
  const seen = new Map<string, Seen[]>();

  // One request in two seconds for each path, which is a client's.
  beforeAll(async () => {
    const app = express();
    app.use((request, response, next) => {
      const atMs = performance.now();
      response.once('finish', () => {
        const told = response.getHeader('Retry-After');
        const toldMs = told === undefined ? undefined : Number(told) * 1000;
        const before = seen.get(request.path) ?? [];
        seen.set(request.path, [...before, { atMs, status: response.statusCode, toldMs }]);
      });
      next();
    });
    const policy = { algorithm: 'sliding-window-log', limit: 1, window: '2s' } as const;
    app.use(rateLimit({ ...policy, key: (request) => request.path }));
    app.use((_request, response) => {
      response.type('text').send('served');
    });
    server = createServer(app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });

  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });

  /** Octokit adds a second of its own, and a busy machine some. */
  const LATE_MS = 4000;

  function expectReturn(client: string): void {
    const requests = seen.get(`/${client}`) ?? [];
    expect([client, requests.map(({ status }) => status)]).toEqual([client, [200, 429, 200]]);
    const [, denied, back] = requests;
    const toldMs = denied.toldMs!;
    expect([1000, 2000]).toContain(toldMs);
    const waitedMs = back.atMs - denied.atMs;
    // A timer may fire up to a millisecond early.
    expect(waitedMs).toBeGreaterThan(toldMs - 1);
    expect(waitedMs).toBeLessThan(toldMs + LATE_MS);
  }

  it('comes back when told and is served: ky, got, the RetryAgent of undici, the throttling of Octokit', async () => {
    const clients = ['ky', 'got', 'undici', 'octokit'];
    const script = join(__dirname, 'javascript-clients.mjs');
    const { stdout } = await run(process.execPath, [script, url], { timeout: 55_000 });
    expect(JSON.parse(stdout)).toEqual(
      Object.fromEntries(clients.map((client) => [client, ['served', 'served']])),
    );
    for (const client of clients) expectReturn(client);
  }, 60_000);

  it('comes back when told and is served: curl', async () => {
    if (spawnSync('curl', ['--version']).status !== 0) {
      throw new Error(
        'There is no curl on the PATH. Install it: apt-get install curl, or brew install curl.',
      );
    }
    const folder = mkdtempSync(join(tmpdir(), 'sluice-curl-'));
    try {
      const file = join(folder, 'body');
      // Into a file: what curl has written elsewhere it cannot take back before it tries again.
      const options = ['--silent', '--retry', '1', '--output', file, '--write-out', '%{http_code}'];
      for (let i = 0; i < 2; i++) {
        const { stdout } = await run('curl', [...options, `${url}curl`], { timeout: 20_000 });
        expect([stdout, readFileSync(file, 'utf8')]).toEqual(['200', 'served']);
      }
      expectReturn('curl');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
