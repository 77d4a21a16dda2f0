import {
  type AcquireError,
  type AcquireOptions,
  createLimiter,
  type Decision,
  type KeyedLimit,
  type Limiter,
  type ManualClock,
  manualClock,
  type Policy,
} from '@sluice/core';
import { settings } from '../settings.js';
import { unhurried } from '../unhurried.js';
import type { Suite } from './suite.js';

/** A limiter on a clock that only moves when told, of which nobody waits. */
interface Waiting {
  readonly limiter: Limiter;
  readonly clock: ManualClock;
  /** The waits of so many requests of one key, one after the other. */
  waits(count: number, options?: AcquireOptions): Promise<number[]>;
  /** The same of one request, and its decision. */
  acquire(options?: AcquireOptions): Promise<{ readonly wait: number; readonly decision: Decision }>;
}

const TEN = 10;
const second = (algorithm: Policy['algorithm'], more: object = {}): Policy =>
  ({ name: 'second', algorithm, limit: TEN, window: 1000, ...more }) as Policy;

const zeros = (count: number) => Array.from({ length: count }, () => 0);
/** `count` numbers from `first` on, each so much above the one before. */
const steps = (count: number, first: number, step = 0) =>
  Array.from({ length: count }, (_, i) => first + i * step);

const refusal = async (acquired: Promise<unknown>): Promise<AcquireError> =>
  acquired.then(
    () => {
      throw new Error('It found a place.');
    },
    (error) => error,
  );

