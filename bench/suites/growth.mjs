// Does a decision cost more among more keys? More than the memory itself does, that is: a million keys fit no cache.

import { takeTurns, withContenders } from '../harness/contenders.mjs';
import { median, medianRatio, short, times } from '../harness/numbers.mjs';

const workload = new URL('../workloads/memory.mjs', import.meta.url);

const SIZES = [1_000, 10_000, 100_000, 1_000_000];
const DECISIONS = 500_000;

const MAP = 'map + typed array';
const OBJECT = 'the same + clock + nine-field object';
const NAMES = [
  MAP,
  OBJECT,
  'sluice',
  'express-rate-limit, increment awaited',
  '@fastify/rate-limit, local store',
];

export async function growth(budget) {
  const bySize = [];
  for (const keys of SIZES) {
    // No denial and no new window on the way: the number of keys is all that differs.
    const options = { keys, limit: 1_000_000, windowMs: 3_600_000 };
    const results = await withContenders(
      workload,
      Object.fromEntries(NAMES.map((name) => [name, options])),
      async (contenders) => {
        for (const contender of contenders) await contender.does('visit');
        return takeTurns(contenders, budget, (contender) => contender.does('decide', DECISIONS));
      },
    );
    bySize.push(
      Object.fromEntries(
        NAMES.map((name) => [name, results[name].map(({ cpuMs }) => (cpuMs * 1e6) / DECISIONS)]),
      ),
    );
  }

  const rows = NAMES.map((name) => {
    const row = { name };
    SIZES.forEach((keys, i) => {
      const nanos = bySize[i][name];
      row[`cpuNs${keys}`] = median(nanos);
      row[`toMap${keys}`] = medianRatio(nanos, bySize[i][MAP]);
    });
    row.growth = row[`cpuNs${SIZES.at(-1)}`] / row[`cpuNs${SIZES[0]}`];
    row.addedNs = row[`cpuNs${SIZES.at(-1)}`] - row[`cpuNs${SIZES[0]}`];
    SIZES.forEach((keys, i) => {
      row[`cpuNsByRound${keys}`] = bySize[i][name];
    });
    return row;
  });

  const goal = (text, key, control) => {
    const [ours, theirs] = ['sluice', control].map((name) => rows.find((row) => row.name === name));
    return {
      goal: `growth, 1,000 to 1,000,000 keys: at most ${text} ${control}`,
      seen: ours[key] / theirs[key],
      most: 1,
    };
  };
  return {
    tables: [
      {
        title: 'Growth: CPU ns per decision in memory, by the number of keys',
        columns: [
          ['name', 'contender'],
          ...SIZES.map((keys) => [`cpuNs${keys}`, keys.toLocaleString('en'), short]),
          ['growth', 'last / first', times],
          ['addedNs', 'last - first', short],
          [`toMap${SIZES.at(-1)}`, '/ map, at the last', times],
        ],
        rows,
      },
    ],
    goals: [
      goal('the factor of', 'growth', MAP),
      goal('the ns that are added to', 'addedNs', MAP),
      goal('the ns that are added to', 'addedNs', OBJECT),
    ],
  };
}
