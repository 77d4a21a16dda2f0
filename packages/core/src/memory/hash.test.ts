import { hashOf } from './hash.js';

/** How many of the keys share their hash with one before. */
function alike(keys: readonly string[]): number {
  return keys.length - new Set(keys.map((key) => hashOf(key))).size;
}

// Of 65,536 keys, 2^32 / 2^32 / 2 = 0.5 pairs are alike by chance: 20 would be a wonder.
const FEW = 20;
const MANY = 65_536;

describe('The hash of a key', () => {
  it.each<[string, (i: number) => string]>([
    ['in the first characters', (i) => `${i}-and-then-the-same`],
    ['in the last characters', (i) => `the-same-and-then-${i}`],
    ['in two characters beyond Latin-1', (i) => String.fromCharCode(0x8000 | (i >> 8), 0x8000 | (i & 0xff))],
    // Were two characters put together by adding or without room for all their bits, pairs of these would be one.
    ['in which of two characters has which bits', (i) => String.fromCharCode(i >> 8, (i & 0xff) << 8)],
    [
      'in the highest bits of many characters',
      (i) => Array.from({ length: 16 }, (_, bit) => String.fromCharCode(((i >> bit) & 1) << 15)).join(''),
    ],
    ['in length alone', (i) => '\0'.repeat(i >> 8) + String.fromCharCode(i & 0xff)],
  ])('tells keys apart that differ %s', (_, keyOf) => {
    const keys = [...new Set(Array.from({ length: MANY }, (_, i) => keyOf(i)))];
    expect(keys.length).toBeGreaterThan(MANY - 256);
    expect(alike(keys)).toBeLessThan(FEW);
  });
});
