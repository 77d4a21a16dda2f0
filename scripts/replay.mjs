// Replays a log of a server through a limiter, and tells how its decisions compare with those of the exact log.
//
//   node scripts/replay.mjs access.log.gz --format combined --limit 10 --window 10s
//
// It reads the built packages: run `npm run build` first.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { formats } from './replay/formats.mjs';
import { ifMain, root } from './run.mjs';

const USAGE = `Usage: node scripts/replay.mjs <file> --format <${Object.keys(formats).join('|')}> --limit <n> --window <10s>
  [--algorithm <name>] [--buckets <n>] [--edge <name>] [--rounding <name>] [--json]
The file may be gzipped. It is read whole.`;

const built = join(root, 'packages/core/dist/index.mjs');

const OPTIONS = ['format', 'limit', 'window', 'algorithm', 'buckets', 'edge', 'rounding'];

/** Returns the requests in the order of their time, as servers write them down when they end, and how many lines are none. */
function readLog(file, format) {
  const bytes = readFileSync(file);
  const plain = bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes;
  // By bytes: what is no UTF-8 would make different clients one.
  const lines = plain.toString('latin1').split('\n');
  if (lines.at(-1) === '') lines.pop();
  const read = formats[format]();
  const found = lines.map((line) => read(line.endsWith('\r') ? line.slice(0, -1) : line));
  const requests = found.filter(Boolean);
  const late = requests.filter(({ at }, i) => i > 0 && at < requests[i - 1].at).length;
  const skipped = found.filter((request) => request === undefined).length;
  return { requests: requests.sort((a, b) => a.at - b.at), skipped, late };
}

/** Returns what the audit of all keys finds of a limiter with one policy. */
function replay({ Audit, createLimiter, manualClock }, requests, policy) {
  const clock = manualClock();
  const limiter = createLimiter({ policies: [policy], clock });
  const audit = new Audit(limiter.policies, { sample: 1, maxKeys: 2 ** 20 });
  for (const { key, at } of requests) {
    clock.set(at);
    audit.observe(key, limiter.consume(key));
  }
  const { evictions, policies } = audit.report();
  return {
    ...policies[limiter.policies[0].name],
    evictions,
    keys: new Set(requests.map(({ key }) => key)).size,
  };
}

function describe({
  skipped,
  late,
  decisions,
  keys,
  exactDenies,
  independent,
  sameHistory,
  worstBurst,
  evictions,
}) {
  const percent = (count) => `${((100 * count) / Math.max(1, decisions)).toFixed(4)} %`;
  const differ = ({ falseAllows, falseDenies }) =>
    `${percent(falseAllows + falseDenies)} (false allows ${percent(falseAllows)}, false denies ${percent(falseDenies)})`;
  return [
    `${decisions} requests of ${keys} keys; malformed lines skipped: ${skipped}; lines out of order: ${late}`,
    `the exact log denies   ${percent(exactDenies)}`,
    `independent, differ    ${differ(independent)}`,
    `same history, differ   ${differ(sameHistory)}`,
    `worst burst            ${worstBurst.toFixed(3)} times the limit`,
    ...(evictions > 0 ? [`${evictions} keys were given up for want of room: the figures are off`] : []),
  ].join('\n');
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      ...Object.fromEntries(OPTIONS.map((name) => [name, { type: 'string' }])),
      json: { type: 'boolean', default: false },
    },
  });
  const { format, json, limit, buckets, ...rest } = values;
  if (positionals.length !== 1 || !Object.hasOwn(formats, format ?? '')) {
    console.error(USAGE);
    return 2;
  }
  if (!existsSync(built)) throw new Error('Expected the packages to be built: npm run build');
  const { requests, skipped, late } = readLog(positionals[0], format);
  const policy = {
    ...rest,
    limit: Number(limit),
    ...(buckets === undefined ? {} : { buckets: Number(buckets) }),
  };
  const core = await import(pathToFileURL(built).href);
  const found = { skipped, late, ...replay(core, requests, policy) };
  console.log(json ? JSON.stringify(found) : describe(found));
  return 0;
}

await ifMain(import.meta, () =>
  main().catch((error) => {
    console.error(error.message);
    return 1;
  }),
);
