// Does a decision cost more among more keys? More than the memory itself does, that is: a million keys fit no cache.

import { freemem } from 'node:os';
import { takeTurns, withContenders } from '../harness/contenders.mjs';
import { median, medianRatio, short, times } from '../harness/numbers.mjs';

const workload = new URL('../workloads/memory.mjs', import.meta.url);

/** A map doubles on the way from 1,000,000 to 1,100,000. */
const SIZES = [1_000, 10_000, 100_000, 1_000_000, 1_100_000];
/** For Sluice and the controls only: it takes 8 GiB with the ids. */
const MOST = 10_000_000;
const MOST_BYTES = 8 * 2 ** 30;
const DECISIONS = 500_000;

const MAP = 'map + typed array';
const OBJECT = 'the same + clock + nine-field object';
const SLUICE = 'sluice';
const NAMES = [
  MAP,
  OBJECT,
  SLUICE,
  'express-rate-limit, increment awaited',
  '@fastify/rate-limit, local store',
];

export async function growth(budget) {
  const sizes = [...SIZES];
  if (freemem() >= MOST_BYTES) sizes.push(MOST);
  else
    console.log(`(growth: ${MOST.toLocaleString('en')} keys are left out, for want of 8 GiB of free memory)`);

  const bySize = {};
  for (const keys of sizes) bySize[keys] = await measure(keys, budget);

  const rows = NAMES.map((name) => {
    const row = { name };
    for (const keys of sizes) {
      const nanos = bySize[keys][name];
      if (nanos === undefined) continue;
      row[`cpuNs${keys}`] = median(nanos);
      row[`toMap${keys}`] = medianRatio(nanos, bySize[keys][MAP]);
      row[`cpuNsByRound${keys}`] = nanos;
    }
    row.growth = row.cpuNs1000000 / row.cpuNs1000;
    row.addedNs = row.cpuNs1000000 - row.cpuNs1000;
    if (bySize[MOST]?.[name] !== undefined) row.growthToMost = row[`cpuNs${MOST}`] / row.cpuNs1000;
    return row;
  });
  return {
    tables: [
      {
        title: 'Growth: CPU ns per decision in memory, by the number of keys',
        columns: [
          ['name', 'contender'],
          ...sizes.map((keys) => [`cpuNs${keys}`, keys.toLocaleString('en'), short]),
          ['growth', 'a million / a thousand', times],
          ['addedNs', 'a million - a thousand', short],
          ['growthToMost', 'ten millions / a thousand', times],
          ['toMap1000000', '/ map, at a million', times],
        ],
        rows,
      },
    ],
    goals: goalsOf(rows),
  };
}

/** CPU ns per decision, by round, of each contender. */
async function measure(keys, budget) {
  const names = keys === MOST ? [MAP, OBJECT, SLUICE] : NAMES;
  // No denial and no new window on the way: the number of keys is all that differs.
  const options = { keys, limit: 1_000_000, windowMs: 3_600_000 };
  const results = await withContenders(
    workload,
    Object.fromEntries(names.map((name) => [name, options])),
    async (contenders) => {
      for (const contender of contenders) await contender.does('visit');
      return takeTurns(contenders, budget, (contender) => contender.does('decide', DECISIONS));
    },
  );
  return Object.fromEntries(
    names.map((name) => [name, results[name].map(({ cpuMs }) => (cpuMs * 1e6) / DECISIONS)]),
  );
}

function goalsOf(rows) {
  const [map, object, ours] = [MAP, OBJECT, SLUICE].map((name) => rows.find((row) => row.name === name));
  const atMillion = [1_000_000, 1_100_000].flatMap((keys) => [
    {
      goal: `memory, ${keys.toLocaleString('en')} keys: at most 1.35 x ${MAP}`,
      seen: ours[`toMap${keys}`],
      most: 1.35,
      kept: 3.5,
    },
    {
      goal: `memory, ${keys.toLocaleString('en')} keys: the clock and nine fields alone (control) at most 1.35 x ${MAP}`,
      seen: object[`toMap${keys}`],
      most: 1.35,
      control: true,
    },
  ]);
  const growth = (text, key, control, kept) => ({
    goal: `growth, from 1,000 keys to ${text} ${control.name}`,
    seen: ours[key] / control[key],
    most: 1,
    kept,
  });
  const goals = [
    ...atMillion,
    growth('1,000,000: at most the factor of', 'growth', map, 1),
    growth('1,000,000: at most the ns that are added to', 'addedNs', map, 3.5),
    growth('1,000,000: at most the ns that are added to', 'addedNs', object, 1.5),
  ];
  if (ours.growthToMost === undefined) return goals;
  return [...goals, growth('10,000,000: at most the factor of', 'growthToMost', map, 1)];
}
