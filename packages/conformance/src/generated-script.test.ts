import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const GENERATOR = join(__dirname, '..', '..', '..', 'scripts', 'generate-lua.mjs');

describe('The script that Redis runs', () => {
  it('is what the Lua files say', () => {
    const { status, stderr } = spawnSync(process.execPath, [GENERATOR, '--check'], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });
});
