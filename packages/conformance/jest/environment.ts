/**
 * The environment of all tests: Node, in workers that end at once.
 *
 * A worker that has nothing left to do takes its heap apart before it ends. On a busy machine that alone takes longer
 * than the half second after which Jest kills it and says that tests leak. One that does leak never comes to `exit`,
 * and is told of as before.
 *
 * @module
 */

// Workers only: Jest itself sets its exit code in a listener that comes later.
if (process.argv[1]?.includes('jest-worker')) process.once('exit', () => process.exit());

export { TestEnvironment as default } from 'jest-environment-node';
