// What may differ between versions of Node, tested on every one that Sluice supports: the packages as they are
// installed, the adapters, and the core. Says which versions could not be had. Other arguments go to Jest.

import { join } from 'node:path';
import { findNodes } from './nodes.mjs';
import { ifMain, root, run } from './run.mjs';
import { setup } from './setup.mjs';

const tests =
  'packages/(core|express|fastify|koa|conformance/src/(packaging|built-packages|warnings|memory-store|redis-store))';
const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');

/** Returns an exit code. */
async function testNodes() {
  const failed = await setup();
  if (failed) return failed;

  const results = [];
  for (const { major, version, program, why } of await findNodes()) {
    if (program === undefined) {
      results.push({ title: `Node ${major}`, outcome: `NOT TESTED, it could not be had: ${why}` });
      continue;
    }
    const title = `Node ${version}`;
    console.log(`\n> ${title}`);
    const code = await run(program, [jest, '--ci', tests, ...process.argv.slice(2)]);
    results.push({ title, code, outcome: code === 0 ? 'passed' : 'FAILED' });
  }

  console.log('');
  for (const { title, outcome } of results) console.log(`${title}: ${outcome}`);
  const tested = results.filter(({ code }) => code !== undefined);
  return tested.length > 0 && tested.every(({ code }) => code === 0) ? 0 : 1;
}

await ifMain(import.meta, testNodes);
