import fc from 'fast-check';
import { byHeader, keyOfAddress } from './client-key.js';

describe('keyOfAddress', () => {
  const spellings: [key: string, ...addresses: string[]][] = [
    [
      'ip:203.0.113.7',
      '203.0.113.7',
      '203.0.113.7:51234',
      '::ffff:203.0.113.7',
      '::ffff:cb00:7107',
      '::FFFF:CB00:7107',
      '0:0:0:0:0:ffff:cb00:7107',
      '0000:0000:0000:0000:0000:ffff:203.0.113.7',
      '[::ffff:203.0.113.7]:443',
      '::ffff:203.0.113.7%eth0',
      // Translated by a NAT64 or at the edge of a network that has no IPv4.
      '64:ff9b::203.0.113.7',
      '64:ff9b::cb00:7107',
      '::ffff:0:203.0.113.7',
    ],
    ['ip:1.2.3.4', '1.2.3.4', '1.2.3.4:50001', '1.2.3.4:50002'],
    [
      'ip:2001:db8:abcd:1200::/56',
      '2001:db8:abcd:1234:5678:9abc:def0:1',
      '2001:DB8:ABCD:12FF::1',
      '2001:0db8:abcd:1200:0000:0000:0000:0000',
      '[2001:db8:abcd:1200::1]',
      '[2001:DB8:abcd:12ff::7]:443',
      '2001:db8:abcd:12a0::1%eth0',
    ],
    ['ip:2001:db8:abcd:1300::/56', '2001:db8:abcd:1300::', '2001:db8:abcd:13ff:ffff:ffff:ffff:ffff'],
    ['ip:2001:db8:abcd:1100::/56', '2001:db8:abcd:11ff:ffff:ffff:ffff:ffff'],
    // No IPv4 address, though it is written like one.
    ['ip:2001:db8::/56', '2001:db8::1', '2001:db8::2', '2001:db8::1.2.3.4', '[2001:DB8::7]:443'],
    ['ip:fe80::/56', 'fe80::1', 'fe80::1%eth0', 'fe80::1%eth0.100', '[fe80::1%eth0]:80'],
    ['ip:::/56', '::1', '::'],
  ];
  it.each(spellings)('finds %s', (key, ...addresses) => {
    for (const address of addresses) expect([address, keyOfAddress(address)]).toEqual([address, key]);
  });

  const none = [
    undefined,
    '',
    ' ',
    'unknown',
    'undefined',
    '_hidden',
    '203.0.113.007',
    '203.0.113.7.',
    '203.0.113.256',
    '203.0.113.7:',
    '203.0.113.7:http',
    '999.1.1.1:80',
    '::ffff:999.1.1.1',
    '2001:db8:',
    '2001:db8::1::2',
    '[2001:db8::1',
    '[]',
    '[203.0.113.7',
    '%eth0',
    '1.2.3.4, 5.6.7.8',
    ':'.repeat(10_000),
    `fe80::1%${'z'.repeat(200)}`,
  ];
  it.each(none)('finds none in %j', (address) => {
    expect(keyOfAddress(address)).toBeUndefined();
  });

  it('takes whatever comes, and keeps the key short', () => {
    const odd = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom(...'0123456789abcdef:.[]%') }),
      fc.ipV4Extended(),
      fc.ipV6().map((address) => `${address}%${address}`),
    );
    fc.assert(
      fc.property(odd, (address) => {
        const key = keyOfAddress(address);
        expect(key === undefined || (key.startsWith('ip:') && key.length <= 30)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('keeps IPv4 clients apart in every notation', () => {
    const bytes = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255));
    const hex = ([a, b, c, d]: number[]) => `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
    fc.assert(
      fc.property(bytes, fc.nat(65_535), (address, port) => {
        const dotted = address.join('.');
        for (const spelling of [
          dotted,
          `${dotted}:${port}`,
          `::ffff:${dotted}`,
          `::ffff:${hex(address)}`,
          `[::ffff:${hex(address)}]:${port}`,
        ]) {
          expect(keyOfAddress(spelling)).toBe(`ip:${dotted}`);
        }
      }),
    );
  });

  it('gives one key to all addresses of a /56 and another to the next', () => {
    const words = fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 });
    const written = (parts: readonly number[]) => parts.map((part) => part.toString(16)).join(':');
    fc.assert(
      fc.property(words, words, fc.nat(127), ([, b, c, d, ...rest], other, flipped) => {
        // A public address, so that no range with a meaning of its own gets in the way.
        const one = [0x2001, b | 0x200, c, d, ...rest];
        const same = [...one.slice(0, 3), (d & 0xff00) | (other[3] & 0xff), ...other.slice(4)];
        expect(keyOfAddress(written(same))).toBe(keyOfAddress(written(one)));
        const bit = flipped % 40;
        const neighbour = [...one];
        // One of the bits 16 to 55: the prefix, but for the word that keeps it public.
        neighbour[1 + Math.floor(bit / 16)] ^= 1 << (15 - (bit % 16));
        expect(keyOfAddress(written(neighbour))).not.toBe(keyOfAddress(written(one)));
      }),
    );
  });
});

describe('byHeader', () => {
  const key = byHeader('X-API-Key');

  it('takes the value of a header, hashed', () => {
    const one = key({ headers: { 'x-api-key': 'secret' } });
    expect(one).toMatch(/^x-api-key:[\w-]{22}$/);
    // The first 128 bits of the SHA-256 of the text in UTF-16, little-endian.
    expect(one).toBe('x-api-key:s6jeuSg7FUrj9WBqMj0GbQ');
    expect(key({ headers: { 'x-api-key': 'secret ' } })).not.toBe(one);
    expect(byHeader('x-other')({ headers: { 'x-other': 'secret' } })).not.toBe(one);
  });

  it('returns nothing where there is no such header', () => {
    expect(key({ headers: {} })).toBeUndefined();
    expect(key({ headers: { 'x-other': 'secret' } })).toBeUndefined();
    expect(byHeader('__proto__')({ headers: {} })).toBeUndefined();
    expect(byHeader('constructor')({ headers: {} })).toBeUndefined();
  });

  it('takes a header that came more than once, and one that is as long as it may be', () => {
    const both = byHeader('set-cookie')({ headers: { 'set-cookie': ['a', 'b'] } });
    expect(both).toMatch(/^set-cookie:[\w-]{22}$/);
    expect(key({ headers: { 'x-api-key': 'x'.repeat(100_000) } })).toHaveLength('x-api-key:'.length + 22);
  });

  it('takes a header that is sent empty for one that is not sent', () => {
    expect(byHeader('x-api-key')({ headers: { 'x-api-key': '' } })).toBeUndefined();
  });

  it('refuses what is no name of a header', () => {
    for (const name of ['', 'x api', 'x:key', 'ä', 5, undefined]) {
      expect(() => byHeader(name as string)).toThrow(
        /^Expected `name` to be the name of a header, got .+\.$/,
      );
    }
  });
});
