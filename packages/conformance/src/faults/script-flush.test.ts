import { setTimeout as sleep } from 'node:timers/promises';
import { redisCommand } from '../redis-server.js';
import { expectEachChargedOnce, expectNoError, expectNoFalseDenial, of, tally } from './harness/expect.js';
import { charged, connect, openInstance, serve } from './harness/instance.js';
import { Load } from './harness/load.js';

/** The deadline is not the subject here. */
const PATIENT_MS = 10_000;
const KEYS = ['a', 'b', 'c'];

describe('SCRIPT FLUSH under load, with autopipelining', () => {
  // Every command of a pipeline may find the script gone. Each of them is then sent once in full, which is safe because
  // NOSCRIPT says that nothing ran. So nobody notices: Redis decides every request, and charges it once.
  it('costs nobody anything: every request is decided by Redis, and charged once', async () => {
    const server = await serve();
    const client = connect(server.port);
    const { roomy } = openInstance(client, { onStoreError: 'throw' }, PATIENT_MS);
    const load = new Load(roomy, { keys: KEYS, clients: 64, pauseMs: 1 });
    for (let i = 0; i < 30; i++) {
      expect(await redisCommand(server.port, 'SCRIPT', 'FLUSH')).toBe('OK');
      await sleep(20);
    }
    const samples = await load.stop();
    expectNoError(samples);
    expectNoFalseDenial(samples);
    expectEachChargedOnce(samples);
    expect(tally(samples)).toMatchObject({ byStore: samples.length, locally: 0 });
    for (const key of KEYS) expect(await charged(client, 'roomy', key)).toBe(of(samples, key).length);
  });

  it('happened to pipelines: many commands in one, which were told that there is no such script', async () => {
    const server = await serve();
    const client = connect(server.port);
    const { roomy } = openInstance(client, { onStoreError: 'throw' }, PATIENT_MS);
    await roomy.consume('a');
    await redisCommand(server.port, 'SCRIPT', 'FLUSH');
    const decisions = await Promise.all(Array.from({ length: 64 }, () => roomy.consume('a')));
    // All 64 went out before the first answer came, so all 64 had to go out twice.
    expect(await redisCommand(server.port, 'INFO', 'errorstats')).toContain('errorstat_NOSCRIPT:count=65');
    const left = decisions.map(({ remaining }) => remaining).sort((a, b) => a - b);
    expect(left).toEqual(Array.from({ length: 64 }, (_, i) => 999_935 + i));
  });
});
