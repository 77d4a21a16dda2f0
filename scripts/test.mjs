// Everything that must hold, cheapest first. Stops at the first stage that fails, with its exit code.
// `--long` gives the random tests a larger budget; other arguments go to Jest.

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureRedis } from './redis.mjs';
import { root, run } from './run.mjs';
import { setup } from './setup.mjs';

const jestArgs = process.argv.slice(2).filter((argument) => argument !== '--long');
if (process.argv.includes('--long')) process.env.SLUICE_LONG = '1';

const temp = mkdtempSync(join(tmpdir(), 'sluice-test-'));
const results = join(temp, 'results.json');
const generator = join(root, 'scripts', 'generate-lua.mjs');

const stages = {
  setup,
  redis: ensureRedis,
  lint: () => run('biome', ['check', '--error-on-warnings', '.']),
  types: () => run('tsc', ['--noEmit']),
  unused: () => run('knip', ['--treat-config-hints-as-errors']),
  generated: () => (existsSync(generator) ? run(process.execPath, [generator, '--check']) : 0),
  build,
  tests: () => run('jest', ['--ci', '--json', `--outputFile=${results}`, ...jestArgs]),
};

/** Builds the packages, and checks them as pnpm would publish them; for that, pnpm must be on the PATH. */
function build() {
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return run('npx', ['-y', '-p', packageManager, '-c', 'tsdown'], { CHECK_PACKAGES: '1' });
}

async function runStages() {
  for (const [name, stage] of Object.entries(stages)) {
    console.log(`\n> ${name}`);
    const start = performance.now();
    const code = await stage();
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    console.log(`> ${name} ${code === 0 ? 'passed' : 'failed'} in ${seconds} s`);
    if (code !== 0) return code;
  }
  const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(results, 'utf8'));
  console.log(`\n${numPassedTests} passed, ${numFailedTests} failed`);
  return 0;
}

try {
  process.exitCode = await runStages();
} finally {
  rmSync(temp, { recursive: true, force: true });
}
