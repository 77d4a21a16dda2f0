import { type Case, readCases, replay, type Tolerance } from '../vectors.js';
import type { Suite } from './suite.js';

/** The rows of the table of edge rules, and the topics that have no row. */
const ROWS = [
  'cost 0',
  'cost above the capacity, limit 0',
  'limit Infinity',
  'limit per request',
  'clock steps back',
  'refund',
  'debt',
  'several policies and delay',
  'peek',
  'countDenied',
  'big numbers',
];

/** What remains in policies that admit may be told too low, never too high, where others deny. */
const remembering: Tolerance = (right, said) => ({
  ...right,
  policies: right.policies.map((policy, i) =>
    policy.allowed && !right.allowed
      ? { ...policy, remaining: Math.min(policy.remaining, said.policies[i].remaining) }
      : policy,
  ),
});

/** All the vectors, exactly. */
export function vectors(suite: Suite): void {
  const replayed = async (vector: Case) => {
    const { limiter, clock } = suite.open(vector.policies);
    await replay(vector, limiter, clock, 'key', suite.supports.remembersDenials ? remembering : undefined);
  };

  describe('Under one policy', () => {
    it.each(readCases('algorithms').map((vector) => [vector.name, vector] as const))('%s', (_, vector) =>
      replayed(vector),
    );
  });

  describe('Under several policies', () => {
    it.each(readCases('policies').map((vector) => [vector.name, vector] as const))('%s', (_, vector) =>
      replayed(vector),
    );
  });

  describe.each(ROWS)('Edge rule: %s', (row) => {
    const cases = readCases('edges').filter((vector) => vector.row === row);
    it.each(cases.map((vector) => [vector.name, vector] as const))('%s', (_, vector) => replayed(vector));
  });
}
