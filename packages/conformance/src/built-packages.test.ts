import { execFileSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { builtEntries, ensureBuilt } from './built-packages.js';

const entries = builtEntries();

beforeAll(ensureBuilt, 120_000);

/** What Node prints of a script, read as JSON. */
function printed<T>(script: string): T {
  const args = ['--input-type=module', '--eval', `import { createRequire } from 'node:module';\n${script}`];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

/** The names that each of the files exports, values and types, sorted; read from the file alone, as each lists its own. */
function exportedNames(files: readonly string[]): string[][] {
  const program = ts.createProgram(files, { noResolve: true, noLib: true, types: [] });
  const checker = program.getTypeChecker();
  return files.map((file) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(file)!)!;
    return checker
      .getExportsOfModule(module)
      .map(({ name }) => name)
      .sort();
  });
}

describe('The built packages', () => {
  it('are these, each by import and by require', () => {
    expect(entries.map(({ specifier }) => specifier)).toEqual([
      '@sluice/core',
      '@sluice/core/redis',
      '@sluice/core/http',
      '@sluice/express',
      '@sluice/fastify',
      '@sluice/koa',
    ]);
  });

  it.each(entries)(
    '$specifier exports what its index.ts lists and nothing else, by import and by require',
    async ({ source, modules }) => {
      const listed = Object.keys(await jest.requireActual(source)).sort();
      expect(listed.length).toBeGreaterThan(0);
      const found = printed(`
      const required = createRequire(import.meta.url)(${JSON.stringify(modules.require)});
      const imported = await import(${JSON.stringify(pathToFileURL(modules.import))});
      console.log(JSON.stringify([required, imported].map((module) => Object.keys(module).sort())));
    `);
      expect(found).toEqual([listed, listed]);
    },
  );

  it('declare the values and types that index.ts lists, and nothing else, for import and for require', () => {
    const files = entries.flatMap(({ source, types }) => [source, types.import, types.require]);
    const names = exportedNames(files);
    entries.forEach(({ specifier }, i) => {
      const [listed, ...declared] = names.slice(3 * i, 3 * i + 3);
      expect({ specifier, declared }).toEqual({ specifier, declared: [listed, listed] });
      expect(listed.length).toBeGreaterThan(0);
    });
  });

  it.each(['@sluice/core', '@sluice/core/redis'])('load nothing of HTTP with %s', (specifier) => {
    const { modules } = entries.find((entry) => entry.specifier === specifier)!;
    const loaded = printed<string[]>(`
      const require = createRequire(import.meta.url);
      require(${JSON.stringify(modules.require)});
      console.log(JSON.stringify(Object.keys(require.cache)));
    `);
    expect(loaded).toContain(modules.require);
    expect(loaded.filter((file) => /\/http\/|ipaddr/.test(file))).toEqual([]);
  });
});
