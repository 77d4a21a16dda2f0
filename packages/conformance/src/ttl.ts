/**
 * No key may live for ever, nor much longer than it means something.
 *
 * @module
 */

import type { Redis } from 'ioredis';
import type { Backend } from './backends.js';

/** How long a key lives; -1: for ever. */
export interface KeyLife {
  readonly key: string;
  readonly ttlMs: number;
}

/** All keys that begin with the backend's prefix, on all its masters. */
export async function lives({ masters, prefix }: Pick<Backend, 'masters' | 'prefix'>): Promise<KeyLife[]> {
  const found = await Promise.all(masters().map((master) => livesOn(master, `${prefix}:*`)));
  return found.flat();
}

async function livesOn(master: Redis, pattern: string): Promise<KeyLife[]> {
  const keys = new Set<string>();
  let cursor = '0';
  do {
    const [next, some] = await master.scan(cursor, 'MATCH', pattern, 'COUNT', 1000);
    for (const key of some) keys.add(key);
    cursor = next;
  } while (cursor !== '0');
  const ttls = await Promise.all([...keys].map((key) => master.pttl(key)));
  // -2: it expired between the two questions.
  return [...keys].map((key, i) => ({ key, ttlMs: ttls[i] })).filter(({ ttlMs }) => ttlMs !== -2);
}

/**
 * Ends every suite that writes to Redis: each of its keys lives at least until its `resetMs`, and at most a second more;
 * under a clock that was injected, at least a minute.
 */
export function itLeavesKeysThatEnd(backend: Backend): void {
  it('leaves every key with a TTL of at least its resetMs, and not much more', async () => {
    const before = Date.now();
    const keys = await lives(backend);
    const after = Date.now();
    expect(keys.length).toBeGreaterThan(0);
    const wrong = keys.flatMap(({ key, ttlMs }) => {
      const end = backend.expected.of(key);
      // -1 is no TTL; 0 is one that ends within this millisecond.
      if (ttlMs < 0) return [{ key, ttlMs, end }];
      if (end === undefined) return [];
      return after + ttlMs >= end.least && before + ttlMs <= end.most ? [] : [{ key, ttlMs, before, end }];
    });
    expect(wrong).toEqual([]);
    const found = new Set(keys.map(({ key }) => key));
    expect(backend.expected.at(after).filter((key) => !found.has(key))).toEqual([]);
    // A suite whose answers are all unknown would have looked at nothing.
    expect(keys.some(({ key }) => backend.expected.of(key) !== undefined)).toBe(true);
  });
}
