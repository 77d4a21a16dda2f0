import type { KnipConfig } from 'knip';

/** An example of the documentation is a user of what it imports. What is in `js` is the code of others: see docs/moving. */
const importsOf = (page: string): string =>
  [...page.matchAll(/^```ts\n(.*?)^```$/gms)]
    .flatMap(([, example]) => example.match(/^import [^;]* from '[^']+';$/gm) ?? [])
    .join('\n');

const config: KnipConfig = {
  compilers: { md: importsOf },
  workspaces: {
    '.': {
      entry: ['scripts/*.mjs', '*.md', '{docs,examples}/**/*.md'],
      // tsdown, Jest and the words of CONTRIBUTING.md call these by name.
      ignoreDependencies: ['@arethetypeswrong/cli', 'esbuild-register', 'lerna'],
    },
    'packages/core': { entry: ['src/{index,redis/index,http/index}.ts', 'src/**/*.test.ts', '*.md'] },
    'packages/conformance': {
      entry: [
        'src/**/*.test.ts',
        'src/**/*child.ts',
        // The bench bundles it.
        'src/simulator/table.ts',
        'src/packaging/{consumers,scripts}/*.{ts,mjs}',
        'src/real-clients/*.mjs',
        'jest/*.ts',
        '*.md',
      ],
    },
    'packages/*': { entry: ['src/index.ts', 'src/**/*.test.ts', '*.md'] },
    bench: { entry: ['profile.mjs', 'harness/worker.mjs', 'workloads/*.mjs', '*.md'] },
    'examples/*': { entry: ['src/*.mjs'] },
  },
};

export default config;
