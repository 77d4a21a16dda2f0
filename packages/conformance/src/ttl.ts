/**
 * No key may live for ever.
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
export async function lives({ masters, prefix }: Backend): Promise<KeyLife[]> {
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

/** Ends every suite that writes to Redis: among all its keys there is none without a TTL. */
export function itLeavesNoKeyForEver(backend: Backend): void {
  it('leaves no key without a TTL', async () => {
    const keys = await lives(backend);
    expect(keys.length).toBeGreaterThan(0);
    // -1 is no TTL; 0 is one that ends within this millisecond.
    expect(keys.filter(({ ttlMs }) => ttlMs < 0)).toEqual([]);
  });
}
