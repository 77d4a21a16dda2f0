import type { Policy } from '@sluice/core';
import { scaled, seedFromEnvironment } from '../budget.js';
import { Random } from './random.js';
import { type Scenario, simulate } from './simulate.js';

const RUNS = scaled(60);

/** A scenario of the mode, drawn by the seed. */
function drawn(seed: number, mode: Scenario['mode'], algorithms: readonly Policy['algorithm'][]): Scenario {
  const random = new Random(seed);
  const limit = 5 + random.below(100);
  const window = 200 + random.below(1000);
  return {
    seed,
    instances: 1 + random.below(8),
    policy: { algorithm: algorithms[random.below(algorithms.length)], limit, window } as Scenario['policy'],
    mode,
    weather: { latencyMs: random.below(30), loss: random.below(3) === 0 ? random.share() / 5 : 0 },
    // From a tenth of the limit to ten times as much.
    rate: Math.max(1, (limit / window) * 1000 * 10 ** (2 * random.share() - 1)),
    skew: random.share(),
    lastsMs: 2500,
    crashes: random.below(3),
  };
}

async function eachRun(
  mode: Scenario['mode'],
  algorithms: readonly Policy['algorithm'][],
  check: (scenario: Scenario, outcome: Awaited<ReturnType<typeof simulate>>) => void,
): Promise<void> {
  const first = seedFromEnvironment() ?? 1;
  let over = 0;
  for (let seed = first; seed < first + RUNS; seed++) {
    const scenario = drawn(seed, mode, algorithms);
    const outcome = await simulate(scenario);
    try {
      check(scenario, outcome);
    } catch (error) {
      throw new Error(`SLUICE_SEED=${seed}: ${JSON.stringify({ scenario, outcome })}`, { cause: error });
    }
    if (outcome.admitted > scenario.policy.limit) over += 1;
  }
  // Many of them came to their limit.
  expect(over).toBeGreaterThan(RUNS / 4);
}

it(
  'strict: no window ever sees more than its limit, whatever gets lost or ends',
  async () => {
    await eachRun({ mode: 'strict' }, ['fixed-window', 'sliding-window-log'], (_, { overshoot }) =>
      expect(overshoot).toBeLessThanOrEqual(0),
    );
  },
  scaled(120_000),
);
