// node --expose-gc bench/profile.mjs [--contender sluice] [--keys 10000] [--denied]
// Where the time of decisions in this process goes, by function. Build first; what is profiled is what was built.

import { Session } from 'node:inspector/promises';
import { parseArgs } from 'node:util';
import { open } from './workloads/memory.mjs';

const WARMUP = 5;
const TURNS = 40;
const VISITS = 30;
const MOST_ROWS = 20;

const { values } = parseArgs({
  options: {
    contender: { type: 'string', default: 'sluice' },
    keys: { type: 'string', default: '10000' },
    denied: { type: 'boolean', default: false },
  },
});
const keys = Number(values.keys);
const workload = open(values.contender, { keys, limit: 100, windowMs: 60_000 });

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.setSamplingInterval', { interval: 200 });

const selfMicros = new Map();

/** Adds up the time between the samples, by the function that was on top. */
function add({ nodes, samples, timeDeltas }) {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  samples.forEach((id, i) => {
    const { functionName, url, lineNumber } = frames.get(id);
    const place = url === '' ? '' : `${url.split('/').slice(-2).join('/')}:${lineNumber + 1}`;
    const name = `${functionName || '(anonymous)'} ${place}`;
    selfMicros.set(name, (selfMicros.get(name) ?? 0) + timeDeltas[i]);
  });
}

for (let turn = -WARMUP; turn < TURNS; turn++) {
  await workload.clear();
  await (values.denied ? workload.exhaust() : workload.visit());
  globalThis.gc?.();
  if (turn >= 0) await session.post('Profiler.start');
  await workload.decide(VISITS * keys);
  if (turn >= 0) add((await session.post('Profiler.stop')).profile);
}

const total = [...selfMicros.values()].reduce((sum, micros) => sum + micros, 0);
const rows = [...selfMicros].sort(([, a], [, b]) => b - a).slice(0, MOST_ROWS);
for (const [name, micros] of rows) {
  const share = ((100 * micros) / total).toFixed(1);
  const nanos = ((1000 * micros) / (TURNS * VISITS * keys)).toFixed(1);
  console.log(`${share.padStart(5)} % ${nanos.padStart(7)} ns  ${name}`);
}
