import fc from 'fast-check';
import { keyOfAddress, parseIpv6Prefix } from './address.js';

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
    // IPv4-compatible (RFC 4291, 2.5.5.1) is no IPv4 address any more, in either notation.
    ['ip:::/56', '::1', '::', '::203.0.113.7', '::cb00:7107'],
    // Each address of 6to4 has a /48, and all clients of it would share one of /32.
    ['ip:2002:cb00:7107::/48', '2002:cb00:7107::1', '2002:cb00:7107:ffff::', '2002:cb00:7107:1:2:3:4:5'],
    ['ip:2002:cb00:7108::/48', '2002:cb00:7108::1'],
    // Where in these the IPv4 address stands, nobody but their network knows; and each has but one client.
    ['ip:64:ff9b:1::cb00:7107', '64:ff9b:1::203.0.113.7', '64:ff9b:1::cb00:7107'],
    ['ip:64:ff9b:1:cb00:71:700::', '64:ff9b:1:cb00:71:0700::'],
    // The first /64 alone is the one that RFC 6052 makes known.
    ['ip:64:ff9b:0:100::/56', '64:ff9b:0:1ff::203.0.113.7'],
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

  it('gives one key to every legal spelling of 100,000 addresses, by their bits', () => {
    fc.assert(
      fc.property(addresses, fc.nat(65_535), (parts, port) => {
        const right = keyOfBits(parts, 56);
        for (const [i, text] of spellings6(parts).entries()) {
          // Each form in one dress: all of them in all would be a hundred million.
          const dresses = [text, `[${text}]`, `[${text}]:${port}`, `${text}%eth0`, `[${text}%1]:${port}`];
          const spelling = dresses[(i + port) % dresses.length];
          const key = keyOfAddress(spelling);
          // Not by `expect`, which would take minutes for so many.
          if (key !== right) throw new Error(`${spelling} is ${key}, and should be ${right}.`);
        }
      }),
      { numRuns: 100_000 },
    );
  }, 300_000);

  it('cuts IPv6 to any prefix from 32 to 64, and nothing else', () => {
    const table = [
      ['2001:db8:abcd:1234:5678:9abc:def0:1', 32, 'ip:2001:db8::/32'],
      ['2001:db8:abcd:1234:5678:9abc:def0:1', 48, 'ip:2001:db8:abcd::/48'],
      ['2001:db8:abcd:1234:5678:9abc:def0:1', 56, 'ip:2001:db8:abcd:1200::/56'],
      ['2001:db8:abcd:1234:5678:9abc:def0:1', 60, 'ip:2001:db8:abcd:1230::/60'],
      ['2001:db8:abcd:1234:5678:9abc:def0:1', 64, 'ip:2001:db8:abcd:1234::/64'],
      ['2001:DB8:ABCD:12FF::1', 48, 'ip:2001:db8:abcd::/48'],
      ['2001:DB8:ABCD:12FF::1', 64, 'ip:2001:db8:abcd:12ff::/64'],
      ['2001:db8:ffff::', 33, 'ip:2001:db8:8000::/33'],
      ['2002:cb00:7107:1::', 64, 'ip:2002:cb00:7107::/48'],
      ['2002:cb00:7107:1::', 32, 'ip:2002:cb00:7107::/48'],
      ['203.0.113.7', 32, 'ip:203.0.113.7'],
      ['::ffff:cb00:7107', 32, 'ip:203.0.113.7'],
      ['64:ff9b::cb00:7107', 32, 'ip:203.0.113.7'],
    ] as const;
    for (const [address, prefix, key] of table) expect(keyOfAddress(address, prefix)).toBe(key);
    fc.assert(
      fc.property(addresses, fc.integer({ min: 32, max: 64 }), (parts, prefix) => {
        const [text] = spellings6(parts);
        expect(keyOfAddress(text, prefix)).toBe(keyOfBits(parts, prefix));
      }),
      { numRuns: 2000 },
    );
  });

  it('counts 10,000 addresses of one customer as one', () => {
    const keys = new Set<string | undefined>();
    for (let i = 0; i < 10_000; i++) {
      keys.add(keyOfAddress(`2001:db8:1:2:${i.toString(16)}::1`));
    }
    expect([...keys]).toEqual(['ip:2001:db8:1::/56']);
  });
});

