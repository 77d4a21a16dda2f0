import { type Clock, createLimiter, type Limiter, manualClock } from '@sluice/core';
import fc from 'fast-check';
import { algorithmNames, policyOf } from './arbitraries.js';
import { type Backend, cluster, single } from './backends.js';
import { runs, scaled } from './budget.js';
import { tagOf } from './expected-lives.js';
import type { PlainPolicy } from './reference.js';
import { settings } from './settings.js';
import { hostileIds } from './store/hostile-ids.js';
import { itLeavesKeysThatEnd } from './ttl.js';

const policies: fc.Arbitrary<PlainPolicy[]> = fc.array(
  fc.constantFrom(...algorithmNames).chain((algorithm) => policyOf(algorithm, true)),
  { minLength: 1, maxLength: 3 },
);

/** What happens to the key: mostly requests, of which the later ones are denied, and refunds of the first. */
const actions = fc.array(fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constant('refund' as const)), {
  minLength: 1,
  maxLength: 8,
});

let names = 0;

const ids = fc.constantFrom(...hostileIds);

/** A limiter of its own name, and what Redis says of the keys of an id. */
function open(
  { client, prefix, makeStore }: Backend,
  list: readonly PlainPolicy[],
  { id = 'key', clock }: { id?: string; clock?: Clock } = {},
): { limiter: Limiter<true>; lives(): Promise<Life[]> } {
  names += 1;
  const name = `t${names}`;
  const named = list.map((policy, i) => ({ ...policy, name: `p${i}` }));
  const options = { name, policies: named, store: makeStore() };
  const limiter = createLimiter(clock === undefined ? options : { ...options, clock });
  const lives = async () => {
    const before = await serverNow(client);
    const { policies: each } = await limiter.peek(id);
    const keys = named.map((policy) => `${prefix}:{${tagOf(id)}}:${name}:${policy.name}`);
    const expiries = await Promise.all(keys.map((key) => client.pexpiretime(key)));
    const after = await serverNow(client);
    return each.map(({ resetMs }, i) => ({
      resetMs,
      found: expiries[i] !== -2,
      least: expiries[i] - after,
      most: expiries[i] - before,
    }));
  };
  return { limiter, lives };
}

/** What is left of a key's life by the server's clock, as exactly as two questions can tell. */
interface Life {
  readonly resetMs: number;
  readonly found: boolean;
  readonly least: number;
  readonly most: number;
}

async function serverNow(client: Backend['client']): Promise<number> {
  const [seconds, microseconds] = (await client.time()).map(Number);
  return seconds * 1000 + Math.floor(microseconds / 1000);
}

