import { KeyIndex } from './key-index.js';

/** More keys than are held in a map: an index that had so many holds its keys in cells from then on. */
const MANY = 17_000;

/** An empty index that has had `past` keys. */
function indexAfter(past: number): KeyIndex {
  const index = new KeyIndex();
  for (let slot = 1; slot <= past; slot++) index.add(`past:${slot}`, slot);
  for (let slot = 1; slot <= past; slot++) index.delete(slot);
  return index;
}

/** An index beside a `Map` that must agree with it. */
class Pair {
  readonly index: KeyIndex;
  readonly map = new Map<string, number>();

  constructor(past: number) {
    this.index = indexAfter(past);
  }

  add(key: string, slot: number): void {
    this.index.add(key, slot);
    this.map.set(key, slot);
  }

  delete(key: string): void {
    this.index.delete(this.map.get(key) as number);
    this.map.delete(key);
  }

  /** The keys on which the two differ. */
  differences(asked: readonly string[] = []): string[] {
    const keys = [...this.map.keys(), ...asked];
    return keys.filter((key) => this.index.get(key) !== (this.map.get(key) ?? 0));
  }
}

const KINDS: readonly [name: string, key: (i: number) => string][] = [
  ['numbers at the end', (i) => `user:${i}`],
  ['numbers in front of a long common end', (i) => `${i}:in-the-same-organisation`],
  ['how often each of two characters comes', (i) => 'a'.repeat(i % 45) + 'b'.repeat(i / 45)],
  ['characters beyond Latin-1', (i) => String.fromCharCode(0x8000 + (i >> 8), i & 0xff, 0x8000)],
  ['lone surrogates', (i) => String.fromCharCode(0xd800 + (i & 1023), 0xdc00 + (i >> 10), i & 0xff)],
];

const CASES = KINDS.flatMap(([name, key]) => [
  { name, key, past: 0, held: 'in a map' },
  { name, key, past: MANY, held: 'in cells' },
]);

describe.each(CASES)('An index $held of keys that differ in $name', ({ key: keyOf, past }) => {
  const keys = Array.from({ length: 2000 }, (_, i) => keyOf(i));

  it('finds each key and no other, at every size on the way up and down', () => {
    const pair = new Pair(past);
    keys.forEach((key, i) => {
      pair.add(key, i + 1);
      if (i % 97 === 0) expect(pair.differences(keys)).toEqual([]);
    });
    expect(pair.differences()).toEqual([]);
    for (const [i, key] of keys.entries()) {
      pair.delete(key);
      if (i % 97 === 0) expect(pair.differences(keys)).toEqual([]);
    }
    expect(pair.map.size).toBe(0);
    expect(pair.differences(keys)).toEqual([]);
  });

  it('finds each key where keys come and go in any order', () => {
    const pair = new Pair(past);
    let random = 1;
    for (let step = 0; step < 30_000; step++) {
      random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
      const i = (random >>> 8) % keys.length;
      if (pair.map.has(keys[i])) pair.delete(keys[i]);
      else pair.add(keys[i], i + 1);
      if (step % 1499 === 0) expect(pair.differences(keys)).toEqual([]);
    }
    expect(pair.differences(keys)).toEqual([]);
  });

  it('knows which key is in a slot', () => {
    const index = indexAfter(past);
    keys.forEach((key, i) => {
      index.add(key, i + 1);
    });
    expect(keys.map((_, i) => index.keyOf(i + 1))).toEqual(keys);
  });
});

it('An index keeps every key when they become too many for a map', () => {
  const pair = new Pair(0);
  for (let i = 0; i < 2 * MANY; i++) pair.add(`key:${i}`, i + 1);
  expect(pair.differences(['key:', `key:${2 * MANY}`])).toEqual([]);
});

it('An index finds each key where keys come and go while they leave the map', () => {
  const pair = new Pair(0);
  for (let i = 0; i < 16_385; i++) pair.add(`key:${i}`, i + 1);
  let random = 1;
  for (let step = 0; step < 4000; step++) {
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
    const key = `key:${(random >>> 8) % 20_000}`;
    if (pair.map.has(key)) {
      const slot = pair.map.get(key) as number;
      pair.delete(key);
      // Another takes its place, or it comes back.
      if (step % 2 === 0) pair.add(step % 4 === 0 ? `other:${step}` : key, slot);
    }
    if (step % 199 === 0) expect(pair.differences([key])).toEqual([]);
  }
  expect(pair.differences(Array.from({ length: 20_000 }, (_, i) => `key:${i}`))).toEqual([]);
});
