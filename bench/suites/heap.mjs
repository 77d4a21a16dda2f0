// What a key takes in this process: heap and buffers, the id itself not included.

import { withContenders } from '../harness/contenders.mjs';
import { short } from '../harness/numbers.mjs';

const workload = new URL('../workloads/memory.mjs', import.meta.url);

/** A Map doubles on the way from 1,000,000 to 1,100,000. */
const SIZES = [10_000, 100_000, 1_000_000, 1_100_000];

const MAP = 'map alone';
const COUNTER = 'sluice, sliding-window-counter';
const GCRA = 'sluice, gcra';
const LONE = 'sluice, sliding-window-log, one entry';
const FULL = 'sluice, sliding-window-log, 100 entries';
/** The contender, the policy, and for some: at which sizes, and how many requests of each key, at instants of their own. */
const CONTENDERS = {
  [MAP]: ['map alone', {}],
  'map + two doubles': ['map + typed array', {}],
  [COUNTER]: ['sluice', {}],
  [GCRA]: ['sluice', { algorithm: 'gcra' }],
  [LONE]: ['sluice', { algorithm: 'sliding-window-log' }],
  [FULL]: ['sluice', { algorithm: 'sliding-window-log' }, { sizes: [10_000], entries: 100 }],
  'express-rate-limit': ['express-rate-limit, increment awaited', {}],
  '@fastify/rate-limit': ['@fastify/rate-limit, local store', {}],
  'rate-limiter-flexible': ['rate-limiter-flexible, memory', {}],
};

/** Not every row has every figure. */
const known = (value) => (value === undefined ? '' : short(value));

export async function heap() {
  const rows = [];
  for (const [name, [contender, policy, { sizes = SIZES, entries = 1 } = {}]] of Object.entries(CONTENDERS)) {
    const row = { name };
    for (const keys of sizes) {
      // A rate that gcra can hold, and a window in which nothing expires.
      const options = { keys, limit: 100, windowMs: 3_600_000, policy, entries };
      row[`bytes${keys}`] = await withContenders(workload, { [contender]: options }, async ([alone]) => {
        const { value } = await alone.does('weigh');
        return value / keys;
      });
    }
    rows.push(row);
  }
  const [map] = rows;
  for (const row of rows) {
    const beyond = SIZES.slice(-2).map((keys) => row[`bytes${keys}`] - map[`bytes${keys}`]);
    if (!beyond.includes(Number.NaN)) row.beyondMap = Math.max(...beyond);
  }

  const goal = (text, name, key, most) => ({
    goal: `heap, bytes per key, ${text}: ${name}`,
    seen: rows.find((row) => row.name === name)[key],
    most,
  });
  return {
    tables: [
      {
        title: 'Heap: bytes per key, the id itself not included, by the number of keys',
        columns: [
          ['name', 'contender'],
          ...SIZES.map((keys) => [`bytes${keys}`, keys.toLocaleString('en'), known]),
          ['beyondMap', 'beyond the map, at a million', known],
        ],
        rows,
      },
    ],
    goals: [
      goal('beyond a map at a million keys', COUNTER, 'beyondMap', 48),
      goal('beyond a map at a million keys', GCRA, 'beyondMap', 32),
      goal('beyond a map at a million keys', LONE, 'beyondMap', 32),
      goal('all in, of 10,000 keys', FULL, 'bytes10000', 1000),
    ],
  };
}