function describeLives(place: string, backend: Backend): void {
  describe(`A key in Redis ${place}`, () => {
    afterAll(() => backend.close());

    it(
      'lives until resetMs and at most a second more, whatever was done to it last',
      async () => {
        let met = 0;
        const law = fc.asyncProperty(policies, actions, ids, async (list, steps, id) => {
          const { limiter, lives } = open(backend, list, { id });
          const first = await limiter.consume(id);
          for (const step of steps) {
            if (step === 'refund') await limiter.refund(first, 1);
            else await limiter.consume(id, { cost: step });
            for (const { resetMs, found, least, most } of await lives()) {
              if (resetMs > 0) expect(most).toBeGreaterThanOrEqual(resetMs);
              if (found) expect(least).toBeLessThanOrEqual(resetMs + 1000);
              if (found && resetMs > 0) met += 1;
            }
          }
        });
        await fc.assert(law, runs(150));
        expect(met).toBeGreaterThan(150);
      },
      scaled(120_000),
    );

    it.each(settings)(
      'under a clock that was injected lives until resetMs too, $title',
      async ({ policy }) => {
        const clock = manualClock(1_764_547_200_000);
        const { limiter, lives } = open(backend, [policy(5, 3_600_000) as PlainPolicy], { clock });
        // The injected clock stands still while the server's goes on.
        let beganMs = performance.now();
        const check = async () => {
          const [{ resetMs, found, least, most }] = await lives();
          expect(resetMs).toBeGreaterThan(60_000);
          expect(found).toBe(true);
          expect(most + performance.now() - beganMs).toBeGreaterThanOrEqual(resetMs);
          expect(least).toBeLessThanOrEqual(resetMs + 1000);
          beganMs = performance.now();
        };
        await limiter.consume('key', { cost: 2 });
        await check();
        clock.advance(600_000);
        const second = await limiter.consume('key', { cost: 3 });
        await check();
        await limiter.refund(second, 1);
        await check();
        await limiter.refund(second);
        await check();
      },
    );

    it.each(settings)(
      'under a clock that was injected lives a minute at least, $title',
      async ({ policy }) => {
        const clock = manualClock(1_764_547_200_000);
        const { limiter, lives } = open(backend, [policy(5, 40) as PlainPolicy], { clock });
        const decision = await limiter.consume('key', { cost: 5 });
        expect(decision.resetMs).toBeLessThan(1000);
        const check = async () => {
          const [{ least, most }] = await lives();
          expect(most).toBeGreaterThan(59_000);
          expect(least).toBeLessThanOrEqual(60_000);
        };
        await check();
        await limiter.refund(decision, 2);
        await check();
      },
    );

    it.each([1, 2])(
      'keeps the end that it has where that is near the right one, and gets the right one elsewhere, of %i policies',
      async (count) => {
        const list = Array.from({ length: count }, () => ({
          algorithm: 'fixed-window' as const,
          limit: 1000,
          windowMs: 3_600_000,
        }));
        const policies = list.map(({ windowMs, ...rest }) => ({ ...rest, window: windowMs }));
        const { limiter, lives } = open(backend, policies as unknown as PlainPolicy[], {});
        await limiter.consume('key');
        const masters = backend.masters();
        const move = async (ms: number) => {
          for (const master of masters) {
            const keys = await master.keys(`${backend.prefix}:{key}:t${names}:*`);
            for (const key of keys) await master.pexpire(key, ms);
          }
        };
        // Half a second beyond resetMs is right; what is less than half of that away from it may stay.
        for (const off of [-100_000, -260, -240, 0, 240, 260, 100_000, 0]) {
          const { resetMs } = await limiter.peek('key');
          await move(resetMs + 500 + off);
          await limiter.consume('key');
          for (const life of await lives()) {
            expect(life.most).toBeGreaterThanOrEqual(life.resetMs + 200);
            expect(life.least).toBeLessThanOrEqual(life.resetMs + 800);
          }
        }
      },
    );

    it.each(settings)('lives for what a block means, and no longer, $title', async ({ policy }) => {
      const block = { after: 2, for: '30m', grow: 2 } as const;
      const { limiter, lives } = open(backend, [{ ...policy(2, 600_000), block } as never]);
      const livesFor = async (ms: number) => {
        const [{ found, least, most }] = await lives();
        expect(found).toBe(true);
        // The test takes its time, and keys live at most a second more.
        expect(most).toBeGreaterThan(ms - 2000);
        expect(least).toBeLessThanOrEqual(ms + 1000);
      };
      const consume = async (times: number, id = 'key') => {
        for (let i = 0; i < times; i++) await limiter.consume(id);
      };
      await limiter.block('key', '3h');
      await livesFor(3 * 3_600_000);
      await limiter.unblock('key');
      expect((await lives())[0].found).toBe(false);
      await consume(2);
      const { resetMs } = await limiter.peek('key');
      await limiter.block('key', 1000);
      await livesFor(Math.max(resetMs, 1000));
      await limiter.unblock('key');
      await livesFor(resetMs);
      await consume(2);
      // A block of half an hour, remembered as long again.
      await livesFor(3_600_000);
      await limiter.block('key', Infinity);
      const [{ least }] = await lives();
      expect(least).toBeGreaterThan(1e15);
      await limiter.reset('key');
      expect((await lives())[0].found).toBe(false);
    });

    it.each(settings)(
      'lives longer once a request found it under a longer window, $title',
      async ({ policy }) => {
        const { limiter, lives } = open(backend, [policy(2, 60_000) as never]);
        await limiter.consume('key', { cost: 2 });
        limiter.update({ policies: [{ ...policy(2, 3_600_000), name: 'p0' }] });
        expect((await limiter.consume('key', { cost: 2 })).allowed).toBe(false);
        const [{ resetMs, most }] = await lives();
        expect(resetMs).toBeGreaterThan(60_000);
        expect(most).toBeGreaterThanOrEqual(resetMs);
      },
    );

    itLeavesKeysThatEnd(backend);
  });
}

describeLives('on one server', single('ttl'));
describeLives('on a cluster of three', cluster('ttl'));
