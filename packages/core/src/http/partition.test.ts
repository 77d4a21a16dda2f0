import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { partitionBy } from './partition.js';

describe('a partition key', () => {
  // RFC 4231, test cases 1, 5 (which is cut to 128 bits there too), 6 and 7.
  it.each([
    [Buffer.alloc(20, 0x0b), 'Hi There', 'b0344c61d8db38535ca8afceaf0bf12b'],
    [Buffer.alloc(20, 0x0c), 'Test With Truncation', 'a3b6167473100ee06e0c796c2955552b'],
    [
      Buffer.alloc(131, 0xaa),
      'Test Using Larger Than Block-Size Key - Hash Key First',
      '60e431591ee0b67f0d8a26aacbf5b77f',
    ],
    [
      Buffer.alloc(131, 0xaa),
      'This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used by the HMAC algorithm.',
      '9b09ffa71b942fcb27635fbcd5b0e944',
    ],
  ])('is the first 128 bits of the HMAC-SHA-256 of the key', (secret, key, right) => {
    expect(Buffer.from(partitionBy(secret)!(key)).toString('hex')).toBe(right);
    // A secret that is text is its bytes.
    if (secret.length === 20) expect(partitionBy(secret.toString())!(key)).toEqual(partitionBy(secret)!(key));
  });

  it('is what the reference shows', () => {
    const partition = Buffer.from(partitionBy('known to all servers')!('ip:192.0.2.1')).toString('base64');
    // Of openssl dgst -sha256 -hmac.
    expect(partition).toBe('Uswy1QNkF4a2RkJMwSPeAg==');
    const page = readFileSync(join(__dirname, '../../../../docs/reference/headers.md'), 'utf8');
    expect(page.split(`;pk=:${partition}:`)).toHaveLength(3);
  });

  it('is another for another key and for another secret', () => {
    const [one, two] = ['a', 'b'].map((letter) => partitionBy(letter.repeat(16))!);
    const keys = [one('ip:192.0.2.1'), one('ip:192.0.2.2'), two('ip:192.0.2.1'), two('ip:192.0.2.2')];
    expect(new Set(keys.map(String)).size).toBe(4);
  });

  it('is none without a secret', () => {
    expect(partitionBy(undefined)).toBeUndefined();
  });

  it.each([
    ['x'.repeat(15), '15'],
    ['', '0'],
    [new Uint8Array(15), '15'],
    [true, 'true'],
    [null, 'null'],
    [{}, 'an object'],
  ])('refuses the secret %j, and does not repeat it', (secret, got) => {
    expect(() => partitionBy(secret)).toThrow(
      `Expected \`partitionSecret\` to be text or bytes, at least 16 bytes, got ${got}.`,
    );
  });

  it('counts bytes, not letters', () => {
    expect(partitionBy('é'.repeat(8))).toBeDefined();
  });
});
