// Does any single call stop the process? A table that is copied when it grows does.

import { takeTurns, withContenders } from '../harness/contenders.mjs';
import { median, short } from '../harness/numbers.mjs';

const workload = new URL('../workloads/stall.mjs', import.meta.url);

const KEYS = 1_000_000;
const CONTROL = 'objects, rows and ids, never looked for';
const NAMES = [
  CONTROL,
  'one Map that grows',
  'sluice',
  'express-rate-limit',
  '@fastify/rate-limit, local store',
];

export async function stall(budget) {
  // Half of the keys have expired before the last ones come.
  const options = { keys: KEYS, windowMs: 500 };
  const results = await withContenders(
    workload,
    Object.fromEntries(NAMES.map((name) => [name, options])),
    (contenders) => takeTurns(contenders, budget, (contender) => contender.does('arrive')),
  );
  const rows = NAMES.map((name) => {
    const medianOf = (key) => median(results[name].map(({ value }) => value[key]));
    return {
      name,
      ownMs: medianOf('own'),
      longestMs: medianOf('longest'),
      pauseMs: medianOf('pause'),
      ownMsByRound: results[name].map(({ value }) => value.own),
    };
  });
  const [control, , ours] = rows;
  return {
    tables: [
      {
        title: `Stall: the longest single call while ${KEYS.toLocaleString('en')} keys arrive and expire`,
        columns: [
          ['name', 'contender'],
          ['ownMs', 'longest call without the collector, ms', short],
          ['longestMs', 'with it', short],
          ['pauseMs', 'longest pause of the collector', short],
        ],
        rows,
      },
    ],
    goals: [
      {
        goal: 'the longest call, without the collector, at most 2 ms above that of a control that allocates as much',
        seen: ours.ownMs - control.ownMs,
        most: 2,
        // What the collector's marking falls into is luck; a table that is copied takes 70 ms more.
        kept: 25,
      },
    ],
  };
}
