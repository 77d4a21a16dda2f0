import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as core from '@sluice/core';
import { type AlgorithmName, createLimiter, manualClock } from '@sluice/core';
import { claimsOf, importsOf, printsOf, typeErrorsOf } from './examples.js';
import { anchorOf, fencesOf, headingsOf, linksOf, tracesOf } from './markdown.js';
import { publicNamesOf } from './public-names.js';

const root = join(__dirname, '..', '..', '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

const pages = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(root, 'docs'), { recursive: true })
    .map((name) => join('docs', String(name)))
    .filter((name) => name.endsWith('.md')),
  ...readdirSync(join(root, 'packages')).map((name) => join('packages', name, 'README.md')),
  'examples/README.md',
  'bench/README.md',
].filter((path) => existsSync(join(root, path)));

/** The `ts` blocks of all pages, by the name of a file beside the page. */
const examples = new Map(
  pages.flatMap((path) =>
    fencesOf(read(path))
      .filter(({ language }) => language === 'ts')
      .map(({ text, line }) => [`${path.replace(/\.md$/, '')}.line-${line}.ts`, text] as const),
  ),
);

/** A page for each algorithm: the compiler asks for those that are new. */
const algorithmPages: Record<AlgorithmName, string> = {
  'fixed-window': read('docs/algorithms/fixed-window.md'),
  'sliding-window-log': read('docs/algorithms/sliding-window-log.md'),
  'sliding-window-counter': read('docs/algorithms/sliding-window-counter.md'),
  'token-bucket': read('docs/algorithms/token-bucket.md'),
  gcra: read('docs/algorithms/gcra.md'),
  'leaky-bucket': read('docs/algorithms/leaky-bucket.md'),
};

describe('the page of each algorithm', () => {
  it.each(Object.entries(algorithmPages))('%s has a worked trace of its own', (algorithm, page) => {
    const named = tracesOf(page).filter(({ policy }) => policy.algorithm === algorithm);
    expect(named.length).toBeGreaterThan(0);
  });

  const traces = Object.entries(algorithmPages).flatMap(([algorithm, page]) =>
    tracesOf(page).map((trace) => [`${algorithm}.md:${trace.line}`, trace] as const),
  );
  it.each(traces)('%s is decided as the page says', (_place, { policy, steps }) => {
    const clock = manualClock();
    const limiter = createLimiter({ policies: [policy], clock });
    for (const { line, at, cost, ...said } of steps) {
      clock.set(at);
      const { allowed, remaining, retryAfterMs, resetMs, delayMs } = limiter.consume('a', { cost });
      expect({ line, allowed, remaining, retryAfterMs, resetMs, delayMs }).toEqual({ line, ...said });
    }
  });
});

describe('public names', () => {
  const entries = ['core/src', 'core/src/redis', 'core/src/http', 'express/src', 'fastify/src', 'koa/src'];
  const names = publicNamesOf(
    root,
    entries.map((entry) => join(root, 'packages', entry, 'index.ts')),
  );

  it('have a docstring each, members included', () => {
    expect(names.length).toBeGreaterThan(200);
    expect(names.filter(({ doc }) => doc === '').map(({ name }) => name)).toEqual([]);
  });

  it('have an example each if they can be called or made, which type-checks', () => {
    const callable = names.filter((one) => one.callable);
    expect(callable.length).toBeGreaterThan(20);
    expect(callable.filter(({ examples }) => examples.length === 0).map(({ name }) => name)).toEqual([]);
    const sources = names.flatMap(({ name, examples }) =>
      examples.map((text, i) => [`packages/conformance/src/${name}-${i}.example.ts`, text] as const),
    );
    expect(typeErrorsOf(root, new Map(sources))).toEqual([]);
  });
});

