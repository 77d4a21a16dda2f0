import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { algorithmNames, numbersOf } from '../../core/src/algorithms/index.js';
import { parsePolicies } from '../../core/src/policy.js';

const GENERATOR = join(__dirname, '..', '..', '..', 'scripts', 'generate-lua.mjs');

describe('The script that Redis runs', () => {
  it('is what the Lua files say', () => {
    const { status, stderr } = spawnSync(process.execPath, [GENERATOR, '--check'], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('is told as many numbers of a policy as its straight line reads: two, four or seven', () => {
    const lengths = algorithmNames.map((algorithm) => {
      const [policy] = parsePolicies([{ algorithm, limit: 5, window: 1000 }]);
      return numbersOf(policy, 5).length;
    });
    expect([...new Set(lengths)].sort()).toEqual([2, 4, 7]);
  });
});
