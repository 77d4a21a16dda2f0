import { isSampled } from './sample.js';

const keys = Array.from({ length: 100_000 }, (_, i) => `user:${i}`);

describe('The sample of keys', () => {
  it.each([0.01, 0.1, 0.5])('is as large as it was asked for: %d', (share) => {
    const found = keys.filter((key) => isSampled(key, share)).length;
    // Five standard deviations.
    const slack = 5 * Math.sqrt(keys.length * share * (1 - share));
    expect(Math.abs(found - keys.length * share)).toBeLessThan(slack);
  });

  it('is all of them at 1', () => {
    expect(keys.every((key) => isSampled(key, 1))).toBe(true);
  });

  it('is part of each larger one', () => {
    const small = keys.filter((key) => isSampled(key, 0.01));
    expect(small.every((key) => isSampled(key, 0.02))).toBe(true);
  });

  it('is the same in every process and every version: a change would end what reports can be compared with', () => {
    const found = keys.slice(0, 1000).filter((key) => isSampled(key, 0.01));
    expect(found.map((key) => Number(key.slice(5)))).toEqual([
      178, 257, 393, 408, 421, 502, 638, 682, 698, 927,
    ]);
    const others = ['', 'a', 'ip:203.0.113.7', 'ключ', '\u{1f600}', '\ud83d'];
    expect(others.map((key) => isSampled(key, 0.5))).toEqual([true, false, true, false, true, true]);
  });

  it.each<[string, (i: number) => string]>([
    ['in the first character', (i) => `${String.fromCharCode(i)}:the same`],
    ['in length', (i) => 'a'.repeat(i % 2048)],
    ['in the high bits of characters', (i) => String.fromCharCode((i & 0xff) << 8, i & 0xff00)],
  ])('does not depend on what keys differ in: %s', (_, keyOf) => {
    const some = [...new Set(Array.from({ length: 2048 }, (_, i) => keyOf(i)))];
    const found = some.filter((key) => isSampled(key, 0.5)).length;
    expect(Math.abs(found / some.length - 0.5)).toBeLessThan(0.06);
  });
});
