/** @jest-config-loader esbuild-register */
import type { Config } from 'jest';

const config: Config = {
  testMatch: [
    '<rootDir>/packages/**/*.test.ts',
    '<rootDir>/examples/**/*.test.ts',
    '<rootDir>/bench/**/*.test.ts',
  ],
  // A built package and its source have the same name, and only the source is under test.
  modulePathIgnorePatterns: ['<rootDir>/.*/dist/'],
  transform: {
    '\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'commonjs' } },
    ],
  },
  moduleNameMapper: {
    '^@sluice/core/(redis|http)$': '<rootDir>/packages/core/src/$1/index.ts',
    '^@sluice/(core|express|fastify|koa|conformance)$': '<rootDir>/packages/$1/src/index.ts',
    // Imports name the file that will exist after the build.
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  globalSetup: '<rootDir>/packages/conformance/jest/global-setup.ts',
  globalTeardown: '<rootDir>/packages/conformance/jest/global-teardown.ts',
  testEnvironment: '<rootDir>/packages/conformance/jest/environment.ts',
  maxWorkers: 2,
  // Of the tests that mostly wait, so many at once.
  maxConcurrency: 3,
  testTimeout: 30_000,
};

export default config;
