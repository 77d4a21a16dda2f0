import { type ClientIpOptions, clientIp } from './client-ip.js';

const from = (peer: string | undefined, headers: Record<string, string>) => ({
  socket: { remoteAddress: peer },
  headers,
});

/** The key where `10.0.0.0/8` is trusted, by X-Forwarded-For and by Forwarded. */
const byList = clientIp({ trust: ['10.0.0.0/8'] });
const byForwarded = clientIp({ trust: ['10.0.0.0/8'], header: 'Forwarded' });
const listed = (peer: string | undefined, list: string) => byList(from(peer, { 'x-forwarded-for': list }));
const forwarded = (header: string) => byForwarded(from('10.0.0.1', { forwarded: header }));

describe('clientIp', () => {
  const table: [peer: string, list: string, key: string][] = [
    ['198.51.100.9', '1.2.3.4', 'ip:198.51.100.9'],
    ['10.0.0.1', '203.0.113.7', 'ip:203.0.113.7'],
    ['10.0.0.1', '6.6.6.6, 203.0.113.7', 'ip:203.0.113.7'],
    ['10.0.0.1', '6.6.6.6, 203.0.113.7, 10.0.0.2', 'ip:203.0.113.7'],
    ['10.0.0.1', '6.6.6.6,203.0.113.7\t,\t10.0.0.2', 'ip:203.0.113.7'],
    ['10.0.0.1', '203.0.113.7:51234', 'ip:203.0.113.7'],
    // Also where the port is that of a proxy: it is trusted all the same.
    ['10.0.0.1', '203.0.113.7:51234, 10.0.0.2:443, [::ffff:10.0.0.3]:443', 'ip:203.0.113.7'],
    ['10.0.0.1', '[2001:DB8::7]:443', 'ip:2001:db8::/56'],
    ['10.0.0.1', '2001:db8::7', 'ip:2001:db8::/56'],
    ['10.0.0.1', '::ffff:203.0.113.7', 'ip:203.0.113.7'],
    ['::ffff:10.0.0.1', '203.0.113.7', 'ip:203.0.113.7'],
    ['::ffff:a00:1', '203.0.113.7', 'ip:203.0.113.7'],
    ['10.0.0.1', 'unknown', 'ip:10.0.0.1'],
    ['10.0.0.1', '203.0.113.7, _hidden', 'ip:10.0.0.1'],
    ['10.0.0.1', '203.0.113.7, unknown, 10.0.0.2', 'ip:10.0.0.1'],
    ['10.0.0.1', '', 'ip:10.0.0.1'],
    ['10.0.0.1', ' , ,', 'ip:10.0.0.1'],
    ['10.0.0.1', '203.0.113.7,,', 'ip:203.0.113.7'],
    ['10.0.0.1', ',,203.0.113.7,,10.0.0.2,', 'ip:203.0.113.7'],
    ['10.0.0.1', 'fe80::1%eth0', 'ip:fe80::/56'],
    ['10.0.0.1', '10.0.0.3, 10.0.0.2', 'ip:10.0.0.3'],
    ['10.0.0.1', '203.0.113.007', 'ip:10.0.0.1'],
    ['10.0.0.1', ':'.repeat(10_000), 'ip:10.0.0.1'],
    ['10.0.0.1', '10.0.0.2,'.repeat(5000), 'ip:10.0.0.1'],
    // Translated by a NAT64: the client has 10.0.0.1 in another network, and is none of ours.
    ['64:ff9b::a00:1', '203.0.113.7', 'ip:10.0.0.1'],
  ];
  it.each(table)('behind %s that says %j finds %3$s', (peer, list, key) => {
    expect(listed(peer, list)).toBe(key);
  });

  it('takes the peer where the header is not sent, and nothing where there is no peer', () => {
    expect(byList(from('10.0.0.1', {}))).toBe('ip:10.0.0.1');
    expect(byList(from('198.51.100.9', {}))).toBe('ip:198.51.100.9');
    expect(byList(from(undefined, {}))).toBeUndefined();
    // A client that hung up has lost its address, and is not believed for that.
    expect(listed(undefined, '203.0.113.7')).toBeUndefined();
  });

  it('lets no client choose its key, nor spend the quota of another, by what it sends', () => {
    for (const sent of [
      '6.6.6.6',
      '203.0.113.99',
      'unknown',
      '"',
      'for="',
      '10.0.0.2',
      ',',
      '%',
      '[',
      '\\',
    ]) {
      expect([sent, listed('10.0.0.1', `${sent}, 203.0.113.7`)]).toEqual([sent, 'ip:203.0.113.7']);
      expect([sent, forwarded(`${sent}, for=203.0.113.7`)]).toEqual([sent, 'ip:203.0.113.7']);
    }
  });

  const elements: [header: string, key: string][] = [
    ['for=203.0.113.7', 'ip:203.0.113.7'],
    ['For="203.0.113.7:4711"', 'ip:203.0.113.7'],
    ['for="[2001:DB8::17]:4711";proto=https;by=10.0.0.1', 'ip:2001:db8::/56'],
    ['proto=https;FOR="[2001:db8::17]"', 'ip:2001:db8::/56'],
    ['for="[::ffff:203.0.113.7]:_port"', 'ip:10.0.0.1'],
    ['for=198.51.100.9, for=203.0.113.7', 'ip:203.0.113.7'],
    ['for=198.51.100.9, for=203.0.113.7, for=10.0.0.2', 'ip:203.0.113.7'],
    ['for=203.0.113.7;host="a, b; for=6.6.6.6"', 'ip:203.0.113.7'],
    ['for=203.0.113.7;host="say \\"hi, there\\""', 'ip:203.0.113.7'],
    ['for="203.0.113\\.7"', 'ip:203.0.113.7'],
    ['for=203.0.113.7 ; proto=http', 'ip:203.0.113.7'],
    ['for=203.0.113.7,,', 'ip:203.0.113.7'],
    // None of these names an address: the peer is asking.
    ['for=unknown', 'ip:10.0.0.1'],
    ['for=203.0.113.7, for=_hidden', 'ip:10.0.0.1'],
    ['for=203.0.113.7, proto=https', 'ip:10.0.0.1'],
    ['for=203.0.113.7;for=203.0.113.8', 'ip:10.0.0.1'],
    ['for', 'ip:10.0.0.1'],
    ['for=', 'ip:10.0.0.1'],
    ['for=""', 'ip:10.0.0.1'],
    ['for="203.0.113.7', 'ip:10.0.0.1'],
    ['for=203.0.113.7"', 'ip:10.0.0.1'],
    ['203.0.113.7', 'ip:10.0.0.1'],
    ['=203.0.113.7', 'ip:10.0.0.1'],
    ['for=[2001:db8::17]', 'ip:10.0.0.1'],
    ['"'.repeat(10_000), 'ip:10.0.0.1'],
    ['\\"'.repeat(10_000), 'ip:10.0.0.1'],
    ['for='.repeat(4000), 'ip:10.0.0.1'],
  ];
  it.each(elements)('reads Forwarded by RFC 7239: %j', (header, key) => {
    expect(forwarded(header)).toBe(key);
  });

  it('reads one header only, and any that it is told to', () => {
    const both = {
      'x-forwarded-for': '203.0.113.7',
      forwarded: 'for=203.0.113.8',
      'cf-connecting-ip': '2001:db8::9',
    };
    expect(byList(from('10.0.0.1', both))).toBe('ip:203.0.113.7');
    expect(byForwarded(from('10.0.0.1', both))).toBe('ip:203.0.113.8');
    expect(clientIp({ trust: 'uniquelocal', header: 'CF-Connecting-IP' })(from('10.0.0.1', both))).toBe(
      'ip:2001:db8::/56',
    );
    expect(clientIp({ trust: 'uniquelocal', header: '__proto__' })(from('10.0.0.1', both))).toBe(
      'ip:10.0.0.1',
    );
  });

  it('trusts addresses, ranges and names, of IPv4 and IPv6, in any notation', () => {
    const trusted: [trust: ClientIpOptions['trust'], yes: string[], no: string[]][] = [
      ['loopback', ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'], ['128.0.0.1', '::2', '10.0.0.1']],
      ['linklocal', ['169.254.1.1', 'fe80::1%eth0', 'febf::1'], ['169.253.1.1', 'fec0::1']],
      [
        'uniquelocal',
        ['10.255.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fd00::1', 'fc00::1'],
        ['11.0.0.1', '172.15.0.1', '172.32.0.1', '192.169.0.1', 'fe00::1'],
      ],
      [['192.0.2.1'], ['192.0.2.1', '::ffff:c000:201'], ['192.0.2.2', '192.0.2.0']],
      [['192.0.2.128/25', 'loopback'], ['192.0.2.129', '::1'], ['192.0.2.127']],
      [['::ffff:10.0.0.0/104'], ['10.1.2.3'], ['11.0.0.1', '::1']],
      [['2400:cb00::/32'], ['2400:cb00::1', '2400:CB00:ffff::1'], ['2400:cb01::1', '10.0.0.1']],
      [['2400:cb00:0:12::7'], ['2400:cb00:0:12::7'], ['2400:cb00:0:12::8']],
      [[], [], ['127.0.0.1', '::1', '10.0.0.1']],
    ];
    for (const [trust, yes, no] of trusted) {
      const believes = (peer: string) =>
        clientIp({ trust })(from(peer, { 'x-forwarded-for': '203.0.113.7' })) === 'ip:203.0.113.7';
      expect([trust, yes.filter((peer) => !believes(peer)), no.filter(believes)]).toEqual([trust, [], []]);
    }
  });

  it('counts proxies where it has no addresses of them, from the right, and takes the peer where there are fewer', () => {
    const two = clientIp({ trust: 2 });
    const key = (peer: string | undefined, list: string) => two(from(peer, { 'x-forwarded-for': list }));
    expect(key('198.51.100.1', '6.6.6.6, 203.0.113.7, 198.51.100.2')).toBe('ip:203.0.113.7');
    expect(key('198.51.100.1', '203.0.113.7, 198.51.100.2')).toBe('ip:203.0.113.7');
    expect(key('198.51.100.1', '203.0.113.7')).toBe('ip:198.51.100.1');
    expect(key('198.51.100.1', '203.0.113.7, unknown')).toBe('ip:198.51.100.1');
    expect(key('198.51.100.1', '')).toBe('ip:198.51.100.1');
    // On a Unix socket the peer has no address.
    expect(key(undefined, '203.0.113.7, 198.51.100.2')).toBe('ip:203.0.113.7');
    expect(key(undefined, '203.0.113.7')).toBeUndefined();
  });

  it('cuts IPv6 to the prefix that it is told', () => {
    const key = clientIp({ trust: 'loopback', ipv6Prefix: 64 });
    expect(key(from('::1', { 'x-forwarded-for': '2001:db8:1:2:3::4' }))).toBe('ip:2001:db8:1:2::/64');
    expect(key(from('2001:db8:1:2:3::4', {}))).toBe('ip:2001:db8:1:2::/64');
  });

  const wrong: [string, unknown, RegExp][] = [
    ['no options', undefined, /^Expected `options` to be an object, got undefined\.$/],
    ['no trust', {}, /^Expected `trust` to be addresses, .+, got undefined\.$/],
    ['trust: true', { trust: true }, /^Expected `trust` to be addresses, .+, got true\.$/],
    ['no proxies', { trust: 0 }, /^Expected `trust` to be .+, got 0\.$/],
    ['half a proxy', { trust: 1.5 }, /^Expected `trust` to be .+, got 1\.5\.$/],
    ['an unknown name', { trust: 'private' }, /^Expected `trust` to be .+, got "private"\.$/],
    ['a name of Object', { trust: 'constructor' }, /^Expected `trust` to be .+, got "constructor"\.$/],
    [
      'a host name',
      { trust: ['10.0.0.1', 'proxy.example'] },
      /^Expected `trust\[1\]` to be .+, got "proxy\.example"\.$/,
    ],
    ['a number among ranges', { trust: [1] }, /^Expected `trust\[0\]` to be .+, got 1\.$/],
    ['an empty text', { trust: '' }, /^Expected `trust` to be .+, got ""\.$/],
    ['two ranges in one text', { trust: '10.0.0.0/8, 127.0.0.1' }, /^Expected `trust` to be /],
    ['too long a prefix', { trust: '10.0.0.0/33' }, /^Expected `trust` to be /],
    ['too long an IPv6 prefix', { trust: '::1/129' }, /^Expected `trust` to be /],
    ['a prefix that cuts into what says mapped', { trust: '::ffff:10.0.0.0/95' }, /^Expected `trust` to be /],
    ['a negative prefix', { trust: '10.0.0.0/-1' }, /^Expected `trust` to be /],
    ['no prefix', { trust: '10.0.0.0/' }, /^Expected `trust` to be /],
    ['an address with a port', { trust: '10.0.0.1:80' }, /^Expected `trust` to be /],
    [
      'a header that is none',
      { trust: 1, header: 'x forwarded' },
      /^Expected `header` to be the name of a header, got /,
    ],
    [
      'a prefix out of range',
      { trust: 1, ipv6Prefix: 65 },
      /^Expected `ipv6Prefix` to be an integer from 32 to 64, got 65\.$/,
    ],
    [
      'an unknown option',
      { trust: 1, proxies: 1 },
      /^Expected no option that clientIp does not have, got `proxies`\. It has trust, header, ipv6Prefix\.$/,
    ],
  ];
  it.each(wrong)('refuses %s', (_, options, message) => {
    expect(() => clientIp(options as ClientIpOptions)).toThrow(message);
    expect(() => clientIp(options as ClientIpOptions)).toThrow(
      expect.objectContaining({ code: 'ERR_SLUICE_OPTION' }),
    );
  });
});
