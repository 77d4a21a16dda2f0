import { join } from 'node:path';
import { build } from 'esbuild';
import {
  type Application,
  copyConsumers,
  copyScripts,
  names,
  packPackages,
  type Tarballs,
} from './install.js';
import { allPrograms, type Program } from './programs.js';

const newest = {
  express: 'express',
  fastify: 'fastify',
  koa: 'koa',
  '@types/express': '@types/express',
  '@types/koa': '@types/koa',
};
const oldest = {
  express: 'express4',
  fastify: 'fastify',
  koa: 'koa2',
  '@types/express': '@types/express4',
  '@types/koa': '@types/koa2',
};
const programs = allPrograms();

/** What the strictest of users sets. Without `skipLibCheck` every declaration that is loaded is checked, ours too. */
const strictest = {
  target: 'es2022',
  lib: ['es2023'],
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
};

const REQUIRE =
  "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

let tarballs: Tarballs;
let application: Application;
/** What the compiler said of all the TypeScript in it, if anything. */
let complaints: string;
beforeAll(async () => {
  tarballs = await packPackages();
  application = await tarballs.install(newest);
  for (const { file, text } of programs) application.write(file, text);
  copyScripts(application);
  for (const extension of ['mts', 'cts'] as const) copyConsumers(application, names, extension);
  complaints = await application.compile({ ...strictest, module: 'nodenext', outDir: 'compiled' });
}, 120_000);
afterAll(() => tarballs?.dispose());

/** What a program prints, in order. */
async function printedBy(file: string): Promise<string[]> {
  return (await application.run(file)).trim().split('\n').sort();
}

const sorted = ({ prints }: Program) => [...prints].sort();

describe('an application that installed the packages', () => {
  it.each(programs)('runs with $form imports in a $file, and ends by itself', async (program) => {
    const { file } = program;
    const run = /ts$/.test(file) ? join('compiled', file.replace(/ts$/, 'js')) : file;
    expect(await printedBy(run)).toEqual(sorted(program));
  });

  it.each(['esm', 'cjs'] as const)('runs as one file, bundled as %s', async (format) => {
    const program = programs[0];
    const outfile = `bundle.${format === 'esm' ? 'mjs' : 'cjs'}`;
    await build({
      absWorkingDir: application.folder,
      entryPoints: [program.file],
      outfile,
      format,
      bundle: true,
      platform: 'node',
      external: ['express', 'fastify', 'koa'],
      // What is CommonJS still, such as the plugin helper of Fastify, looks for its `require`.
      ...(format === 'esm' && { banner: { js: REQUIRE } }),
      logLevel: 'error',
    });
    expect(await printedBy(outfile)).toEqual(sorted(program));
  });
});

describe('the packages in a process', () => {
  it('change nothing by being loaded, but that Fastify tells one of them of its applications', async () => {
    expect(JSON.parse(await application.run('side-effects.mjs'))).toEqual({
      '@sluice/core': [],
      '@sluice/core/redis': [],
      '@sluice/core/http': [],
      '@sluice/express': [],
      // For the routes that are added before the plugin.
      '@sluice/fastify': ['channel'],
      '@sluice/koa': [],
    });
  });

  it('know of each other where they are loaded by import and by require', async () => {
    expect(JSON.parse(await application.run('--no-warnings', 'two-copies.mjs'))).toEqual({
      copies: 2,
      // One name is one limiter until that is closed, on one store and on two of one client.
      names: [{ taken: 'ERR_SLUICE_NAME_TAKEN' }, { taken: 'ERR_SLUICE_NAME_TAKEN' }],
      // A limiter in both charges once: 10 - 1.
      remaining: '9',
      // Two limiters are told of side by side.
      policies: '"one";q=5;w=3600, "other";q=5;w=3600',
      warnings: ['SLUICE_PROXY_NOT_TRUSTED'],
    });
  });

  it('leave no timer behind, whatever becomes of what they asked Redis', async () => {
    const error = (code: string) => [...Array(3).fill(`ERR_SLUICE_STORE_${code}`), 'ERR_SLUICE_STORE_OPEN'];
    expect(JSON.parse(await application.run('open-timers.mjs'))).toEqual({
      answers: { throw: error('REPLY') },
      fails: { throw: error('CONNECTION'), local: [true, true, true, true] },
      hangs: { throw: error('TIMEOUT'), local: [true, true, true, true] },
    });
  });
});

describe('under the strictest options, the types are right', () => {
  it('for Express 5, Fastify and Koa 3, in modules of either format', () => {
    expect(complaints).toBe('');
  });

  it('for Express 4 and Koa 2, as a bundler resolves them', async () => {
    const old = await tarballs.install(oldest);
    copyConsumers(old, ['express', 'koa'], 'ts');
    const options = { ...strictest, module: 'esnext', moduleResolution: 'bundler', noEmit: true };
    expect(await old.compile(options)).toBe('');
  }, 120_000);
});
