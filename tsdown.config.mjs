// Packing and checking takes longer than building, and wants pnpm on the PATH: only `npm test` asks for it.
const check = process.env.CHECK_PACKAGES === '1';

export default {
  // One pass and no order: each package's declarations come from its own source alone (isolatedDeclarations).
  workspace: ['packages/{core,express,fastify,koa}'],
  entry: ['src/index.ts', 'src/{redis,http}/index.ts'],
  format: ['esm', 'cjs'],
  dts: true,
  outputOptions: {
    // By `require` there are the same names as by `import`, and the default is one of them.
    exports: 'named',
    // A chunk of its own for the bundler's helpers. Left to itself it puts them into an entry, which then exports them,
    // and which every chunk that could need one loads: the core would load HTTP.
    codeSplitting: { groups: [{ name: 'interop', test: /rolldown[\\/]runtime/ }] },
  },
  logLevel: 'warn',
  publint: check && { strict: true },
  // node16: the profile without Node 10, which knows no `exports` and so no `@sluice/core/redis`.
  attw: check && { profile: 'node16', level: 'error' },
};
