/**
 * How much chance a test gets.
 *
 * @module
 */

/** SLUICE_LONG=1 asks for ten times the random tests. */
const FACTOR: number = process.env.SLUICE_LONG === '1' ? 10 : 1;

/** Options for `fc.assert`: `count` runs, ten times as many in the long budget; SLUICE_SEED repeats a run. */
export function runs(count: number): { numRuns: number; seed?: number } {
  const seed = seedFromEnvironment();
  return seed === undefined ? { numRuns: scaled(count) } : { numRuns: scaled(count), seed };
}

/** `count`, ten times as much in the long budget. */
export function scaled(count: number): number {
  return count * FACTOR;
}

/** The seed that SLUICE_SEED asks for. */
export function seedFromEnvironment(): number | undefined {
  const text = process.env.SLUICE_SEED;
  return text === undefined || text === '' ? undefined : Number(text);
}