/** Waiting in place of being refused: what is reserved, and for when. How it is waited for is tested with the limiter. */
export function acquire(suite: Suite): void {
  const open = (policies: Policy | readonly Policy[], at = 0, name = suite.newName()): Waiting => {
    const clock = manualClock(at);
    let wait: number | undefined;
    const store = unhurried(suite.makeStore(), (told) => {
      wait = told.wait;
    });
    const list = [policies].flat() as readonly Policy[];
    const limiter: Limiter = createLimiter({ name, policies: list, store, clock, onStoreError: 'throw' });
    const one: Waiting['acquire'] = async (options) => {
      const decision = await limiter.acquire('key', options);
      return { wait: wait as number, decision };
    };
    const waits: Waiting['waits'] = async (count, options) => {
      const each: number[] = [];
      for (let i = 0; i < count; i++) each.push((await one(options)).wait);
      return each;
    };
    return { limiter, clock, waits, acquire: one };
  };

  describe('Acquiring 25 at once, of 10 per second,', () => {
    // A window that began 250 ms ago; the next ones begin in 750 and 1750 ms.
    it.each<[string, Policy, number, number[]]>([
      ['token-bucket', second('token-bucket'), 250, [...zeros(10), ...steps(15, 100, 100)]],
      ['gcra', second('gcra'), 250, [...zeros(10), ...steps(15, 100, 100)]],
      [
        'token-bucket, burst 4',
        second('token-bucket', { burst: 4 }),
        0,
        [...zeros(4), ...steps(21, 100, 100)],
      ],
      // Each waits for those before it, whether in the queue or for a place in it.
      ['leaky-bucket', second('leaky-bucket'), 0, steps(25, 0, 100)],
      ['leaky-bucket, capacity 3', second('leaky-bucket', { capacity: 3 }), 0, steps(25, 0, 100)],
      ['fixed-window', second('fixed-window'), 250, [...zeros(10), ...steps(10, 750), ...steps(5, 1750)]],
      [
        'sliding-window-log',
        second('sliding-window-log'),
        250,
        [...zeros(10), ...steps(10, 1000), ...steps(5, 2000)],
      ],
      [
        // 10 in the window before: of those, one less counts every 100 ms, up to 1900. At 2000 it is 9 of the window
        // before and the one at 2000: of those 9, one less counts every 1000 / 9 ms.
        'sliding-window-counter',
        second('sliding-window-counter'),
        500,
        [...zeros(10), ...steps(10, 600, 100), 1612, 1723, 1834, 1945, 2056],
      ],
    ])('%s: each has its own place', async (_, policy, at, expected) => {
      const { waits } = open(policy, at);
      expect(await waits(25)).toEqual(expected);
    });
  });

  describe.each(settings)('Acquiring, $title', ({ title, policy }) => {
    const isQueue = title.startsWith('leaky');

    it('goes on when consume would have, had nobody else come, and as that would have', async () => {
      const { clock, acquire } = open(policy(5, 1000), 250);
      const twin = suite.open(policy(5, 1000), 250);
      for (const [gap, cost] of [
        [0, 3],
        [10, 4],
        [0, 1],
        [30, 5],
        [700, 2],
        [0, 2],
        [4000, 3],
        [1, 3],
      ]) {
        clock.advance(gap);
        const { wait, decision } = await acquire({ cost });
        // In a queue it is held besides, which is not told apart.
        if (isQueue) continue;
        const turn = clock.now() + wait;
        if (turn - 1 > twin.clock.now() && wait > 0) {
          twin.clock.set(turn - 1);
          expect((await twin.limiter.peek('key', { cost })).allowed).toBe(false);
        }
        twin.clock.set(turn);
        const { settle: _settle, ...expected } = await twin.limiter.consume('key', { cost });
        expect(decision).toMatchObject(expected);
        expect(expected.allowed).toBe(true);
      }
    });

    it('lets nobody pass before the last turn, and tells how long that is', async () => {
      const { limiter, clock, acquire } = open(policy(5, 1000), 250);
      await acquire({ cost: 5 });
      await acquire({ cost: 5 });
      const { retryAfterMs } = await limiter.consume('key', { cost: 5 });
      expect(await limiter.consume('key', { cost: 5 })).toMatchObject({ allowed: false, remaining: 0 });
      expect(await limiter.peek('key', { cost: 6 })).toMatchObject({
        allowed: false,
        retryAfterMs: Infinity,
      });
      expect(await limiter.consume('key', { cost: 0 })).toMatchObject({ allowed: true, remaining: 0 });
      clock.advance(retryAfterMs - 1);
      expect(await limiter.consume('key', { cost: 5 })).toMatchObject({ allowed: false, retryAfterMs: 1 });
      clock.advance(1);
      expect(await limiter.consume('key', { cost: 5 })).toMatchObject({ allowed: true });
    });

    it('is as new when it says', async () => {
      const { limiter, clock, acquire } = open(policy(5, 1000), 250);
      await acquire({ cost: 5 });
      await acquire({ cost: 3 });
      const { resetMs } = await limiter.peek('key');
      clock.advance(resetMs - 1);
      expect((await limiter.peek('key', { cost: 5 })).allowed).toBe(false);
      clock.advance(1);
      expect((await limiter.peek('key', { cost: 5 })).allowed).toBe(true);
    });

    it('charges nothing where it would wait longer than it may, or for ever', async () => {
      const { limiter, acquire } = open(policy(5, 1000), 250);
      await limiter.consume('key', { cost: 5 });
      const before = await limiter.peek('key', { cost: 2 });
      const { wait } = await acquire({ cost: 2 });
      await limiter.reset('key');
      await limiter.consume('key', { cost: 5 });
      for (const maxWait of [0, wait - 1]) {
        const { code, decision } = await refusal(acquire({ cost: 2, maxWait }));
        expect(code).toBe('ERR_SLUICE_WAIT');
        expect(decision).toEqual(before);
      }
      const { code, decision } = await refusal(acquire({ cost: 6 }));
      expect([code, decision.retryAfterMs]).toEqual(['ERR_SLUICE_NEVER', Infinity]);
      expect(await limiter.peek('key', { cost: 2 })).toEqual(before);
      expect((await acquire({ cost: 2, maxWait: wait })).wait).toBe(wait);
    });

    it('gives its place back, and nobody waits longer for that than it would have', async () => {
      const { limiter, clock, acquire } = open(policy(5, 1000), 250);
      const twin = suite.open(policy(5, 1000), 250);
      for (const each of [limiter, twin.limiter]) await each.consume('key', { cost: 5 });
      const { wait, decision } = await acquire({ cost: 2 });
      await limiter.refund(decision);
      expect((await limiter.peek('key', { cost: 2 })).retryAfterMs).toBeLessThanOrEqual(wait);
      clock.advance(wait);
      twin.clock.advance(wait);
      expect(await limiter.peek('key', { cost: 2 })).toEqual(await twin.limiter.peek('key', { cost: 2 }));
    });

    it('is settled where it was charged', async () => {
      const { limiter, clock, acquire } = open(policy(5, 1000), 250);
      const twin = suite.open(policy(5, 1000), 250);
      for (const each of [limiter, twin.limiter]) await each.consume('key', { cost: 5 });
      const { wait, decision } = await acquire({ cost: 2 });
      // GCRA holds no more than the bucket.
      if (!title.startsWith('gcra')) await limiter.settle(decision, 4);
      await limiter.settle(decision, 1);
      clock.advance(wait);
      twin.clock.advance(wait);
      if (isQueue) return;
      await twin.limiter.consume('key');
      expect(await limiter.peek('key')).toEqual(await twin.limiter.peek('key'));
    });
  });

  describe('Acquiring', () => {
    it('waits for all policies, and charges all of them at the same instant', async () => {
      const minute: Policy = { name: 'minute', algorithm: 'fixed-window', limit: 15, window: 60_000 };
      const { waits, limiter, clock } = open([second('token-bucket'), minute]);
      // 15 in this minute, at 10 per second; and the bucket is full when the next begins.
      expect(await waits(21)).toEqual([...zeros(10), ...steps(5, 100, 100), ...steps(6, 60_000)]);
      clock.set(60_000);
      const { policies } = await limiter.peek('key');
      expect(policies.map(({ remaining }) => remaining)).toEqual([4, 9]);
    });

    it('waits for what it costs, and for what those before it cost', async () => {
      const { waits } = open(second('token-bucket'));
      const each: number[] = [];
      for (const cost of [10, 5, 1, 10]) each.push(...(await waits(1, { cost })));
      // 0.5, 0.1 and 1 s are what 5, 1 and 10 take to come back.
      expect(each).toEqual([0, 500, 600, 1600]);
    });

    it('takes no place at no cost', async () => {
      const { limiter, waits } = open(second('fixed-window', { limit: 1 }));
      expect(await waits(2)).toEqual([0, 1000]);
      expect(await limiter.acquire('key', { cost: 0 })).toMatchObject({ allowed: true, delayMs: 0 });
      expect(await waits(1)).toEqual([2000]);
    });

    it('does not count as a denial', async () => {
      for (const algorithm of ['fixed-window', 'sliding-window-counter'] as const) {
        const edge = algorithm === 'fixed-window' ? {} : { edge: 'drop' };
        const { acquire, waits } = open(second(algorithm, { ...edge, limit: 2, countDenied: true }));
        expect(await waits(2)).toEqual([0, 0]);
        for (let i = 0; i < 3; i++) await refusal(acquire({ maxWait: 5 }));
        expect(await waits(3)).toEqual([1000, 1000, 2000]);
      }
    });

    it.each<(window: number) => Policy>([
      (window) => ({ algorithm: 'fixed-window', limit: 1, window }),
      (window) => ({ algorithm: 'sliding-window-counter', limit: 1, window, edge: 'drop' }),
    ])('ends also where other numbers have taken over', async (policy) => {
      const { limiter, waits } = open(policy(1000));
      expect(await waits(1)).toEqual([0]);
      limiter.update({ policies: [policy(10_000)] });
      // What was used is so in the window of the new kind.
      expect(await waits(2)).toEqual([10_000, 20_000]);
    });

    it.each(['token-bucket', 'gcra'] as const)(
      'and giving all places back from the last on leaves a %s as it was',
      async (algorithm) => {
        const { limiter, clock, acquire } = open(second(algorithm));
        for (let i = 0; i < 10; i++) await limiter.consume('key');
        const before = await limiter.peek('key');
        const decisions: Decision[] = [];
        for (let i = 0; i < 15; i++) decisions.push((await acquire()).decision);
        for (const decision of decisions.reverse()) await limiter.refund(decision);
        expect(await limiter.peek('key')).toEqual(before);
        clock.advance(100);
        expect((await limiter.consume('key')).allowed).toBe(true);
      },
    );

    it.each(['token-bucket', 'gcra'] as const)(
      'and giving back a place of a %s that others wait behind lets nobody pass before or beside them',
      async (algorithm) => {
        const { limiter, acquire } = open(second(algorithm));
        for (let i = 0; i < 10; i++) await limiter.consume('key');
        const decisions: Decision[] = [];
        for (let i = 0; i < 15; i++) decisions.push((await acquire()).decision);
        for (const decision of decisions.slice(2, 8)) await limiter.refund(decision);
        // The last turn is 1500.
        expect(await limiter.peek('key')).toMatchObject({ allowed: false, retryAfterMs: 1600 });
        // That is given back, and the next is where it was.
        await limiter.refund(decisions[14]);
        expect(await limiter.peek('key')).toMatchObject({ allowed: false, retryAfterMs: 1500 });
      },
    );

    it('and giving all places back leaves a window closed until the last of them, and free then', async () => {
      const { limiter, clock, acquire } = open(second('fixed-window'), 250);
      const decisions: Decision[] = [];
      for (let i = 0; i < 25; i++) decisions.push((await acquire()).decision);
      for (const decision of decisions.slice(10)) await limiter.refund(decision);
      // It must not be as new at once: ten were admitted in this window.
      expect(await limiter.peek('key')).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 1750 });
      clock.set(2000);
      expect(await limiter.peek('key')).toMatchObject({ allowed: true, remaining: 10, resetMs: 0 });
    });

    it('by keys of several kinds waits for all of them', async () => {
      const clock = manualClock(0);
      const waits: (number | undefined)[] = [];
      const store = unhurried(suite.makeStore(), ({ wait }) => waits.push(wait));
      const limits: KeyedLimit[] = [
        { name: 'address', policies: [{ algorithm: 'token-bucket', limit: 10, window: 1000 }] },
        { name: 'user', policies: [{ algorithm: 'fixed-window', limit: 1, window: 1000 }] },
      ];
      const limiter = createLimiter({ name: suite.newName(), limits, store, clock, onStoreError: 'throw' });
      const keys = { address: 'a', user: 'a' };
      for (let i = 0; i < 3; i++) await limiter.acquire(keys);
      await limiter.acquire({ address: 'a' });
      await limiter.acquire({ user: 'b' });
      // Whoever has the address waits behind those who have it, though they wait for the user.
      expect(waits).toEqual([0, 1000, 2000, 2000, 0]);
      expect(await limiter.peek({ address: 'b', user: 'b' })).toMatchObject({
        allowed: false,
        policy: 'user',
      });
    });

    if (suite.supports.shared) {
      it('is first come, first served between processes', async () => {
        const name = suite.newName();
        const [one, other] = [open(second('gcra'), 0, name), open(second('gcra'), 0, name)];
        const each: number[] = [];
        for (let i = 0; i < 7; i++) each.push(...(await one.waits(1)), ...(await other.waits(1)));
        expect(each).toEqual([...zeros(10), 100, 200, 300, 400]);
        expect(await other.limiter.consume('key')).toMatchObject({ allowed: false, retryAfterMs: 500 });
      });
    }
  });
}
