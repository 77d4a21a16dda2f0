// A decision in this process, on 10,000 hot keys.

import { takeTurns, withContenders } from '../harness/contenders.mjs';
import { median, medianRatio, short, times } from '../harness/numbers.mjs';

const workload = new URL('../workloads/memory.mjs', import.meta.url);

const MAP = 'map + typed array';
const OBJECT = 'the same + clock + nine-field object';
const OBJECTS = 'the same + clock + all objects of a decision';
const BY_HAND = 'two counters by hand + all objects of a decision';
const EXPRESS = 'express-rate-limit, increment awaited';
const EXPRESS_NOT_AWAITED = 'express-rate-limit, increment not awaited';
const FASTIFY = '@fastify/rate-limit, local store';
const FLEXIBLE = 'rate-limiter-flexible, memory';

const options = { keys: 10_000, limit: 100, windowMs: 60_000 };
/** Per id: one request to make the key, then these, all within the limit. */
const VISITS = 20;

async function measure(names, prepare, budget) {
  return withContenders(workload, Object.fromEntries(names.map((name) => [name, options])), (contenders) =>
    takeTurns(contenders, budget, async (contender) => {
      await contender.does('clear');
      await contender.does(prepare);
      return contender.does('decide', VISITS * options.keys);
    }),
  );
}

function rowsOf(results, decisions, controls) {
  const perDecision = (name, time) => results[name].map((round) => (round[time] * 1e6) / decisions);
  return Object.keys(results).map((name) => {
    const wall = perDecision(name, 'wallMs');
    const cpu = perDecision(name, 'cpuMs');
    const row = { name, cpuNs: median(cpu), leastCpuNs: Math.min(...cpu), wallNs: median(wall) };
    for (const [key, control] of Object.entries(controls)) {
      row[key] = medianRatio(cpu, perDecision(control, 'cpuMs'));
    }
    const verdicts = results[name][0].value.admitted;
    if (verdicts > 0 || name === FLEXIBLE || name.startsWith('sluice')) {
      row.admitted = median(results[name].map(({ value }) => value.admitted / decisions));
    }
    row.cpuNsByRound = cpu;
    row.wallNsByRound = wall;
    return row;
  });
}

const timeColumns = [
  ['name', 'contender'],
  ['cpuNs', 'CPU ns', short],
  ['leastCpuNs', 'least', short],
  ['wallNs', 'wall ns', short],
];

export async function memory(budget) {
  const decisions = VISITS * options.keys;
  const columns = [
    ...timeColumns,
    ['toMap', '/ map', times],
    ['toObject', '/ object', times],
    ['toExpress', '/ express', times],
    ['admitted', 'admitted', (share) => (share === undefined ? '' : share.toFixed(3))],
  ];
  const controls = { toMap: MAP, toObject: OBJECT, toExpress: EXPRESS };

  const admitting = await measure(
    [MAP, OBJECT, OBJECTS, BY_HAND, 'sluice', EXPRESS, EXPRESS_NOT_AWAITED, FASTIFY, FLEXIBLE],
    'visit',
    budget,
  );
  const denying = await measure(
    [MAP, OBJECT, OBJECTS, 'sluice', EXPRESS, FASTIFY, FLEXIBLE],
    'exhaust',
    budget,
  );
  const [admittedRows, deniedRows] = [admitting, denying].map((results) =>
    rowsOf(results, decisions, controls),
  );

  return {
    tables: [
      {
        title: 'Memory: a decision that admits, 10,000 hot keys, 100 per minute',
        columns,
        rows: admittedRows,
      },
      { title: 'Memory: a decision that denies, 10,000 hot keys, 100 per minute', columns, rows: deniedRows },
    ],
    goals: [
      ...goalsOf('admits', admittedRows, OBJECT, 1.25, 2.6),
      ...goalsOf('admits', admittedRows, EXPRESS, 1 / 2, 1.1),
      ...goalsOf('denies', deniedRows, EXPRESS, 1 / 2, 1.2),
      ...goalsOf('admits', admittedRows, FLEXIBLE, 1 / 15, 0.45),
    ],
  };
}

/** What Sluice takes as a part of what `other` takes, and what the controls take that were measured beside it. */
function goalsOf(what, rows, other, most, kept) {
  const rowOf = (name) => rows.find((row) => row.name === name);
  const theirs = rowOf(other);
  const goal = (who, { cpuNsByRound, leastCpuNs }) => ({
    goal: `memory: ${who} that ${what} takes at most so much of ${other}`,
    seen: medianRatio(cpuNsByRound, theirs.cpuNsByRound),
    least: leastCpuNs / theirs.leastCpuNs,
    most,
  });
  const controls = [
    ['(control) the objects alone of a decision', rowOf(OBJECTS)],
    ['(control) two counters by hand in a decision', rowOf(BY_HAND)],
  ];
  return [
    { ...goal('a decision', rowOf('sluice')), kept },
    ...controls
      .filter(([, row]) => row !== undefined)
      .map(([who, row]) => ({ ...goal(who, row), control: true })),
  ];
}