describe('the reference', () => {
  it('has a heading for every error code, and for no other', () => {
    const codes = read('packages/core/src/errors.ts').match(/(?<=\| ')ERR_\w+/g);
    expect(codes?.length).toBeGreaterThan(0);
    const headings = headingsOf(read('docs/reference/errors.md'));
    expect(headings.filter((heading) => heading.startsWith('ERR_')).sort()).toEqual(codes?.sort());
  });

  it('has a heading for every warning, and for no other', () => {
    const sources = ['core', 'express', 'fastify', 'koa'].flatMap((name) => {
      const folder = join('packages', name, 'src');
      const files = readdirSync(join(root, folder), { recursive: true }).map(String);
      return files.filter((file) => /(?<!\.test)\.ts$/.test(file)).map((file) => read(join(folder, file)));
    });
    const codes = new Set(sources.join().match(/(?<=')SLUICE_\w+(?=')/g));
    expect(codes.size).toBeGreaterThan(5);
    const headings = headingsOf(read('docs/reference/errors.md'));
    expect(headings.filter((heading) => heading.startsWith('SLUICE_')).sort()).toEqual([...codes].sort());
  });

  it('has a row for every option', () => {
    const optionsOf = (path: string, name: string) => {
      const [body] = new RegExp(`interface ${name}\\b.*?\n}`, 's').exec(read(path)) ?? [''];
      return [...body.matchAll(/^ {2}readonly (\w+)/gm)].map(([, option]) => option);
    };
    const policies =
      read('packages/core/src/types.ts').match(/(?<=interface )(?!Parsed)\w*Policy(Base)?(?=\s)/g) ?? [];
    const options = [
      ...policies.flatMap((name) => optionsOf('packages/core/src/types.ts', name)),
      ...optionsOf('packages/core/src/types.ts', 'Decision'),
      ...optionsOf('packages/core/src/limiter.ts', 'LimiterOptions'),
      ...optionsOf('packages/core/src/limiter.ts', 'RequestOptions'),
      ...optionsOf('packages/core/src/memory/memory-store.ts', 'MemoryStoreOptions'),
      ...optionsOf('packages/core/src/redis/redis-store.ts', 'RedisStoreOptions'),
      ...optionsOf('packages/core/src/redis/redis-transport.ts', 'RedisTransportOptions'),
      ...optionsOf('packages/core/src/layered/layered-store.ts', 'LayeredStoreOptions'),
      ...optionsOf('packages/core/src/http/options.ts', 'CommonOptions'),
      ...optionsOf('packages/core/src/http/client-ip.ts', 'ClientIpOptions'),
    ];
    expect(options).toEqual(expect.arrayContaining(['burst', 'clock', 'cost', 'maxKeys', 'prefix', 'skip']));
    const rows =
      (read('docs/reference/options.md') + read('docs/identity.md')).match(/^\|[^|]+\|/gm)?.join('') ?? '';
    expect(options.filter((option) => !rows.includes(`\`${option}\``))).toEqual([]);
  });

  it('shows headers as the vectors have them', () => {
    const { cases, several } = JSON.parse(read('packages/conformance/vectors/headers.json'));
    const right = new Set(
      [...cases, ...several].flatMap(({ headers }) =>
        Object.values(headers as Record<string, Record<string, string>>).flatMap((fields) =>
          Object.entries(fields).map(([name, value]) => `${name}: ${value}`),
        ),
      ),
    );
    const shown = ['docs/reference/headers.md', 'docs/guide.md']
      .flatMap((path) => fencesOf(read(path)))
      .filter(({ language }) => language === 'http')
      .flatMap(({ text }) => text.split('\n'))
      .filter((line) => /^(X-)?RateLimit|^Retry-After/.test(line));
    expect(shown.length).toBeGreaterThan(0);
    expect(shown.filter((line) => !right.has(line))).toEqual([]);
  });
});

describe('the pages', () => {
  it('have examples that type-check', () => {
    expect(examples.size).toBeGreaterThan(0);
    expect(typeErrorsOf(root, examples)).toEqual([]);
  }, 120_000);

  const runnable = [...examples].filter(([, example]) =>
    importsOf(example).every((name) => name === '@sluice/core'),
  );
  it.each(runnable)('have examples that print what they say: %s', async (_name, example) => {
    expect(await printsOf(example, { '@sluice/core': core })).toEqual(claimsOf(example));
  });

  it.each(pages)('have links that lead somewhere: %s', (path) => {
    const broken = linksOf(read(path)).filter((link) => {
      if (/^https?:/.test(link)) return false;
      const [file, anchor] = link.split('#');
      const target = file === '' ? path : join(dirname(path), file);
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && !headingsOf(read(target)).map(anchorOf).includes(anchor);
    });
    expect(broken).toEqual([]);
  });
});
