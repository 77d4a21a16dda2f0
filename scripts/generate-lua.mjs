// Writes packages/core/src/redis/scripts.generated.ts: the one script that Redis runs, put together from the .lua files.
// With --check it writes nothing and fails if the file is not what it would write.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const source = new URL('../packages/core/src/', import.meta.url);
const target = new URL('redis/scripts.generated.ts', source);

/** What outcome.ts and exact.ts call so. */
const SHARED = {
  ...{ NEVER: -1, NOTHING: 0, IF_ADMITTED: 1, ALWAYS: 2, MOST: Number.MAX_SAFE_INTEGER },
  // Where they stand in what `decide` returns: Lua counts from 1.
  ...{ REMAINING: 1, RETRY: 2, RESET: 3, AT: 4, DELAY: 5 },
};

/**
 * A file as Redis reads it: without comments, blank lines and indentation, and with its constants (`local NAME = 1`)
 * written in, because as locals every function that uses one would have to capture it on every call.
 */
function read(path) {
  const constants = { ...SHARED };
  const lines = readFileSync(new URL(path, source), 'utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('--'))
    .filter((line) => {
      const [, name, value] = /^local ([A-Z_]+) = (\d+)$/.exec(line) ?? [];
      if (name !== undefined) constants[name] = value;
      return name === undefined;
    });
  return lines.join('\n').replace(/\b[A-Z_]+\b/g, (name) => constants[name] ?? name);
}

const names = readdirSync(new URL('algorithms/', source))
  .filter((file) => file.endsWith('.lua') && file !== 'exact.lua')
  .map((file) => file.slice(0, -'.lua'.length))
  .sort();

/** Each algorithm is a branch, so that a call makes only the functions that its policies need. */
const branches = names.map((name) => {
  const text = read(`algorithms/${name}.lua`);
  const shared = [];
  if (name === 'sliding-window-log') shared.push(read('redis/log.lua'));
  if (/mulDiv/i.test(text)) shared.push(read('algorithms/exact.lua'));
  return [`if name == '${name}' then`, ...shared, text, 'end'].join('\n');
});

const script = [
  `local function algorithm(name)\n${branches.join('\n')}\nerror('sluice: unknown algorithm ' .. name)\nend`,
  read('redis/envelope.lua'),
].join('\n');

const text = `// DO NOT EDIT. Made by scripts/generate-lua.mjs from the .lua files of this package.

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
