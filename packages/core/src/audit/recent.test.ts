import { Recent } from './recent.js';

describe('Values in the order of their last use', () => {
  it('come up as they were added, used and deleted', () => {
    const recent = new Recent<number>();
    // A map keeps the order as well, if slowly.
    const right = new Map<string, number>();
    expect(recent.oldest).toBeUndefined();
    for (let i = 0; i < 20_000; i++) {
      const key = `k${(i * i * 7919) % 23}`;
      if (i % 3 === 0) {
        expect(recent.delete(key)).toBe(right.get(key));
        right.delete(key);
      } else {
        const value = right.get(key);
        expect(recent.use(key)).toBe(value);
        if (value === undefined) recent.add(key, i);
        right.delete(key);
        right.set(key, value ?? i);
      }
      expect(recent.oldest).toEqual([...right][0]);
      expect(recent.size).toBe(right.size);
    }
  });
});
