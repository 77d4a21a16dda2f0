import type { Policy } from '@sluice/core';
import { scaled, seedFromEnvironment } from '../budget.js';
import { Random } from '../parity/random.js';
import { type Scenario, simulate } from './simulate.js';

const RUNS = scaled(60);

/** A scenario of the mode, drawn by the seed. */
function drawn(seed: number, mode: Scenario['mode'], algorithms: readonly Policy['algorithm'][]): Scenario {
  const random = new Random(seed);
  const limit = 5 + random.whole(0, 99);
  const window = 200 + random.whole(0, 999);
  return {
    seed,
    instances: 1 + random.whole(0, 7),
    policy: {
      algorithm: algorithms[random.whole(0, algorithms.length - 1)],
      limit,
      window,
    } as Scenario['policy'],
    mode,
    weather: { latencyMs: random.whole(0, 29), loss: random.whole(0, 2) === 0 ? random.share() / 5 : 0 },
    // From a tenth of the limit to ten times as much.
    rate: Math.max(1, (limit / window) * 1000 * 10 ** (2 * random.share() - 1)),
    skew: random.share(),
    lastsMs: 2500,
    crashes: random.whole(0, 2),
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
