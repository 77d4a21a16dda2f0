// What processes admit together in each mode of a layered store, and how often they ask: simulated, and on a real Redis.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';
import { withContenders } from '../harness/contenders.mjs';
import { commandStats, withRedis } from '../harness/redis-server.mjs';

const workload = new URL('../workloads/layers.mjs', import.meta.url);
const simulator = new URL('../../packages/conformance/src/simulator/table.ts', import.meta.url);
const tsconfig = fileURLToPath(new URL('../../tsconfig.json', import.meta.url));

const PROCESSES = 10;
const LIMIT = 1000;
const WINDOW_MS = 1000;

const bucket = { algorithm: 'token-bucket', limit: LIMIT, window: WINDOW_MS };
const fixed = { algorithm: 'fixed-window', limit: LIMIT, window: WINDOW_MS };
const MODES = [
  [{ mode: 'strict' }, bucket],
  [{ mode: 'reserve' }, bucket],
  [{ mode: 'batch', maxUnsynced: 10 }, bucket],
  [{ mode: 'share', instances: PROCESSES }, fixed],
  [{ mode: 'gossip', syncEvery: 100 }, bucket],
];
const LOADS = { '0.8 times the limit': 0.8, '3 times': 3 };

const percent = (share) => `${(100 * share).toFixed(2)} %`;
const COLUMNS = [
  ['load', 'load'],
  ['mode', 'mode'],
  ['algorithm', 'algorithm'],
  ['overshoot', 'units above the limit'],
  ['undershoot', 'not admitted', percent],
  ['asked', 'store calls per request', percent],
];

/** Runs the simulator, which is no part of any package. Its seed is fixed: it says the same each time. */
async function simulated() {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const outfile = join(folder, 'table.mjs');
  buildSync({
    ...{ entryPoints: [fileURLToPath(simulator)], outfile, bundle: true },
    ...{ platform: 'node', format: 'esm', target: 'node20', tsconfig, logLevel: 'error' },
  });
  const { simulatedTable } = await import(pathToFileURL(outfile));
  rmSync(folder, { recursive: true });
  return simulatedTable();
}

/** Lets processes send requests of one key to one Redis. */
async function real(lastsMs) {
  return withRedis(({ port, admin }) => {
    const contenders = Object.fromEntries(
      Array.from({ length: PROCESSES }, (_, i) => [`process ${i}`, { port }]),
    );
    return withContenders(workload, contenders, async (processes) => {
      const rows = [];
      for (const [load, factor] of Object.entries(LOADS)) {
        for (const [mode, policy] of MODES) {
          rows.push({ load, ...(await together(processes, admin, mode, policy, factor, lastsMs)) });
        }
      }
      return rows;
    });
  });
}

async function together(processes, admin, mode, policy, factor, lastsMs) {
  await admin.flushall();
  await admin.config('RESETSTAT');
  // At the beginning of a window, so that those are whole.
  const fromMs = Math.ceil((Date.now() + 500) / WINDOW_MS) * WINDOW_MS;
  const perSecond = (factor * 1000 * LIMIT) / WINDOW_MS / PROCESSES;
  const name = `${mode.mode}${factor}`;
  const task = { name, mode, policy, perSecond, fromMs, untilMs: fromMs + lastsMs };
  const results = await Promise.all(processes.map((process) => process.does('send', task)));
  const sum = (field) => results.reduce((total, { value }) => total + value[field], 0);
  const commands = await commandStats(admin);
  const calls = (command) => commands[command]?.calls ?? 0;
  // Until the last of them was done.
  const tookMs = Math.max(...results.map(({ wallMs }) => wallMs)) - 500;
  const windows = Math.ceil(lastsMs / WINDOW_MS);
  const all = policy === fixed ? LIMIT * windows : LIMIT + (LIMIT * Math.min(tookMs, lastsMs)) / WINDOW_MS;
  const most =
    policy === fixed ? LIMIT * (windows + 1) : LIMIT + (LIMIT * Math.max(tookMs, lastsMs)) / WINDOW_MS;
  const [admitted, sent] = [sum('admitted'), sum('sent')];
  const ideal = Math.min(sent, all);
  return {
    mode: mode.mode,
    algorithm: policy.algorithm,
    overshoot: Math.max(0, Math.ceil(admitted - most)),
    undershoot: Math.max(0, 1 - admitted / ideal),
    asked: (calls('evalsha') + calls('eval') + calls('publish')) / sent,
    sent,
    admitted,
  };
}

export async function layers({ lastsMs }) {
  const [calculated, counted] = [await simulated(), await real(lastsMs)];
  const row = (rows, mode, load) => rows.find((one) => one.mode === mode && one.load === load);
  const goalsOf = (where, rows) => {
    const reserve = row(rows, 'reserve', '3 times');
    return [
      { goal: `reserve at 3 times its limit, ${where}: store calls, %`, seen: 100 * reserve.asked, most: 4 },
      { goal: `reserve at 3 times its limit, ${where}: units above it`, seen: reserve.overshoot, most: 0 },
      {
        goal: `reserve at 3 times its limit, ${where}: not admitted, %`,
        seen: 100 * reserve.undershoot,
        most: 1,
      },
    ];
  };
  const attacked = row(calculated, 'strict', '100 times a limit of 100');
  return {
    tables: [
      { title: 'Layers, simulated: ten processes', columns: COLUMNS, rows: calculated },
      {
        title: `Layers, counted: ten processes on one Redis, ${lastsMs / 1000} s`,
        columns: COLUMNS,
        rows: counted,
      },
    ],
    goals: [
      {
        goal: 'strict under 100 times its limit, simulated: store calls, %',
        seen: 100 * attacked.asked,
        most: 5,
      },
      ...goalsOf('simulated', calculated),
      ...goalsOf('counted', counted),
    ],
  };
}
