// What a server's version could change, tested on every server that Sluice supports. Says which of them could not be had.
// `--long` gives the random tests a larger budget; other arguments go to Jest.

import { ifMain, run } from './run.mjs';
import { findServers } from './servers.mjs';
import { setup } from './setup.mjs';

/** The store suite and the parity fuzz, on one server and on a cluster; then the clients, keys, failures. */
const tests = 'packages/conformance/src/(redis-|parity|clients/)';

/** Returns an exit code. */
async function testServers() {
  const failed = await setup();
  if (failed) return failed;
  const jestArgs = process.argv.slice(2).filter((argument) => argument !== '--long');
  const budget = process.argv.includes('--long') ? { SLUICE_LONG: '1' } : {};

  const results = [];
  for (const { name, version, command, why } of await findServers()) {
    const title = `${name} ${version}`;
    if (command === undefined) {
      results.push({ title, outcome: `NOT TESTED, it could not be had: ${why}` });
      continue;
    }
    console.log(`\n> ${title}`);
    const env = { SLUICE_REDIS_COMMAND: JSON.stringify(command), SLUICE_SERVER: title, ...budget };
    const code = await run('jest', ['--ci', tests, ...jestArgs], env);
    results.push({ title, code, outcome: code === 0 ? 'passed' : 'FAILED' });
  }

  console.log('');
  for (const { title, outcome } of results) console.log(`${title}: ${outcome}`);
  const tested = results.filter(({ code }) => code !== undefined);
  return tested.length > 0 && tested.every(({ code }) => code === 0) ? 0 : 1;
}

await ifMain(import.meta, testServers);
