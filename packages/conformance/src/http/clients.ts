/**
 * Who is asking.
 *
 * @module
 */

import { byHeader } from '@sluice/core/http';
import { decisionIn, send, statuses } from './client.js';
import type { AnyRequest, Start } from './demo.js';
import { SlowStore } from './stores.js';

export function clients(start: Start): void {
  const from = (address: string) => ({ 'x-forwarded-for': address });

  it('takes the address, and believes nobody about it unless told to', async () => {
    const store = new SlowStore();
    const app = await start({ limits: [{ limit: 2, window: '1h', store }] });
    expect(await statuses(app, 1, from('203.0.113.7'))).toEqual([200]);
    expect(await statuses(app, 1, from('203.0.113.8'))).toEqual([200]);
    expect(await statuses(app, 1, from('203.0.113.9'))).toEqual([429]);
    expect(new Set(store.ids)).toEqual(new Set(['ip:127.0.0.1']));
  });

  it('takes the address of the framework where it trusts the proxy', async () => {
    const store = new SlowStore();
    const app = await start({ limits: [{ limit: 1, window: '1h', store }], trustProxy: true });
    expect(await statuses(app, 2, from('203.0.113.7'))).toEqual([200, 429]);
    expect(await statuses(app, 2, from('203.0.113.8'))).toEqual([200, 429]);
    expect(await statuses(app, 2)).toEqual([200, 429]);
    expect(new Set(store.ids)).toEqual(new Set(['ip:203.0.113.7', 'ip:203.0.113.8', 'ip:127.0.0.1']));
  });

  it('knows one client in every spelling of its address', async () => {
    const same = {
      'ip:203.0.113.7': ['203.0.113.7', '203.0.113.7:51234', '::ffff:203.0.113.7', '::ffff:cb00:7107'],
      'ip:2001:db8:abcd:1200::/56': [
        '2001:db8:abcd:1234:5678:9abc:def0:1',
        '2001:DB8:ABCD:12FF::1',
        '[2001:db8:abcd:1200::7]:443',
        '2001:db8:abcd:12a0::%eth0',
      ],
      'ip:2001:db8:abcd:1300::/56': ['2001:db8:abcd:1300::1'],
      // Not behind what is no address: then the proxy itself is asking.
      'ip:127.0.0.1': ['unknown', '_hidden', '203.0.113.007', '::ffff:999.1.1.1'],
    };
    const store = new SlowStore();
    const app = await start({ limits: [{ limit: 4, window: '1h', store }], trustProxy: true });
    for (const [id, spellings] of Object.entries(same)) {
      let left = 4;
      for (const spelling of spellings) {
        left -= 1;
        const reply = await send(app, from(spelling));
        expect([spelling, store.ids.at(-1)]).toEqual([spelling, id]);
        expect(reply.headers['x-ratelimit-remaining']).toBe(String(left));
      }
    }
  });

  it('takes the key that a function returns, and the address where it returns none', async () => {
    const store = new SlowStore();
    for (const later of [false, true]) {
      const key = (request: AnyRequest) => {
        const user = request.headers['x-user'] as string | undefined;
        const own = user === 'nobody' ? null : user === 'empty' ? '' : user;
        return later ? Promise.resolve(own) : own;
      };
      const app = await start({ limits: [{ name: `later-${later}`, limit: 1, window: '1h', store, key }] });
      for (const user of ['alice', 'bob', '0', 'empty', '__proto__', 'nobody']) {
        expect([user, await statuses(app, 2, { 'x-user': user })]).toEqual([user, [200, 429]]);
      }
      // No user and nobody are the same: their address.
      expect(await statuses(app, 1)).toEqual([429]);
    }
    expect(new Set(store.ids)).toEqual(new Set(['alice', 'bob', '0', '', '__proto__', 'ip:127.0.0.1']));
  });

  it('takes a header for the key without showing it to the store', async () => {
    const store = new SlowStore();
    const key = byHeader('X-API-Key');
    const app = await start({ limits: [{ limit: 1, window: '1h', store, key }] });
    expect(await statuses(app, 2, { 'x-api-key': 'secret-1' })).toEqual([200, 429]);
    expect(await statuses(app, 2, { 'x-api-key': 'secret-2' })).toEqual([200, 429]);
    expect(await statuses(app, 2)).toEqual([200, 429]);
    const [one, two, none, ...more] = new Set(store.ids);
    expect(more).toEqual([]);
    for (const id of [one, two]) {
      expect(id).toMatch(/^x-api-key:[\w-]{22}$/);
      expect(id).not.toContain('secret');
    }
    expect(none).toBe('ip:127.0.0.1');
  });

  it('puts the decision on the request', async () => {
    const limit = { limit: 3, window: '1h', algorithm: 'token-bucket', burst: 2 } as const;
    const app = await start({ limits: [limit] });
    expect(decisionIn(await send(app))).toEqual({
      allowed: true,
      degraded: false,
      policy: 'default',
      limit: 2,
      remaining: 1,
      retryAfterMs: 0,
      // One token of three per hour.
      resetMs: 1_200_000,
      delayMs: 0,
      cost: 1,
      policies: [
        {
          name: 'default',
          limit: 2,
          windowMs: 2_400_000,
          remaining: 1,
          retryAfterMs: 0,
          resetMs: 1_200_000,
          allowed: true,
        },
      ],
    });
  });
}