describe('parseIpv6Prefix', () => {
  it('takes integers from 32 to 64, and 56 where there is none', () => {
    expect([undefined, 32, 56, 64].map(parseIpv6Prefix)).toEqual([56, 32, 56, 64]);
    for (const wrong of [31, 65, 48.5, Number.NaN, Infinity, '56', null, true, false, 64n]) {
      expect(() => parseIpv6Prefix(wrong)).toThrow(
        /^Expected `ipv6Prefix` to be an integer from 32 to 64, got .+\.$/,
      );
    }
  });
});

/** Eight groups of 16 bits: any, many of them zeros, and many in the ranges that have a meaning of their own. */
const groups = fc.oneof(fc.constant(0), fc.nat(0xff), fc.nat(0xffff), fc.nat(0xffff));
const starts = fc.constantFrom(
  ...Array<number[]>(24).fill([]),
  [0x2001, 0xdb8],
  [0x2002],
  [0, 0, 0, 0, 0, 0xffff],
  [0, 0, 0, 0, 0xffff, 0],
  [0, 0, 0, 0, 0, 0],
  [0x64, 0xff9b, 0, 0, 0, 0],
  [0x64, 0xff9b, 1],
  [0x64, 0xff9b],
);
const addresses = fc
  .tuple(starts, fc.array(groups, { minLength: 8, maxLength: 8 }))
  .map(([start, rest]) => [...start, ...rest].slice(0, 8));

/** Whether bits are of a range, which is written in full. */
function range(text: string): (bits: bigint) => boolean {
  const [start, length] = text.split('/');
  const shift = BigInt(128 - Number(length));
  const first = start.split(':').reduce((sum, part) => (sum << 16n) | BigInt(`0x${part}`), 0n) >> shift;
  return (bits) => bits >> shift === first;
}

const carriers = ['0:0:0:0:0:ffff:0:0/96', '0:0:0:0:ffff:0:0:0/96', '64:ff9b:0:0:0:0:0:0/96'].map(range);
const translated = range('64:ff9b:1:0:0:0:0:0/48');
const sixToFour = range('2002:0:0:0:0:0:0:0/16');

/** The key by definition: the bits as one number, compared with the ranges as the RFCs write them. */
function keyOfBits(parts: readonly number[], prefix: number): string {
  const bits = parts.reduce((sum, part) => (sum << 16n) | BigInt(part), 0n);
  if (carriers.some((inside) => inside(bits))) {
    return `ip:${[24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 0xffn).join('.')}`;
  }
  if (translated(bits)) return `ip:${canonical(bits)}`;
  const length = sixToFour(bits) ? 48 : prefix;
  const shift = BigInt(128 - length);
  return `ip:${canonical((bits >> shift) << shift)}/${length}`;
}

/** As RFC 5952 has it, which is also how URLs are written. */
function canonical(bits: bigint): string {
  const hex = bits.toString(16).padStart(32, '0').match(/.{4}/g) as string[];
  return new URL(`http://[${hex.join(':')}]/`).hostname.slice(1, -1);
}

/** All forms of RFC 4291, 2.2: in full, with any run of zeros left out, the end in decimals; small, capital, padded. */
function spellings6(parts: readonly number[]): string[] {
  const hex = parts.map((part) => part.toString(16));
  const last = parts.slice(6).flatMap((part) => [part >> 8, part & 0xff]);
  const endings = [hex, [...hex.slice(0, 6), last.join('.')]];
  const forms = endings.flatMap((all) => {
    const short = [all.join(':')];
    for (let from = 0; from < all.length; from++) {
      for (let to = from; all[to] === '0'; to++) {
        short.push(`${all.slice(0, from).join(':')}::${all.slice(to + 1).join(':')}`);
      }
    }
    return short;
  });
  const padded = (text: string) =>
    text.replace(/(?<![\da-f.])[\da-f]{1,4}(?![\da-f.])/g, (part) => part.padStart(4, '0'));
  return forms.map((form, i) => [form, form.toUpperCase(), padded(form)][i % 3]);
}
