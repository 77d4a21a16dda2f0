/**
 * Tells how many bytes a key takes in memory, the id itself not included, by policy: heap and buffers, in a process that
 * does nothing else.
 *
 * @module
 */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createLimiter, MemoryStore, manualClock, type Policy } from '@sluice/core';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** What a policy takes. */
export interface Room {
  /** Per key. */
  readonly bytes: number;
  /** Per key, once all were forgotten and as many others have come. */
  readonly again: number;
}

async function bytesInUse(): Promise<number> {
  for (let i = 0; i < 4; i++) {
    collectGarbage();
    await new Promise(setImmediate);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Requests each key `rounds` times, at instants of their own; then forgets all, and does the same with others. */
async function roomOf(policy: Policy, keys: number, rounds: number): Promise<Room> {
  const ids = Array.from({ length: keys }, (_, i) => `user:${i}`);
  // As short: V8 keeps longer ones in two parts until they are looked at.
  const others = Array.from({ length: keys }, (_, i) => `next:${i}`);
  const open = () => {
    const clock = manualClock(1_700_000_000_000);
    return { clock, limiter: createLimiter({ policies: [policy], store: new MemoryStore(), clock }) };
  };
  // What the first calls leave behind, such as compiled code, is no store's.
  const first = open();
  for (let i = 0; i < 20_000; i++) {
    first.clock.advance(1);
    first.limiter.consume(ids[i % 100]);
  }
  const before = await bytesInUse();
  const { clock, limiter } = open();
  const fill = (names: readonly string[]) => {
    for (let round = 0; round < rounds; round++) {
      clock.advance(1);
      for (const name of names) limiter.consume(name);
    }
  };
  fill(ids);
  const bytes = ((await bytesInUse()) - before) / keys;
  for (const id of ids) limiter.reset(id);
  fill(others);
  const again = ((await bytesInUse()) - before) / keys;
  // Both are in use until here.
  limiter.peek(ids[0]);
  limiter.peek(others[0]);
  first.limiter.peek(ids[0]);
  return { bytes, again };
}

const NUMBERS = { limit: 100, window: 3_600_000 };

async function all(): Promise<Record<string, Room>> {
  return {
    'sliding-window-counter': await roomOf(NUMBERS, 190_000, 1),
    gcra: await roomOf({ ...NUMBERS, algorithm: 'gcra' }, 190_000, 1),
    'sliding-window-log, one entry': await roomOf(
      { ...NUMBERS, algorithm: 'sliding-window-log' },
      190_000,
      1,
    ),
    'sliding-window-log, 100 entries': await roomOf(
      { ...NUMBERS, algorithm: 'sliding-window-log' },
      20_000,
      100,
    ),
  };
}

all().then((rooms) => process.send?.(rooms, () => process.disconnect()));
