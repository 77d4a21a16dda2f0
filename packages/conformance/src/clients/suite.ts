/**
 * What every client must do, set up as docs/clients.md says.
 *
 * @module
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter, type Limiter, manualClock } from '@sluice/core';
import { redisCommand } from '../redis-server.js';
import { hostileIds } from '../store/hostile-ids.js';
import { type Case, readCases, replay } from '../vectors.js';
import type { OpenClient } from './snippets.js';

export interface ClientSuiteOptions {
  readonly title: string;
  open(): Promise<OpenClient>;
  /** The servers that hold keys. Called when tests run. */
  ports(): readonly number[];
}

/** Describes the suite for one client. */
export function clientSuite({ title, open, ports }: ClientSuiteOptions): void {
  describe(title, () => {
    let client: OpenClient;
    beforeAll(async () => {
      client = await open();
      await untilServed(limiterOn(client, 'before'));
    });
    afterAll(() => client.close());

    it('decides every vector as it stands there, all of them at once', async () => {
      const cases = [...readCases('algorithms'), ...readCases('policies'), ...readCases('edges')];
      const replayed = async (vector: Case, i: number) => {
        const { policies } = vector;
        const { store } = client;
        const clock = manualClock();
        await replay(vector, createLimiter({ name: `v${i}`, policies, store, clock }), clock);
      };
      const results = await Promise.allSettled(cases.map(replayed));
      const wrong = results.flatMap((result, i) =>
        result.status === 'rejected' ? [`${cases[i].name}: ${result.reason}`] : [],
      );
      expect(cases.length).toBeGreaterThan(100);
      expect(wrong).toEqual([]);
    });

    it('keeps keys apart, whatever is in them', async () => {
      const limiter = limiterOn(client, 'hostile');
      const costs = hostileIds.map((_, i) => i + 1);
      await Promise.all(hostileIds.map((id, i) => limiter.consume(id, { cost: costs[i] })));
      const left = await Promise.all(hostileIds.map((id) => limiter.peek(id)));
      expect(left.map(({ remaining }) => remaining)).toEqual(costs.map((cost) => 100 - cost));
    });

    it('decides fifty requests at once, each charged once, also where the script has been forgotten', async () => {
      const limiter = limiterOn(client, 'fifty');
      for (const port of ports()) expect(await redisCommand(port, 'SCRIPT', 'FLUSH')).toBe('OK');
      const decisions = await Promise.all(Array.from({ length: 50 }, () => limiter.consume('key')));
      const remaining = decisions.map((decision) => decision.remaining).sort((a, b) => b - a);
      expect(remaining).toEqual(Array.from({ length: 50 }, (_, i) => 99 - i));
    });

    it('decides fifty requests of fifty keys at once', async () => {
      const limiter = limiterOn(client, 'many');
      const decisions = await Promise.all(Array.from({ length: 50 }, (_, i) => limiter.consume(`key${i}`)));
      expect(decisions.map((decision) => decision.remaining)).toEqual(Array.from({ length: 50 }, () => 99));
    });

    it('decides for keys of several kinds, wherever they lie, all or nothing', async () => {
      const day = { algorithm: 'fixed-window', window: 1e13 } as const;
      const limiter = createLimiter({
        name: 'kinds',
        limits: [
          { name: 'address', policies: [{ ...day, limit: 9 }] },
          { name: 'user', policies: [{ ...day, limit: 2 }] },
          { name: 'all', policies: [{ ...day, limit: 8 }] },
        ],
        store: client.store,
        onStoreError: 'throw',
      });
      // Of a cluster of three, a node each.
      const keys = { address: 'a', user: 'b', all: 'c' };
      for (let i = 0; i < 2; i++) expect(await limiter.consume(keys)).toMatchObject({ allowed: true });
      const denied = await limiter.consume(keys);
      expect(denied).toMatchObject({ allowed: false, policy: 'user' });
      expect(denied.policies.map(({ remaining }) => remaining)).toEqual([7, 0, 6]);
    });
  });
}

/** A limit of 100 in a window that no test outlives. */
export function limiterOn({ store }: OpenClient, name: string): Limiter<true> {
  const policies = [{ algorithm: 'fixed-window', limit: 100, window: 1e13 } as const];
  return createLimiter({ name, policies, store, onStoreError: 'throw' });
}

const PAUSE_MS = 10;

/**
 * Asks again and again until Redis decides; returns how many ms that took.
 *
 * Without those for which other processes kept this machine busy: what they take from this one by making it wait, they
 * take from the server, and from the one that starts it, as well.
 */
export async function untilServed(limiter: Limiter<true>): Promise<number> {
  const start = performance.now();
  let lostMs = 0;
  while (!(await isServed(limiter))) {
    const before = performance.now();
    if (before - start > 20_000) throw new Error('Redis does not decide again.');
    await sleep(PAUSE_MS);
    lostMs += Math.max(0, performance.now() - before - 2 * PAUSE_MS);
  }
  return performance.now() - start - 3 * lostMs;
}

/** Whether Redis itself decides. Charges nothing. */
export async function isServed(limiter: Limiter<true>): Promise<boolean> {
  try {
    await limiter.peek('key');
    return true;
  } catch {
    return false;
  }
}
