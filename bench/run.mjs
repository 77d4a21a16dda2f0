// npm run bench [-- suite ...] [-- --quick]: prepares, measures, prints tables, writes results.json and docs/performance.md.

import { availableParallelism, cpus, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { prepare } from './harness/prepare.mjs';

const quickly = { warmup: 1, rounds: 3, lastsMs: 5000 };
const budgets = {
  memory: { warmup: 3, rounds: 11 },
  growth: { warmup: 2, rounds: 7 },
  heap: { warmup: 0, rounds: 1 },
  redis: { warmup: 1, rounds: 7 },
  resilience: { warmup: 2, rounds: 11 },
  http: { warmup: 3, rounds: 5 },
  flood: { rounds: 20 },
  stall: { warmup: 1, rounds: 7 },
  layers: { lastsMs: 30_000 },
};

const words = process.argv.slice(2);
const quick = words.includes('--quick');
const wanted = words.filter((word) => word !== '--quick');

const failed = await prepare();
if (failed) process.exit(failed);

// Only now: the peers may just have been installed.
const { printTable, writeResults } = await import('./harness/report.mjs');
const suites = {
  memory: (await import('./suites/memory.mjs')).memory,
  growth: (await import('./suites/growth.mjs')).growth,
  heap: (await import('./suites/heap.mjs')).heap,
  redis: (await import('./suites/redis.mjs')).redis,
  resilience: (await import('./suites/resilience.mjs')).resilience,
  http: (await import('./suites/http.mjs')).http,
  flood: (await import('./suites/flood.mjs')).flood,
  stall: (await import('./suites/stall.mjs')).stall,
  layers: (await import('./suites/layers.mjs')).layers,
};
const unknown = wanted.filter((name) => !Object.hasOwn(suites, name));
if (unknown.length > 0) {
  console.error(`Expected suites out of ${Object.keys(suites).join(', ')}, got ${unknown.join(', ')}.`);
  process.exit(1);
}

const results = {
  machine: {
    cpu: cpus()[0].model,
    cores: availableParallelism(),
    memoryGiB: totalmem() / 2 ** 30,
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
  },
  tables: [],
  goals: [],
};

for (const name of wanted.length > 0 ? wanted : Object.keys(suites)) {
  const start = performance.now();
  const { tables, goals, versions } = await suites[name](quick ? quickly : budgets[name]);
  Object.assign(results.machine, versions);
  for (const table of tables) {
    printTable(table);
    results.tables.push({ title: table.title, rows: table.rows });
  }
  for (const { control = false, kept, ...goal } of goals) {
    const most = kept ?? goal.most;
    // What a control takes is for the machine to say: there is nothing to meet.
    const verdict = control ? {} : { met: goal.seen <= goal.most, kept: most, holds: goal.seen <= most };
    results.goals.push({ ...goal, ...verdict });
  }
  console.log(`\n(${name}: ${Math.round((performance.now() - start) / 1000)} s)`);
}

if (results.goals.length > 0) printGoals();
if (results.goals.some(({ holds }) => holds === false)) process.exitCode = 1;

// Part of a run is no result to compare.
if (wanted.length === 0 && !quick) {
  writeResults(fileURLToPath(new URL('results.json', import.meta.url)), results);
  const { writePage } = await import('./page/page.mjs');
  writePage(fileURLToPath(new URL('../docs', import.meta.url)), results);
}

function digits(value) {
  return value?.toFixed(2) ?? '';
}

function yesNo(value) {
  if (value === undefined) return '';
  return value ? 'yes' : 'no';
}

function printGoals() {
  printTable({
    title: 'Goals',
    columns: [
      ['goal', 'goal'],
      ['most', 'at most', digits],
      ['seen', 'seen', digits],
      ['least', 'of the least rounds', digits],
      ['met', 'met', yesNo],
      ['kept', 'fails above', digits],
      ['holds', 'holds', yesNo],
    ],
    rows: results.goals,
  });
}
