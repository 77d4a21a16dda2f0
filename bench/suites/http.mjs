// What a limit adds to a request, beside the bare framework and the limiter that most of its users have.

import { takeTurns, withContenders } from '../harness/contenders.mjs';
import { median, short } from '../harness/numbers.mjs';
import { send } from '../harness/requests.mjs';

const workload = new URL('../workloads/http.mjs', import.meta.url);

const REQUESTS = 5_000;
const CONNECTIONS = 16;

/** The peer, and the most that Sluice may add as a part of what the peer adds. */
const frameworks = {
  Express: { peer: 'express-rate-limit', most: 1 / 4 },
  Fastify: { peer: '@fastify/rate-limit', most: 3 / 4 },
  Koa: { peer: 'koa-ratelimit', most: 1 / 4 },
};

/** The control: no limiter can do less than to ask for the address and to set its headers. */
const LEAST = 'three headers by hand';

const contendersOf = (framework) => [
  framework,
  `${framework}, sluice`,
  `${framework}, ${frameworks[framework].peer}`,
  `${framework}, ${LEAST}`,
];

export async function http(budget) {
  const names = Object.keys(frameworks).flatMap(contendersOf);
  const options = Object.fromEntries(names.map((name) => [name, {}]));
  const results = await withContenders(workload, options, async (contenders) => {
    const ports = new Map();
    for (const contender of contenders) ports.set(contender, (await contender.does('port')).value);
    return takeTurns(contenders, budget, async (contender) => {
      const served = contender.does('serve', REQUESTS);
      await send(ports.get(contender), REQUESTS, CONNECTIONS, (head) => checkHead(contender.name, head));
      return served;
    });
  });

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
        title: 'HTTP: a request that is admitted, in memory, 16 connections',
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

/** What Sluice adds and what the control adds, as parts of what the peer adds. */
function goalsOf(framework, rows) {
  const { peer, most } = frameworks[framework];
  const [, ours, theirs, least] = contendersOf(framework).map((name) =>
    rows.find((row) => row.name === name),
  );
  const goal = (what, { addedUs, leastAddedUs }) => ({
    goal: `${framework}: ${what} at most ${most} of what ${peer} adds`,
    seen: addedUs / theirs.addedUs,
    least: leastAddedUs / theirs.leastAddedUs,
    most,
  });
  return [goal('adds', ours), goal(`${LEAST} (control) add`, least)];
}

/** CPU microseconds of the server per request, by round. */
function microsOf(rounds) {
  return rounds.map(({ cpuMs }) => (cpuMs * 1000) / REQUESTS);
}

/** Nobody is measured who does nothing. */
function checkHead(name, head) {
  const limited = /^x-ratelimit-remaining: \d+/im.test(head);
  if (limited !== name.includes(',')) throw new Error(`${name}: unexpected headers: ${head}`);
}
