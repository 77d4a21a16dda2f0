import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { ensureBuilt } from '../built-packages.js';

const root = join(__dirname, '..', '..', '..', '..');
const logs = join(__dirname, 'logs');
const tight = ['--limit', '2', '--window', '10s'];

beforeAll(ensureBuilt, 120_000);

function replay(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'scripts/replay.mjs'), ...args],
    {
      encoding: 'utf8',
    },
  );
  return { status, stdout, stderr };
}

function found(...args: string[]) {
  const { stdout, stderr } = replay(...args, '--json');
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

/**
 * In each log one client comes twice at second 9, at 15 and at 18, another at 12, and 15 stands behind 18.
 * In windows of 10 s, the two of second 9 are half out of the estimate at 15, and all in the window until 19.
 */
const right = {
  decisions: 5,
  exactDenies: 2,
  independent: { falseAllows: 1, falseDenies: 0 },
  sameHistory: { falseAllows: 1, falseDenies: 0 },
  worstBurst: 1.5,
  unexplained: 0,
  evictions: 0,
  keys: 2,
  late: 1,
};

describe('Replaying a log', () => {
  it.each([
    ['clf', 'common.txt', 3],
    ['combined', 'combined.txt', 3],
    ['tsv', 'columns.tsv', 3],
    ['zeek', 'zeek.txt', 2],
  ])(
    'of the format %s finds what is in it, in the order of time, and skips what makes no sense',
    (format, file, skipped) => {
      expect(found(join(logs, file), '--format', format, ...tight)).toEqual({ ...right, skipped });
    },
  );

  it('reads one that is gzipped, whatever it is called', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-replay-'));
    try {
      const file = join(folder, 'access');
      writeFileSync(file, gzipSync(readFileSync(join(logs, 'common.txt'))));
      expect(found(file, '--format', 'clf', ...tight)).toEqual({ ...right, skipped: 3 });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('takes the policy from its arguments', () => {
    const file = join(logs, 'zeek.txt');
    const guarded = ['--algorithm', 'sliding-window-counter', '--buckets', '10', '--edge', 'keep'];
    expect(found(file, '--format', 'zeek', ...tight, ...guarded)).toMatchObject({
      independent: { falseAllows: 0, falseDenies: 0 },
      worstBurst: 1,
    });
    const fixed = ['--algorithm', 'fixed-window'];
    expect(found(file, '--format', 'zeek', ...tight, ...fixed)).toMatchObject({ worstBurst: 2 });
  });

  it('prints percent of decisions', () => {
    expect(replay(join(logs, 'columns.tsv'), '--format', 'tsv', ...tight).stdout.split('\n')).toEqual([
      '5 requests of 2 keys; malformed lines skipped: 3; lines out of order: 1',
      'the exact log denies   40.0000 %',
      'independent, differ    20.0000 % (false allows 20.0000 %, false denies 0.0000 %)',
      'same history, differ   20.0000 % (false allows 20.0000 %, false denies 0.0000 %)',
      'worst burst            1.500 times the limit',
      '',
    ]);
  });

  const common = join(logs, 'common.txt');
  it.each<[string, string[], number, string]>([
    ['no file', ['nowhere.txt', '--format', 'clf', ...tight], 1, 'no such file'],
    ['no format', [common, '--format', 'xml', ...tight], 2, 'Usage'],
    ['no limit', [common, '--format', 'clf', '--limit', 'many', '--window', '10s'], 1, 'Expected `limit`'],
    ['no column', [common, '--format', 'tsv', ...tight], 1, 'Expected a column called host'],
    ['no estimate', [common, '--format', 'clf', ...tight, '--algorithm', 'gcra'], 1, 'that estimates'],
  ])('says what is wrong: %s', (_, args, status, message) => {
    const answer = replay(...args);
    expect(answer.status).toBe(status);
    expect(answer.stderr).toContain(message);
    expect(answer.stderr).not.toContain('    at ');
  });
});
