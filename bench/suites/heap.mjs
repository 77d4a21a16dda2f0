// What a key takes in this process: heap and buffers, the id itself not included.

import { withContenders } from '../harness/contenders.mjs';
import { short } from '../harness/numbers.mjs';

const workload = new URL('../workloads/memory.mjs', import.meta.url);

/** A Map doubles on the way from 1,000,000 to 1,100,000. */
const SIZES = [10_000, 100_000, 1_000_000, 1_100_000];

const MAP = 'map alone';
const CONTENDERS = {
  [MAP]: ['map alone', {}],
  'map + two doubles': ['map + typed array', {}],
  'sluice, sliding-window-counter': ['sluice', {}],
  'sluice, gcra': ['sluice', { algorithm: 'gcra' }],
  'sluice, sliding-window-log, one entry': ['sluice', { algorithm: 'sliding-window-log' }],
  'express-rate-limit': ['express-rate-limit, increment awaited', {}],
  '@fastify/rate-limit': ['@fastify/rate-limit, local store', {}],
  'rate-limiter-flexible': ['rate-limiter-flexible, memory', {}],
};

export async function heap() {
  const rows = [];
  for (const [name, [contender, policy]] of Object.entries(CONTENDERS)) {
    const row = { name };
    for (const keys of SIZES) {
      // A rate that gcra can hold, and a window in which nothing expires.
      const options = { keys, limit: 100, windowMs: 3_600_000, policy };
      row[`bytes${keys}`] = await withContenders(workload, { [contender]: options }, async ([alone]) => {
        const { value } = await alone.does('weigh');
        return value / keys;
      });
    }
    rows.push(row);
  }
  const [map] = rows;
  for (const row of rows) {
    row.beyondMap = Math.max(...SIZES.slice(-2).map((keys) => row[`bytes${keys}`] - map[`bytes${keys}`]));
  }
  return {
    tables: [
      {
        title: 'Heap: bytes per key, the id itself not included, by the number of keys',
        columns: [
          ['name', 'contender'],
          ...SIZES.map((keys) => [`bytes${keys}`, keys.toLocaleString('en'), short]),
          ['beyondMap', 'beyond the map, at a million', short],
        ],
        rows,
      },
    ],
    goals: [],
  };
}
