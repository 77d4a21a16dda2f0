// What a limit adds to a request, beside the bare framework and the limiter that most of its users have.

import { takeTurns, withContenders } from '../harness/contenders.mjs';
import { median, short } from '../harness/numbers.mjs';

const workload = new URL('../workloads/http.mjs', import.meta.url);

const REQUESTS = 20_000;

/** One process may be faster than another of the same for all its life, Express by a tenth: so each has three. */
const GENERATIONS = 3;

/** The peer, and the most that Sluice may add as a part of what the peer adds: as aimed at, and as reached. */
const frameworks = {
  Express: { peer: 'express-rate-limit', most: 1 / 6, kept: 0.65 },
  Fastify: { peer: '@fastify/rate-limit', most: 2 / 3, kept: 1.1 },
  Koa: { peer: 'koa-ratelimit', most: 1 / 5, kept: 1 },
};

/**
 * The controls: no limiter can do less than to ask for the address and to set its headers; and none that keeps to what
 * Sluice promises can do less than to decide besides, once per request, and to leave preflights and begun responses
 * alone.
 */
const CONTROLS = ['three headers by hand', 'a limiter by hand'];

const contendersOf = (framework) => [
  framework,
  `${framework}, sluice`,
  `${framework}, ${frameworks[framework].peer}`,
  ...CONTROLS.map((control) => `${framework}, ${control}`),
];

export async function http(budget) {
  const names = Object.keys(frameworks).flatMap(contendersOf);
  const options = Object.fromEntries(names.map((name) => [name, {}]));
  const results = Object.fromEntries(names.map((name) => [name, []]));
  for (let generation = 0; generation < GENERATIONS; generation++) {
    const more = await withContenders(workload, options, (contenders) =>
      takeTurns(contenders, budget, (contender) => contender.does('serve', REQUESTS)),
    );
    for (const name of names) results[name].push(...more[name]);
  }

  const rows = names.map((name) => {
    const [framework] = name.split(', ');
    const cpu = microsOf(results[name]);
    const bare = microsOf(results[framework]);
    const row = { name, cpuUs: median(cpu), leastCpuUs: Math.min(...cpu), cpuUsByRound: cpu };
    if (name === framework) return row;
    return {
      ...row,
      addedUs: median(cpu.map((us, round) => us - bare[round])),
      leastAddedUs: Math.min(...cpu) - Math.min(...bare),
    };
  });

  return {
    tables: [
      {
        title: 'HTTP: a request that is admitted, in memory, without a network',
        columns: [
          ['name', 'contender'],
          ['cpuUs', 'CPU us', short],
          ['leastCpuUs', 'least', short],
          ['addedUs', 'above the bare framework', short],
          ['leastAddedUs', 'by the least rounds', short],
        ],
        rows,
      },
    ],
    goals: Object.keys(frameworks).flatMap((framework) => goalsOf(framework, rows)),
  };
}

/** What Sluice adds and what the controls add, as parts of what the peer adds. */
function goalsOf(framework, rows) {
  const { peer, most, kept } = frameworks[framework];
  const rowOf = (contender) => rows.find(({ name }) => name === `${framework}, ${contender}`);
  const theirs = rowOf(peer);
  const goal = (what, { addedUs, leastAddedUs }) => ({
    goal: `${framework}: ${what} at most so much of what ${peer} adds`,
    seen: addedUs / theirs.addedUs,
    least: leastAddedUs / theirs.leastAddedUs,
    most,
  });
  const controls = CONTROLS.map((control) => ({
    ...goal(`${control} (control) adds`, rowOf(control)),
    control: true,
  }));
  return [{ ...goal('adds', rowOf('sluice')), kept }, ...controls];
}

/** CPU microseconds of the server per request, by round. */
function microsOf(rounds) {
  return rounds.map(({ cpuMs }) => (cpuMs * 1000) / REQUESTS);
}
