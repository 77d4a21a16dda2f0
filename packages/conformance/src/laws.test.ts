import { MemoryStore, type Store } from '@sluice/core';
import fc from 'fast-check';
import { runs } from './budget.js';
import { historyOf, live, onePolicy, somePolicies } from './history.js';
import { unhurried } from './unhurried.js';

/** A law that never met its case has not been tested. */
function check<T>(arbitrary: fc.Arbitrary<T>, count: number, law: (value: T) => boolean): void {
  let met = 0;
  fc.assert(
    fc.property(arbitrary, (value) => {
      if (law(value)) met += 1;
    }),
    runs(count),
  );
  expect(met).toBeGreaterThan(count / 20);
}

const withCost = <T>(history: fc.Arbitrary<T>) =>
  fc.tuple(history, fc.double({ min: 0, max: 1, noNaN: true }));

/** From 1 to the capacity, more often near the ends. */
function costFrom(share: number, capacity: number): number {
  return Math.max(1, Math.min(capacity, Math.ceil(capacity * share * share)));
}

/** Instants within a wait, and always the last before its end. */
function within(wait: number): number[] {
  const instants = [1, 2, Math.floor(wait / 3), Math.floor(wait / 2), wait - 2, wait - 1];
  return [...new Set(instants)].filter((at) => at > 0 && at < wait).sort((a, b) => a - b);
}

describe('A reservation', () => {
  it('is charged at the first instant at which it would have been admitted, had nobody come later, in the order of the calls', () => {
    const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 8 });
    check(fc.tuple(historyOf(somePolicies), shares), 600, ([history, costs]) => {
      // A queue holds besides, which the wait does not tell apart.
      if (history.policies.some(({ algorithm }) => algorithm === 'leaky-bucket')) return false;
      let wait = 0;
      const store = unhurried(new MemoryStore(), (told) => {
        wait = told.wait as number;
      });
      const { limiter, clock, capacity } = live(history, store as Store<false>);
      const twin = live(history);
      for (const share of costs) {
        const cost = costFrom(share, capacity);
        void limiter.acquire('key', { cost });
        const before = twin.clock.now();
        const turn = clock.now() + wait;
        for (const at of within(turn - before)) {
          twin.clock.set(before + at);
          expect(twin.limiter.peek('key', { cost }).retryAfterMs).toBe(turn - before - at);
        }
        twin.clock.set(turn);
        expect(twin.limiter.consume('key', { cost }).allowed).toBe(true);
      }
      if (wait === 0) return false;
      const behind = twin.limiter.peek('key', { cost: capacity });
      expect(limiter.consume('key', { cost: capacity })).toMatchObject({
        allowed: false,
        remaining: 0,
        retryAfterMs: wait + behind.retryAfterMs,
      });
      return true;
    });
  });
});

