import { buildScript, message, type Script, stopScript } from './scripts.js';
import type { Seen, Trial } from './warnings-child.js';

let script: Script;
beforeAll(() => {
  script = buildScript('warnings-child');
});
afterAll(() => script.dispose());

async function warnings(trial: Trial, env: Readonly<Record<string, string>> = {}): Promise<Seen> {
  const child = script.start([JSON.stringify(trial)], { NODE_NO_WARNINGS: '1', ...env });
  try {
    return await message<Seen>(child);
  } finally {
    await stopScript(child);
  }
}

const forwarded = { 'x-forwarded-for': '203.0.113.7' };

describe.each(['Express', 'Fastify', 'Koa'] as const)('a process with %s warns', (framework) => {
  it('of nothing where nothing is wrong, also if Fastify has routes from before the plugin', async () => {
    expect(await warnings({ framework, trust: false, headers: {} })).toEqual([]);
    expect(await warnings({ framework, trust: 'loopback', headers: forwarded })).toEqual([]);
  });

  it('once of a forwarded request while who sent it is not trusted', async () => {
    for (const headers of [forwarded, { forwarded: 'for=203.0.113.7' }]) {
      expect(await warnings({ framework, trust: false, headers })).toEqual(['SLUICE_PROXY_NOT_TRUSTED']);
    }
  });

  it('once of trust in everyone, forwarded or not', async () => {
    expect(await warnings({ framework, trust: true, headers: {} })).toEqual(['SLUICE_EVERYONE_TRUSTED']);
    expect(await warnings({ framework, trust: true, headers: forwarded })).toEqual([
      'SLUICE_EVERYONE_TRUSTED',
    ]);
  });

  it('once of memory that the workers of a cluster do not share, nor the processes of a host without servers', async () => {
    const fine = { framework, trust: false, headers: {} } as const;
    expect(await warnings({ ...fine, worker: true })).toEqual(['SLUICE_MEMORY_NOT_SHARED']);
    expect(await warnings(fine, { K_SERVICE: 'hello' })).toEqual(['SLUICE_MEMORY_NOT_SHARED']);
  });

  if (framework === 'Fastify') {
    // Fastify of late takes no number, as that says nothing of who is asking.
    it('once of a forwarded request where a number trusts nobody', async () => {
      expect(await warnings({ framework, trust: 1, headers: forwarded })).toEqual([
        'SLUICE_PROXY_NOT_TRUSTED',
      ]);
      expect(await warnings({ framework, trust: 1, headers: {} })).toEqual([]);
    });
  }

  // Fastify itself refuses a plugin while it serves.
  if (framework === 'Fastify') return;
  it('once of a limiter for each request', async () => {
    const made = { framework, trust: false, headers: {}, perRequest: true } as const;
    expect(await warnings(made)).toEqual(['SLUICE_LIMITER_PER_REQUEST']);
  });

  // Express has no HTTP/2.
  if (framework === 'Express') return;
  it('once of a limiter for each request over HTTP/2', async () => {
    const made = { framework, trust: false, headers: {}, http2: true } as const;
    expect(await warnings({ ...made, perRequest: true })).toEqual(['SLUICE_LIMITER_PER_REQUEST']);
    expect(await warnings(made)).toEqual([]);
  });
});
