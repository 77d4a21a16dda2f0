import {
  createLimiter,
  type Decision,
  type Limiter,
  type ManualClock,
  manualClock,
  type Policy,
} from '@sluice/core';
import { settings } from '../settings.js';
import { allowed, type Suite } from './suite.js';

const MINUTE = 60_000;

const fixed = (limit: number, more: object = {}): Policy => ({
  algorithm: 'fixed-window',
  limit,
  window: MINUTE,
  ...more,
});

type Kind = 'address' | 'user' | 'all';
type Keys = { readonly [Name in Kind]?: string | undefined };
type Limits = Readonly<Record<Kind, readonly Policy[]>>;

/** One decision by keys of several kinds. */
export function severalKeys(suite: Suite): void {
  const open = (limits: Partial<Limits>, at = 0): { limiter: Limiter<boolean, Keys>; clock: ManualClock } => {
    const clock = manualClock(at);
    const limiter = createLimiter({
      name: suite.newName(),
      limits: Object.entries(limits).map(([name, policies]) => ({ name: name as Kind, policies })),
      store: suite.makeStore(),
      clock,
      onStoreError: 'throw',
    });
    return { limiter, clock };
  };
  const three = (address = 5, user = 3, all = 8) =>
    open({ address: [fixed(address)], user: [fixed(user)], all: [fixed(all)] });
  const left = ({ policies }: Decision) => policies.map(({ remaining }) => remaining);
  const times = async (count: number, limiter: Limiter<boolean, Keys>, keys: Keys) => {
    const decisions: Decision[] = [];
    for (let i = 0; i < count; i++) decisions.push(await limiter.consume(keys));
    return decisions;
  };

  describe('Blocks of keys of several kinds', () => {
    it('by hand are of each key that is given, and deny every request with one of them', async () => {
      const { limiter, clock } = three();
      await limiter.block({ address: 'a' }, 1000);
      const blocked = await limiter.consume({ address: 'a', user: 'u', all: 'all' });
      expect(blocked).toMatchObject({ allowed: false, policy: 'address', retryAfterMs: 1000 });
      expect(blocked.block).toEqual({ policy: 'address', by: 'hand' });
      expect(left(blocked)).toEqual([0, 3, 8]);
      expect(await limiter.consume({ user: 'u', all: 'all' })).toMatchObject({ allowed: true });
      await limiter.block({ user: 'u', all: 'all' }, Infinity);
      await limiter.unblock({ address: 'a', all: 'all' });
      const still = await limiter.consume({ address: 'a', user: 'u', all: 'all' });
      expect(still.block).toEqual({ policy: 'user', by: 'hand' });
      expect(await limiter.consume({ address: 'a', all: 'all' })).toMatchObject({ allowed: true });
      clock.set(MINUTE);
      await limiter.reset({ user: 'u' });
      expect(await limiter.consume({ address: 'a', user: 'u', all: 'all' })).toMatchObject({ allowed: true });
      await expect((async () => limiter.block({ nobody: 'a' } as never, 1))()).rejects.toThrow(
        'Expected `keys`',
      );
    });

    it('by a policy are of the key that keeps being denied, and no strike is counted meanwhile', async () => {
      const block = { after: 2, for: 5 * MINUTE } as const;
      const { limiter, clock } = open({
        address: [fixed(9, { countDenied: true, block })],
        user: [fixed(1, { block })],
      });
      const both = { address: 'a', user: 'u' };
      // The second is a strike, the third begins the block, the others change nothing. Those two count for the address.
      const decisions = await times(6, limiter, both);
      expect(decisions[1]).not.toHaveProperty('block');
      for (const decision of decisions.slice(2)) {
        expect(decision).toMatchObject({ allowed: false, policy: 'user', retryAfterMs: 5 * MINUTE });
        expect(decision.block).toEqual({ policy: 'user', by: 'policy' });
        expect(left(decision)).toEqual([6, 0]);
      }
      expect(await limiter.consume({ address: 'a' })).toMatchObject({ allowed: true, remaining: 5 });
      clock.set(5 * MINUTE);
      expect(await limiter.consume(both)).toMatchObject({ allowed: true });
    });
  });

  describe('Keys of several kinds', () => {
    it('each have a quota of their own, and each request takes of all', async () => {
      const { limiter } = three();
      expect(await limiter.consume({ address: 'a', user: 'u', all: 'all' })).toMatchObject({
        allowed: true,
        policy: 'user',
        limit: 3,
        remaining: 2,
        retryAfterMs: 0,
        resetMs: MINUTE,
        delayMs: 0,
        cost: 1,
        policies: [
          { name: 'address', limit: 5, remaining: 4, resetMs: MINUTE, windowMs: MINUTE, allowed: true },
          { name: 'user', limit: 3, remaining: 2 },
          { name: 'all', limit: 8, remaining: 7 },
        ],
      });
      expect(left(await limiter.consume({ address: 'b', user: 'u', all: 'all' }))).toEqual([4, 1, 6]);
      expect(left(await limiter.consume({ address: 'a', user: 'v', all: 'all' }))).toEqual([3, 2, 5]);
    });

    it.each(settings)('are charged all or none, $title', async ({ policy }) => {
      const { limiter } = open({ address: [policy(5, MINUTE)], user: [policy(2, MINUTE)], all: [fixed(9)] });
      await times(2, limiter, { address: 'a', user: 'u', all: 'all' });
      for (let i = 0; i < 3; i++) {
        const denied = await limiter.consume({ address: 'a', user: 'u', all: 'all' });
        expect(denied).toMatchObject({ allowed: false, policy: 'user', limit: 2, delayMs: 0 });
        expect(denied.policies).toMatchObject([
          { allowed: true, remaining: 3, retryAfterMs: 0 },
          { allowed: false, remaining: 0 },
          { allowed: true, remaining: 7, retryAfterMs: 0, resetMs: MINUTE },
        ]);
        expect(denied.retryAfterMs).toBe(denied.policies[1].retryAfterMs);
      }
      // As nothing was charged, others have all that is left.
      expect(allowed(await times(4, limiter, { address: 'a', all: 'all' }))).toBe(3);
    });

    it.each([0, 1, 2])('are denied by the one at place %i, and the others go on', async (place) => {
      const limits = [9, 9, 9].map((limit, i) => (i === place ? 1 : limit));
      const { limiter } = three(...(limits as [number, number, number]));
      const keys = { address: 'a', user: 'u', all: 'all' };
      const kinds = ['address', 'user', 'all'] as const;
      const [, denied] = await times(2, limiter, keys);
      expect(denied).toMatchObject({ allowed: false, policy: kinds[place], retryAfterMs: MINUTE });
      expect(left(denied)).toEqual([8, 8, 8].map((count, i) => (i === place ? 0 : count)));
      expect(left(await limiter.consume({ ...keys, [kinds[place]]: 'other' }))).toEqual(
        [7, 7, 7].map((count, i) => (i === place ? 0 : count)),
      );
    });

    it('take what is left of a kind that a request does not have', async () => {
      const { limiter } = three();
      const decision = await limiter.consume({ address: 'a', all: 'all' });
      expect(decision.policies).toEqual([
        expect.objectContaining({ name: 'address', remaining: 4 }),
        {
          name: 'user',
          limit: Infinity,
          windowMs: MINUTE,
          remaining: Infinity,
          retryAfterMs: 0,
          resetMs: 0,
          allowed: true,
        },
        expect.objectContaining({ name: 'all', remaining: 7 }),
      ]);
      expect(decision).toMatchObject({ policy: 'address', remaining: 4 });
      expect(left(await limiter.consume({ user: 'u' }))).toEqual([Infinity, 2, Infinity]);
      expect(left(await limiter.consume({ address: undefined, user: 'u' }))).toEqual([Infinity, 1, Infinity]);
      expect(left(await limiter.peek({ address: 'a', user: 'u', all: 'all' }))).toEqual([4, 1, 7]);
    });

    it('are not mixed up: the same text of another kind is another key', async () => {
      const { limiter } = three();
      await limiter.consume({ address: 'x', user: 'x', all: 'x' }, { cost: 2 });
      await limiter.consume({ address: 'y', user: 'x' });
      expect(left(await limiter.peek({ address: 'x', user: 'x', all: 'x' }))).toEqual([3, 0, 6]);
      expect(left(await limiter.peek({ address: 'y', user: 'y', all: 'y' }))).toEqual([4, 3, 8]);
    });

    it.each([
      '',
      '"',
      ',',
      '","',
      'null',
      '["a","b"]',
      'a:b',
      '{a}',
      '\\',
      '\ud800',
      '\0',
      '#0123456789012345678901',
      'x'.repeat(1000),
    ])('may be any text: %j', async (text) => {
      const { limiter } = three();
      await limiter.consume({ address: text, user: 'u', all: text }, { cost: 2 });
      await limiter.consume({ address: 'a', user: text });
      expect(left(await limiter.peek({ address: text, user: text, all: text }))).toEqual([3, 2, 6]);
      expect(left(await limiter.peek({ address: `${text}x`, user: `${text}x`, all: `${text}x` }))).toEqual([
        5, 3, 8,
      ]);
      await limiter.reset({ address: text });
      expect(left(await limiter.peek({ address: text, user: text, all: text }))).toEqual([5, 2, 6]);
    });

    it('name their policies by the kind, and by the policy where there are several or it has a name', async () => {
      const { limiter } = open({
        address: [fixed(5), fixed(6)],
        user: [fixed(3, { name: 'minute' }), fixed(30, { name: 'hour' })],
        all: [fixed(8)],
      });
      expect(limiter.policies.map(({ name }) => name)).toEqual([
        'address-default',
        'address-2',
        'user-minute',
        'user-hour',
        'all',
      ]);
      await limiter.consume({ address: 'a', user: 'u', all: 'all' });
      expect(left(await limiter.consume({ address: 'a', user: 'u', all: 'all' }))).toEqual([3, 4, 1, 28, 6]);
      expect(left(await limiter.peek({ user: 'u' }))).toEqual([Infinity, Infinity, 1, 28, Infinity]);
    });

    it('are peeked at without a charge, and the answer is what consume would say', async () => {
      const { limiter } = three(5, 1, 8);
      const keys = { address: 'a', user: 'u', all: 'all' };
      expect(await limiter.peek(keys)).toMatchObject({ allowed: true, policy: 'user', remaining: 1 });
      expect(left(await limiter.consume(keys))).toEqual([4, 0, 7]);
      const peeked = await limiter.peek(keys);
      expect(peeked).toMatchObject({ allowed: false, policy: 'user', retryAfterMs: MINUTE });
      expect({ ...peeked }).toEqual({ ...(await limiter.consume(keys)) });
    });

    it('are reset one by one', async () => {
      const { limiter } = three();
      const keys = { address: 'a', user: 'u', all: 'all' };
      await times(3, limiter, keys);
      await limiter.reset({ user: 'u' });
      expect(left(await limiter.peek(keys))).toEqual([2, 3, 5]);
      await limiter.reset({ address: 'a', all: 'all' });
      expect(left(await limiter.peek(keys))).toEqual([5, 3, 8]);
    });

    it('are given back together, and what was not charged stays', async () => {
      const { limiter } = three();
      const keys = { address: 'a', user: 'u', all: 'all' };
      const decision = await limiter.consume(keys, { cost: 3 });
      const without = await limiter.consume({ address: 'a', all: 'all' }, { cost: 2 });
      await limiter.refund(decision, 2);
      expect(left(await limiter.peek(keys))).toEqual([2, 2, 5]);
      await limiter.refund(without);
      expect(left(await limiter.peek(keys))).toEqual([4, 2, 7]);
      await limiter.refund(decision);
      expect(left(await limiter.peek(keys))).toEqual([5, 3, 8]);
    });

    it('settle together', async () => {
      const { limiter } = three();
      const keys = { address: 'a', user: 'u', all: 'all' };
      const decision = await limiter.consume(keys);
      await limiter.settle(decision, 2);
      expect(left(await limiter.peek(keys))).toEqual([3, 1, 6]);
      await decision.settle(6);
      expect(left(await limiter.peek(keys))).toEqual([0, 0, 2]);
      await limiter.settle(decision, 0);
      expect(left(await limiter.peek(keys))).toEqual([5, 3, 8]);
    });

    it('count denied requests where their policy does, and not where another would', async () => {
      const { limiter } = open({
        address: [fixed(5, { countDenied: true })],
        user: [fixed(1)],
        all: [fixed(9, { name: 'counted', countDenied: true }), fixed(9)],
      });
      const keys = { address: 'a', user: 'u', all: 'all' };
      const decisions = await times(6, limiter, keys);
      expect(decisions.map(left)).toEqual([
        [4, 0, 8, 8],
        [3, 0, 7, 8],
        [2, 0, 6, 8],
        [1, 0, 5, 8],
        [0, 0, 4, 8],
        [0, 0, 3, 8],
      ]);
      // That it was counted, the last of those that fit has used up.
      expect(decisions[3].policies[0]).toMatchObject({ allowed: true, retryAfterMs: 0 });
      expect(decisions[4].policies[0]).toMatchObject({ allowed: true, retryAfterMs: MINUTE });
      expect(decisions[5].policies[0]).toMatchObject({ allowed: false, retryAfterMs: MINUTE });
      expect(await limiter.peek(keys)).toMatchObject({ allowed: false });
      expect(left(await limiter.peek(keys))).toEqual([0, 0, 3, 8]);
    });

    it('are judged by the limits that a request brings, by the names of policies', async () => {
      const { limiter } = three();
      const keys = { address: 'a', user: 'u', all: 'all' };
      await times(2, limiter, keys);
      expect(await limiter.consume(keys, { limit: { user: 2 } })).toMatchObject({
        allowed: false,
        policy: 'user',
        limit: 2,
      });
      expect(left(await limiter.consume(keys, { limit: { user: 10, address: 20 } }))).toEqual([17, 7, 5]);
      expect(left(await limiter.consume({ address: 'a' }, { limit: { user: 0 } }))).toEqual([
        1,
        Infinity,
        Infinity,
      ]);
      expect(left(await limiter.consume(keys, { limit: { user: Infinity } }))).toEqual([0, Infinity, 4]);
    });

    it('hold a request as long as the longest of their queues', async () => {
      const queue = (limit: number): Policy => ({ algorithm: 'leaky-bucket', limit, window: 1000 });
      const { limiter } = open({ address: [queue(10)], user: [queue(5)], all: [fixed(3)] });
      const keys = { address: 'a', user: 'u', all: 'all' };
      const decisions = await times(4, limiter, keys);
      expect(decisions.map(({ delayMs }) => delayMs)).toEqual([0, 200, 400, 0]);
      expect((await limiter.consume({ address: 'a' })).delayMs).toBe(300);
    });

    it('take other numbers, and what was used stays used', async () => {
      const { limiter } = three();
      const keys = { address: 'a', user: 'u', all: 'all' };
      await times(2, limiter, keys);
      limiter.update({
        limits: [
          { name: 'address', policies: [fixed(10)] },
          { name: 'user', policies: [fixed(1)] },
          { name: 'all', policies: [fixed(8)] },
        ],
      });
      expect(limiter.policies.map(({ limit }) => limit)).toEqual([10, 1, 8]);
      expect(await limiter.consume(keys)).toMatchObject({ allowed: false, policy: 'user' });
      expect(left(await limiter.consume({ address: 'a', all: 'all' }))).toEqual([7, Infinity, 5]);
      const other = () => limiter.update({ limits: [{ name: 'address', policies: [fixed(10)] }] });
      expect(other).toThrow(
        'the kinds of keys that the limiter has, in their order, which are address, user, all',
      );
    });

    it('of cost 0 change nothing, and of a cost above a capacity never fit', async () => {
      const { limiter } = three();
      const keys = { address: 'a', user: 'u', all: 'all' };
      expect(left(await limiter.consume(keys, { cost: 0 }))).toEqual([5, 3, 8]);
      expect(await limiter.consume(keys, { cost: 4 })).toMatchObject({
        allowed: false,
        policy: 'user',
        retryAfterMs: Infinity,
      });
      expect(left(await limiter.peek(keys))).toEqual([5, 3, 8]);
    });

    it('never admit more than any limit, however many come at once', async () => {
      const { limiter } = three(30, 20, 40);
      const users = ['u', 'v', 'w'];
      const works = Array.from({ length: 150 }, (_, i) => {
        const user = users[i % 3];
        return Promise.resolve(limiter.consume({ address: 'a', user, all: 'all' })).then((decision) => ({
          user,
          decision,
        }));
      });
      const decisions = await Promise.all(works);
      const admitted = decisions.filter(({ decision }) => decision.allowed);
      expect(admitted.length).toBeLessThanOrEqual(30);
      for (const user of users) {
        expect(admitted.filter((one) => one.user === user).length).toBeLessThanOrEqual(20);
      }
      // And what was charged is what was admitted.
      const [address, , all] = left(await limiter.peek({ address: 'a', user: 'u', all: 'all' }));
      expect([address, all]).toEqual([30 - admitted.length, 40 - admitted.length]);
      for (const user of users) {
        const used = admitted.filter((one) => one.user === user).length;
        expect(left(await limiter.peek({ user }))[1]).toBe(20 - used);
      }
      // What they kept from each other for a moment is there for those who come later.
      while ((await limiter.consume({ address: 'a', user: 'z', all: 'all' })).allowed);
      expect(left(await limiter.peek({ address: 'a', all: 'all' }))[0]).toBe(
        Math.max(0, 30 - admitted.length - 20),
      );
    });
  });

  describe('Keys of several kinds, wrong,', () => {
    it.each<[title: string, keys: unknown, message: string]>([
      ['a text', 'a', 'Expected `keys` to be an object of keys by their kind (address, user, all), got "a".'],
      [
        'nothing',
        undefined,
        'Expected `keys` to be an object of keys by their kind (address, user, all), got undefined.',
      ],
      ['an array', ['a'], 'an object of keys by their kind (address, user, all), got an array of 1.'],
      ['none', {}, 'Expected `keys` to have a key of at least one kind (address, user, all), got none.'],
      ['none but undefined', { user: undefined }, 'got none.'],
      [
        'an unknown kind',
        { ip: 'a' },
        'Expected `keys` to be keys by their kind (address, user, all), got one of the kind "ip".',
      ],
      ['a number', { user: 42 }, 'Expected `keys.user` to be a string, got 42.'],
      ['null', { address: 'a', user: null }, 'Expected `keys.user` to be a string, got null.'],
    ])('%s is refused, and charges nothing', async (_, keys, message) => {
      const { limiter } = three();
      for (const method of ['consume', 'peek', 'reset'] as const) {
        const work = async () => limiter[method](keys as Keys);
        await expect(work()).rejects.toMatchObject({ code: 'ERR_SLUICE_ARGUMENT' });
        await expect(work()).rejects.toThrow(message);
      }
      expect(left(await limiter.peek({ address: 'a', user: 'u', all: 'all' }))).toEqual([5, 3, 8]);
    });
  });
}