describe('A wait is exact', () => {
  it('a denied request is denied at every instant before retryAfterMs and admitted exactly then', () => {
    check(withCost(historyOf(somePolicies)), 600, ([history, share]) => {
      const { limiter, clock, capacity } = live(history);
      const cost = costFrom(share, capacity);
      const denied = limiter.consume('key', { cost });
      if (denied.allowed) return false;
      const start = clock.now();
      for (const wait of within(denied.retryAfterMs)) {
        clock.set(start + wait);
        const still = limiter.consume('key', { cost });
        expect(still).toMatchObject({ allowed: false, retryAfterMs: denied.retryAfterMs - wait });
      }
      clock.set(start + denied.retryAfterMs);
      expect(limiter.consume('key', { cost })).toMatchObject({ allowed: true, retryAfterMs: 0 });
      return true;
    });
  });

  it('so is that of a request with a limit of its own', () => {
    const limits = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 3 });
    check(fc.tuple(historyOf(onePolicy), limits), 600, ([history, [limit, ...before]]) => {
      const { limiter, clock } = live(history);
      for (const other of before) limiter.consume('key', { limit: other });
      const denied = limiter.consume('key', { limit });
      if (denied.allowed) return false;
      const start = clock.now();
      for (const wait of within(denied.retryAfterMs)) {
        clock.set(start + wait);
        expect(limiter.consume('key', { limit }).retryAfterMs).toBe(denied.retryAfterMs - wait);
      }
      clock.set(start + denied.retryAfterMs);
      expect(limiter.consume('key', { limit }).allowed).toBe(true);
      return true;
    });
  });

  it('at resetMs the whole capacity fits, and not a millisecond earlier', () => {
    check(historyOf(onePolicy), 600, (history) => {
      const { limiter, clock, capacity } = live(history);
      const { resetMs } = limiter.peek('key');
      const start = clock.now();
      for (const wait of within(resetMs)) {
        clock.set(start + wait);
        expect(limiter.peek('key', { cost: capacity })).toMatchObject({
          allowed: false,
          resetMs: resetMs - wait,
        });
      }
      clock.set(start + resetMs);
      const fresh = limiter.peek('key', { cost: capacity });
      expect(fresh).toMatchObject({ allowed: true, remaining: capacity, resetMs: 0 });
      return resetMs > 0;
    });
  });

  it('what fits goes on fitting as long as nothing else happens', () => {
    check(withCost(historyOf(somePolicies, 15)), 200, ([history, share]) => {
      const { limiter, clock, capacity } = live(history);
      const cost = costFrom(share, capacity);
      const start = clock.now();
      const fits = Array.from({ length: 500 }, (_, wait) => {
        clock.set(start + wait);
        return limiter.peek('key', { cost }).allowed;
      });
      const first = fits.indexOf(true);
      expect(fits.indexOf(false, first === -1 ? fits.length : first)).toBe(-1);
      return first > 0;
    });
  });
});

describe('What is said to be left is left', () => {
  it('remaining fits, and one more does not', () => {
    check(historyOf(onePolicy), 600, (history) => {
      const { limiter, capacity } = live(history);
      const { remaining } = limiter.peek('key');
      expect(limiter.peek('key', { cost: remaining }).allowed).toBe(true);
      if (remaining < Number.MAX_SAFE_INTEGER) {
        expect(limiter.peek('key', { cost: remaining + 1 }).allowed).toBe(false);
      }
      expect(limiter.consume('key', { cost: remaining })).toMatchObject({ allowed: true, remaining: 0 });
      return remaining > 0 && remaining < capacity;
    });
  });

  it('under several policies the least remaining of them fits, and one more does not', () => {
    check(historyOf(somePolicies), 400, (history) => {
      const { limiter } = live(history);
      const least = Math.min(...limiter.peek('key').policies.map((policy) => policy.remaining));
      expect(limiter.peek('key', { cost: least }).allowed).toBe(true);
      if (least < Number.MAX_SAFE_INTEGER) {
        expect(limiter.peek('key', { cost: least + 1 }).allowed).toBe(false);
      }
      return least > 0;
    });
  });
});

describe('A peek', () => {
  it('changes nothing: a life with peeks in it is the same life', () => {
    check(withCost(historyOf(somePolicies)), 300, ([history, share]) => {
      const quiet = live(history);
      const watched = live({ ...history, requests: [] });
      for (const { gap, cost } of history.requests) {
        watched.clock.advance(gap);
        watched.limiter.peek('key', { cost: costFrom(share, watched.capacity) });
        const left = Math.min(...watched.limiter.peek('key').policies.map((policy) => policy.remaining));
        watched.limiter.consume('key', { cost: cost === 'rest' ? left : cost });
        watched.limiter.peek('key', { cost: costFrom(share, watched.capacity) });
      }
      expect(watched.limiter.consume('key')).toEqual(quiet.limiter.consume('key'));
      return quiet.admissions.length > 0;
    });
  });

  it('says what the next consume says: allowed, the wait, the delay, and all of it where that is denied', () => {
    check(withCost(historyOf(somePolicies)), 500, ([history, share]) => {
      const { limiter, capacity } = live(history);
      const cost = costFrom(share, capacity);
      const peeked = limiter.peek('key', { cost });
      const consumed = limiter.consume('key', { cost });
      const { allowed, retryAfterMs, delayMs } = consumed;
      expect(peeked).toMatchObject({ allowed, retryAfterMs, delayMs });
      if (!allowed) expect(peeked).toEqual(consumed);
      return !allowed;
    });
  });
});
