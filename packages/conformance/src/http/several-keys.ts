/**
 * A request limited by its address, its user, and with all others, in one decision.
 *
 * @module
 */

import { createLimiter } from '@sluice/core';
import { decisionIn, limitHeaders, send, settle, statuses } from './client.js';
import type { AnyOptions, AnyRequest, Start } from './demo.js';
import { BrokenStore, SlowStore } from './stores.js';

const byUser = ({ headers }: AnyRequest) => headers['x-user'] as string | undefined;
const from = (address: string, user?: string) => ({
  'x-forwarded-for': address,
  ...(user === undefined ? {} : { 'x-user': user }),
});

/** A limit by each of three keys, of so many requests an hour. */
const by = (address: number, user: number, all: number, more: object = {}): AnyOptions =>
  ({
    limits: [
      { name: 'address', policies: [{ limit: address, window: '1h' }] },
      { name: 'user', key: byUser, policies: [{ limit: user, window: '1h' }] },
      { name: 'all', key: 'all', policies: [{ limit: all, window: '1h' }] },
    ],
    ...more,
  }) as AnyOptions;

export function severalKeys(start: Start): void {
  const trusting = (options: AnyOptions) => start({ limits: [options], trustProxy: true });

  it('all or none: who is denied by one of them takes nothing of the others', async () => {
    const app = await trusting(by(4, 2, 6));
    const [a, b] = ['203.0.113.1', '203.0.113.2'];
    expect(await statuses(app, 4, from(a, 'u'))).toEqual([200, 200, 429, 429]);
    // The user is used up, wherever it comes from; the address has two left, and all have four.
    expect(await statuses(app, 1, from(b, 'u'))).toEqual([429]);
    expect(await statuses(app, 3, from(a, 'v'))).toEqual([200, 200, 429]);
    expect(await statuses(app, 3, from(b, 'w'))).toEqual([200, 200, 429]);
    expect(await statuses(app, 1, from('203.0.113.3', 'x'))).toEqual([429]);
  });

  it.each([undefined, ''])('no user where there is none: %j', async (user) => {
    const app = await trusting(by(3, 1, 9));
    expect(await statuses(app, 4, from('203.0.113.1', user))).toEqual([200, 200, 200, 429]);
    const { policies } = decisionIn(await send(app, from('203.0.113.2', user)))!;
    expect(policies.map(({ name, remaining }) => [name, remaining])).toEqual([
      ['address', 2],
      // JSON has no Infinity.
      ['user', null],
      ['all', 5],
    ]);
  });

  it('nobody to whom no limit applies', async () => {
    const app = await start({
      limits: [{ limits: [{ name: 'user', key: byUser, policies: [{ limit: 1, window: '1h' }] }] }],
    });
    expect(await statuses(app, 3)).toEqual([200, 200, 200]);
    expect(await statuses(app, 2, { 'x-user': 'u' })).toEqual([200, 429]);
  });

  it('by keys that come later', async () => {
    const later = async (request: AnyRequest) => byUser(request);
    const app = await start({
      limits: [
        {
          limits: [
            { name: 'user', key: later, policies: [{ limit: 1, window: '1h' }] },
            { name: 'address', policies: [{ limit: 3, window: '1h' }] },
          ],
        },
      ],
    });
    expect(await statuses(app, 2, { 'x-user': 'u' })).toEqual([200, 429]);
    expect(await statuses(app, 3)).toEqual([200, 200, 429]);
  });

  it('and tells of each by its name', async () => {
    const name = 'api';
    const app = await start({
      limits: [
        {
          name,
          headers: ['legacy', 'draft-8'],
          limits: [
            {
              name: 'address',
              policies: [{ algorithm: 'token-bucket', limit: 3600, window: '1h', burst: 5 }],
            },
            {
              name: 'user',
              key: byUser,
              policies: [
                { name: 'hour', algorithm: 'token-bucket', limit: 60, window: '1m', burst: 2 },
                { name: 'day', algorithm: 'token-bucket', limit: 3600, window: '1h', burst: 9 },
              ],
            },
          ],
        },
      ],
    });
    expect(limitHeaders(await send(app))).toMatchObject({
      'x-ratelimit-limit': '5',
      'x-ratelimit-remaining': '4',
      'ratelimit-policy': '"api-address";q=5;w=5',
      ratelimit: '"api-address";r=4;t=1',
    });
    expect(limitHeaders(await send(app, { 'x-user': 'u' }))).toMatchObject({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '1',
      'ratelimit-policy': '"api-address";q=5;w=5, "api-user-hour";q=2;w=2, "api-user-day";q=9;w=9',
    });
    await send(app, { 'x-user': 'u' });
    const denied = await send(app, { 'x-user': 'u' });
    expect([denied.status, denied.headers['retry-after']]).toEqual([429, '1']);
    expect(JSON.parse(denied.text)).toMatchObject({ 'violated-policies': ['api-user-hour'], retryAfter: 1 });
  });

  it('says who is counted, of each by its own key', async () => {
    const app = await start({
      limits: [by(9, 9, 9, { headers: 'draft-8', partitionSecret: 'sixteen bytes or more' })],
    });
    const partitions = async (user: string) => {
      const { ratelimit } = limitHeaders(await send(app, { 'x-user': user }));
      return [...ratelimit.matchAll(/pk=:([^:]+):/g)].map(([, key]) => key);
    };
    const [one, other] = [await partitions('u'), await partitions('v')];
    expect(new Set(one).size).toBe(3);
    expect(one.map((key, i) => key === other[i])).toEqual([true, false, true]);
  });

  it('with limits, costs and counts of their own', async () => {
    const app = await start({
      limits: [
        by(9, 5, 9, {
          limit: ({ headers }: AnyRequest) => ({ user: headers['x-plan'] === 'pro' ? 7 : 5 }),
          cost: 2,
        }),
      ],
    });
    const left = async (headers: Readonly<Record<string, string>>) =>
      decisionIn(await send(app, headers))?.policies.map(({ remaining }) => remaining);
    expect(await left({ 'x-user': 'u' })).toEqual([7, 3, 7]);
    expect(await left({ 'x-user': 'u', 'x-plan': 'pro' })).toEqual([5, 3, 5]);
    expect(await left({ 'x-plan': 'pro' })).toEqual([3, null, 3]);

    const counting = await start({ limits: [by(2, 9, 9, { countOnly: 'failed' })] });
    for (let i = 0; i < 4; i++) {
      expect((await send(counting, { 'x-user': 'u' })).status).toBe(200);
      await settle();
    }
    await send(counting, { 'x-fail': '1' });
    await send(counting, { 'x-fail': '1' });
    await settle();
    expect((await send(counting)).status).toBe(429);
  });

  it('on a store that answers later, and on one that fails, by itself', async () => {
    const slow = new SlowStore();
    expect(await statuses(await start({ limits: [by(2, 9, 9, { store: slow })] }), 3)).toEqual([
      200, 200, 429,
    ]);
    expect(slow.ids).toContain('["ip:127.0.0.1",null,"all"]');
    const app = await start({ limits: [by(9, 1, 9, { store: new BrokenStore() })] });
    expect(await statuses(app, 2, { 'x-user': 'u' })).toEqual([200, 429]);
    expect(decisionIn(await send(app))).toMatchObject({ degraded: true });
  });

  const policies = [{ limit: 1, window: '1h' }] as const;
  it.each<[options: object, message: string]>([
    [
      { limits: [] },
      'Expected `limits` to be an array of at least one { name, policies }, got an array of 0.',
    ],
    [{ limits: 5 }, 'Expected `limits` to be an array of at least one { name, policies }, got 5.'],
    [{ limits: [{ policies }] }, 'Expected `limits[0].name` to be printable ASCII'],
    [
      { limits: [{ name: 'a', policies: [] }] },
      'Expected `limits[0].policies` to be an array of at least one',
    ],
    [{ limits: [{ name: 'a' }] }, 'Expected `limits[0].policies` to be an array of at least one'],
    [
      { limits: [{ name: 'a', policies: [{ limit: -1, window: '1h' }] }] },
      'Expected `limits[0].policies[0].limit` to be an integer >= 0 or Infinity, got -1.',
    ],
    [
      { limits: [{ name: 'a', key: 5, policies }] },
      'Expected `limits[0].key` to be a function of the request or a text, got 5.',
    ],
    [{ limits: [{ name: 'a', key: '', policies }] }, 'Expected `limits[0].key` to be a function'],
    [
      {
        limits: [
          { name: 'a', policies },
          { name: 'b', policies },
        ],
      },
      'Expected `key` in all but one of `limits`, which is by address then, got none in "a" and "b".',
    ],
    [
      {
        limits: [
          { name: 'a', policies },
          { name: 'a', key: 'x', policies },
        ],
      },
      'Expected the names in `limits` to differ, got "a" twice.',
    ],
    [{ limits: [{ name: 'a', policies }], policies }, 'Expected `policies` to be part of `limits`'],
    [{ limits: [{ name: 'a', policies }], key: byUser }, 'Expected `key` to be part of `limits`'],
    [{ limits: [{ name: 'a', policies }], window: '1h' }, 'Expected `window` to be part of `limits`'],
    [{ limits: [{ name: 'a', policies }], limit: 5 }, 'Expected `limit` to be part of `limits`'],
    [{ limits: [{ name: 'a', policies }], audit: { sample: 1 } }, 'Expected no `audit` beside `limits`'],
    [
      { limiter: createLimiter({ limits: [{ name: 'a', policies }] }) },
      'Expected `limiter` to take one key, got one of keys of several kinds',
    ],
  ])('never as %j', async (options, message) => {
    await expect(start({ limits: [options as AnyOptions] })).rejects.toThrow(message);
  });
}
