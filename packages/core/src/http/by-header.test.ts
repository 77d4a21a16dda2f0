import { byHeader } from './by-header.js';

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
    for (const empty of ['', ', ', ' ,,']) {
      expect(byHeader('x-api-key')({ headers: { 'x-api-key': empty } })).toBeUndefined();
    }
    expect(byHeader('set-cookie')({ headers: { 'set-cookie': [] } })).toBeUndefined();
    expect(byHeader('set-cookie')({ headers: { 'set-cookie': ['', ''] } })).toBeUndefined();
  });

  it('refuses what is no name of a header', () => {
    for (const name of ['', 'x api', 'x:key', 'ä', 5, undefined]) {
      expect(() => byHeader(name as string)).toThrow(
        /^Expected `name` to be the name of a header, got .+\.$/,
      );
    }
  });
});
