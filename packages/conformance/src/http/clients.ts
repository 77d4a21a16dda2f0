/**
 * Who is asking.
 *
 * @module
 */

import { once } from 'node:events';
import { byHeader, clientIp } from '@sluice/core/http';
import { connect, decisionIn, send, sendLines, settle, statuses } from './client.js';
import type { AnyOptions, AnyRequest, Start } from './demo.js';
import { SlowStore } from './stores.js';

export function clients(start: Start): void {
  const from = (address: string) => ({ 'x-forwarded-for': address });

  it('takes the address, and believes nobody about it unless told to', async () => {
    // That it may not be meant is tested where each trial has a process.
    jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const store = new SlowStore();
    const app = await start({ limits: [{ limit: 2, window: '1h', store }] });
    expect(await statuses(app, 1, from('203.0.113.7'))).toEqual([200]);
    expect(await statuses(app, 1, from('203.0.113.8'))).toEqual([200]);
    expect(await statuses(app, 1, from('203.0.113.9'))).toEqual([429]);
    expect(new Set(store.ids)).toEqual(new Set(['ip:127.0.0.1']));
    jest.restoreAllMocks();
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

  const xff = (list: string) => `X-Forwarded-For: ${list}`;
  const heard: [what: string, lines: string[], key: string][] = [
    ['what the client made up before it', [xff('6.6.6.6, 203.0.113.7')], 'ip:203.0.113.7'],
    ['a line of the client before that of the proxy', [xff('6.6.6.6'), xff('203.0.113.7')], 'ip:203.0.113.7'],
    ['an empty line of the client before that of the proxy', [xff(''), xff('203.0.113.7')], 'ip:203.0.113.7'],
    ['no header', [], 'ip:127.0.0.1'],
    ['an empty header', [xff('')], 'ip:127.0.0.1'],
    ['empty headers', [xff(''), xff(' ')], 'ip:127.0.0.1'],
    ['nobody behind what is no address', [xff('203.0.113.7, _hidden')], 'ip:127.0.0.1'],
    ['nothing but colons', [xff(':'.repeat(10_000))], 'ip:127.0.0.1'],
    ['a zone without an address', [xff('%eth0')], 'ip:127.0.0.1'],
    ['6to4', [xff('2002:cb00:7107:1::1')], 'ip:2002:cb00:7107::/48'],
    ['NAT64', [xff('64:ff9b::cb00:7107')], 'ip:203.0.113.7'],
    ['Forwarded, which the framework does not read', ['Forwarded: for=203.0.113.7'], 'ip:127.0.0.1'],
  ];
  it.each(heard)('behind a trusted proxy, hears %s', async (_, lines, key) => {
    const store = new SlowStore();
    const app = await start({ limits: [{ limit: 1, window: '1h', store }], trustProxy: true });
    expect([await sendLines(app, lines), await sendLines(app, lines)]).toEqual([200, 429]);
    expect(store.ids).toEqual([key, key]);
    expect(app.errors).toEqual([]);
  });

  it('reads Forwarded of a trusted range by clientIp, whatever the framework trusts', async () => {
    for (const trustProxy of [false, true]) {
      const store = new SlowStore();
      const key = clientIp({ trust: ['loopback', '10.0.0.0/8'], header: 'forwarded' });
      const app = await start({ limits: [{ limit: 1, window: '1h', store, key }], trustProxy });
      const lines = [
        'X-Forwarded-For: 6.6.6.6',
        'Forwarded: for=6.6.6.6',
        'Forwarded: for="[2001:db8::7]:80", for=10.0.0.2',
      ];
      expect([await sendLines(app, lines), await sendLines(app, lines)]).toEqual([200, 429]);
      expect(await sendLines(app, ['Forwarded: for=203.0.113.7, for=unknown'])).toBe(200);
      expect(store.ids).toEqual(['ip:2001:db8::/56', 'ip:2001:db8::/56', 'ip:127.0.0.1']);
    }
  });

  it('cuts IPv6 to the prefix that it is told', async () => {
    const store = new SlowStore();
    const limits = [{ limit: 1, window: '1h', store, ipv6Prefix: 48 } as const];
    const app = await start({ limits, trustProxy: true });
    expect(await statuses(app, 1, from('2001:db8:1:2:3::4'))).toEqual([200]);
    expect(await statuses(app, 1, from('2001:db8:1:ffff::'))).toEqual([429]);
    expect(await statuses(app, 1, from('2001:db8:2::'))).toEqual([200]);
    expect(new Set(store.ids)).toEqual(new Set(['ip:2001:db8:1::/48', 'ip:2001:db8:2::/48']));
  });

  it('limits one who hung up while it was asked who it was, by the address that it had', async () => {
    let open = () => {};
    const gate = new Promise<boolean>((resolve) => {
      open = () => resolve(false);
    });
    let asked = () => {};
    const store = new SlowStore();
    const skip = (request: AnyRequest) => {
      if (!('x-gone' in request.headers)) return false;
      asked();
      return gate;
    };
    const app = await start({ limits: [{ limit: 1, window: '1h', store, skip }] });
    for (let i = 0; i < 2; i++) {
      const [known, accepted] = [
        new Promise<void>((resolve) => {
          asked = resolve;
        }),
        once(app.server, 'connection'),
      ];
      const client = await connect(app);
      client.write('GET / HTTP/1.1\r\nHost: localhost\r\nX-Gone: 1\r\n\r\n');
      const [[socket]] = await Promise.all([accepted, known]);
      const gone = once(socket, 'close');
      client.destroy();
      await gone;
    }
    const decided = store.asked();
    open();
    await decided;
    await settle();
    expect(store.ids).toEqual(['ip:127.0.0.1', 'ip:127.0.0.1']);
    expect(app.errors).toEqual([]);
    expect(await statuses(app, 1)).toEqual([429]);
  });

  it('never takes a user for an address, nor one odd key for another', async () => {
    const odd: Record<string, string> = {
      'an address': '127.0.0.1',
      'an IPv6 address': '::1',
      zero: '0',
      'the word null': 'null',
      'the word undefined': 'undefined',
      NUL: '\0',
      'a line break': '\r\n',
      composed: '\u00e9',
      decomposed: 'e\u0301',
      'one lone surrogate': '\ud800',
      'another lone surrogate': '\ud801',
      'the replacement character': '\ufffd',
      'a megabyte': 'x'.repeat(1_000_000),
      'a megabyte and one': 'x'.repeat(1_000_001),
      'the prototype': '__proto__',
      'the constructor': 'constructor',
      'a method': 'toString',
    };
    const key = ({ headers }: AnyRequest) => odd[headers['x-ask'] as string];
    const headers = ['legacy', 'draft-8'] as const;
    const app = await start({ limits: [{ limit: 1, window: '1h', key, headers }] });
    for (const ask of Object.keys(odd)) {
      expect([ask, await statuses(app, 2, { 'x-ask': ask })]).toEqual([ask, [200, 429]]);
    }
    expect(await statuses(app, 2)).toEqual([200, 429]);
    expect(app.errors).toEqual([]);
  });

  it('takes one frozen object of options for two limiters, each with a quota of its own', async () => {
    // As a caller without strict types would write it.
    const options = Object.freeze({
      limit: 2,
      window: '1h',
      store: undefined,
      key: undefined,
    }) as unknown as AnyOptions;
    const [one, other] = [await start({ limits: [options] }), await start({ limits: [options] })];
    for (const app of [one, other]) expect(await statuses(app, 3)).toEqual([200, 200, 429]);
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
      for (const user of ['alice', 'bob', '0', '__proto__', 'nobody']) {
        expect([user, await statuses(app, 2, { 'x-user': user })]).toEqual([user, [200, 429]]);
      }
      // No user, nobody and an empty name are the same: their address.
      expect(await statuses(app, 1)).toEqual([429]);
      expect(await statuses(app, 1, { 'x-user': 'empty' })).toEqual([429]);
    }
    expect(new Set(store.ids)).toEqual(new Set(['alice', 'bob', '0', '__proto__', 'ip:127.0.0.1']));
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
