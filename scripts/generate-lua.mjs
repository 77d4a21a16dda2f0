// Writes packages/core/src/redis/scripts.generated.ts: the one script that Redis runs, put together from the .lua files.
// With --check it writes nothing and fails if the file is not what it would write.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const folder = new URL('../packages/core/src/', import.meta.url);
const target = new URL('redis/scripts.generated.ts', folder);

/** What the script is asked to do. */
const OPERATIONS = {
  ...{ CONSUME: 0, PEEK: 1, CHARGE: 2, REFUND: 3, SETTLE: 4, FORGET: 5 },
  // Of a request that other keys deny, which lie elsewhere.
  ...{ CONSUME_DENIED: 6, PEEK_DENIED: 7 },
  ...{ BLOCK: 8, UNBLOCK: 9 },
};

/** Added to the number of an algorithm: what a strike takes follows the numbers of the policy. */
const BLOCKING = 32;

/** What outcome.ts and exact.ts call so. */
const SHARED = {
  ...{ NEVER: -1, NOTHING: 0, IF_ADMITTED: 1, ALWAYS: 2, MOST: Number.MAX_SAFE_INTEGER },
  // Has `mulDiv` round up.
  UP: true,
  // Says of an algorithm that a key mostly ends when it would have ended before the request.
  ALIGNED: true,
  // What block.lua packs: its first byte, and how many there are. By BLOCKS the script knows what it needs for them.
  ...{ BLOCKED: 66, BLOCK_BYTES: 50, BLOCKING, BLOCKS: 0 },
  // How long a key lives in addition to what it means, and at least where its clock is not the server's.
  ...{ SLACK: 500, LEAST_TTL_UNDER_OTHER_CLOCKS: 60_000 },
  ...OPERATIONS,
};

/**
 * A file as Redis reads it: without comments, blank lines and indentation, and with its constants (`local NAME = 1`)
 * written in, because as locals every function that uses one would have to capture it on every call.
 */
function read(path, source = linesOf(path)) {
  const constants = { ...SHARED };
  const lines = source.filter((line) => {
    const [, name, value] = /^local ([A-Z_]+) = (\d+|'[^']*')$/.exec(line) ?? [];
    if (name in constants) throw new Error(`${path}: ${name} has a value already.`);
    if (name !== undefined) constants[name] = value;
    return name === undefined;
  });
  return lines.join('\n').replace(/\b[A-Z_]+\b/g, (name) => constants[name] ?? name);
}

function linesOf(path) {
  const lines = readFileSync(new URL(path, folder), 'utf8').split('\n');
  return lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('--'));
}

/** An algorithm. What another that it builds on needs to decide, and to correct, stands before its own for the same. */
function readAlgorithm(path, base) {
  const own = partsOf(path);
  const its = base === undefined ? { decides: [], corrects: [] } : partsOf(base);
  const lines = [...its.decides, ...own.decides, own.returns, ...its.corrects, ...own.corrects, own.end];
  return read(path, lines).replace(/\bQUEUES\b/g, String(base !== undefined));
}

/** The parts of an algorithm: it returns when it can decide, if it is not to correct as well, and at its end. */
function partsOf(path) {
  const lines = linesOf(path);
  const end = lines.pop();
  const middle = lines.findIndex((line) => /^if not corrects then return decide\b/.test(line));
  if (middle < 0 || !/^return decide\b/.test(end))
    throw new Error(`${path}: expected two lines that return decide.`);
  return { decides: lines.slice(0, middle), returns: lines[middle], corrects: lines.slice(middle + 1), end };
}

/** Those that are no algorithms. */
const SHARED_FILES = ['block.lua', 'exact.lua'];

const names = readdirSync(new URL('algorithms/', folder))
  .filter((file) => file.endsWith('.lua') && !SHARED_FILES.includes(file))
  .map((file) => file.slice(0, -'.lua'.length))
  .sort();

/** How the script knows them. */
const codes = Object.fromEntries(names.map((name, i) => [name, i + 1]));

/** What an algorithm builds on. */
const bases = { 'leaky-bucket': 'algorithms/token-bucket.lua' };

/** Each algorithm is a branch, so that a call makes only the functions that its policies need. */
const branches = names.map((name) => {
  const text = readAlgorithm(`algorithms/${name}.lua`, bases[name]);
  const shared = [];
  if (/\bopen\b/.test(text)) shared.push(read('redis/log.lua'));
  if (/\bmulDiv\b/.test(text)) shared.push(read('algorithms/exact.lua'));
  return [`if code == ${codes[name]} then`, ...shared, text, 'end'].join('\n');
});

const blocks = [
  `if code == ${SHARED.BLOCKS} then`,
  read('algorithms/block.lua'),
  read('redis/blocks.lua'),
  'end',
].join('\n');

const script = [
  `local function algorithm(code, corrects, now, clock, operation, numbers)\n${[...branches, blocks].join('\n')}\nerror('sluice: unknown algorithm ' .. code)\nend`,
  read('redis/envelope.lua'),
].join('\n');

const text = `// DO NOT EDIT. Made by scripts/generate-lua.mjs from the .lua files of this package.

/** What the script is asked to do. */
export const OPERATIONS = ${JSON.stringify(OPERATIONS)} as const;

/** By what number the script knows an algorithm. */
export const CODES = ${JSON.stringify(codes)} as const;

/** Added to that number where what a strike takes follows. */
export const BLOCKING = ${BLOCKING};

/** The name by which a server that has seen the script knows it. */
export const sha1 = '${createHash('sha1').update(script).digest('hex')}';

export const script =
  ${JSON.stringify(script)};
`;

if (process.argv.includes('--check')) {
  if (readFileSync(target, 'utf8') !== text) {
    console.error('scripts.generated.ts is not what the .lua files say: run npm run generate.');
    process.exit(1);
  }
} else writeFileSync(target, text);
