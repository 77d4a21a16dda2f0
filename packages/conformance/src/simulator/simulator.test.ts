import type { Policy } from '@sluice/core';
import { scaled, seedFromEnvironment } from '../budget.js';
import { Random } from '../parity/random.js';
import { type Outcome, type Scenario, simulate } from './simulate.js';

const RUNS = scaled(60);

/** What is drawn for a mode. */
interface Drawing {
  readonly policies: readonly Policy['algorithm'][];
  mode(random: Random): Scenario['mode'];
  /** By what the store's clock may step. */
  readonly stepsMs: readonly [least: number, most: number];
}

/** A scenario, drawn by the seed. */
function drawn(seed: number, { policies, mode, stepsMs }: Drawing): Scenario {
  const random = new Random(seed);
  const limit = random.whole(5, 104);
  const window = random.whole(200, 1199);
  const lastsMs = 2500;
  // From a tenth of the limit to ten times as much.
  const rate = () => Math.max(1, (limit / window) * 1000 * 10 ** (2 * random.share() - 1));
  const steps = random.chance(0.3)
    ? [{ atMs: random.whole(0, lastsMs), byMs: random.whole(...stepsMs) }]
    : [];
  return {
    seed,
    instances: random.whole(1, 8),
    policy: { algorithm: random.pick(policies), limit, window } as Scenario['policy'],
    mode: mode(random),
    weather: {
      latencyMs: random.whole(0, 29),
      loss: random.chance(0.3) ? random.share() / 5 : 0,
      twice: random.chance(0.3) ? random.share() / 5 : 0,
      steps,
    },
    rates: Array.from({ length: random.whole(1, 4) }, rate),
    skew: random.share(),
    burst: random.whole(1, 8),
    cost: random.chance(0.3) ? random.whole(2, 5) : 1,
    lastsMs,
    crashes: random.whole(0, 2),
  };
}

async function eachRun(
  drawing: Drawing,
  check: (scenario: Scenario, outcome: Outcome) => void,
  runs = RUNS,
): Promise<void> {
  const given = seedFromEnvironment();
  const first = given ?? 1;
  const last = given ?? runs;
  let over = 0;
  for (let seed = first; seed <= last; seed++) {
    const scenario = drawn(seed, drawing);
    const outcome = await simulate(scenario);
    try {
      check(scenario, outcome);
    } catch (error) {
      throw new Error(`SLUICE_SEED=${seed}: ${JSON.stringify({ scenario, outcome })}`, { cause: error });
    }
    if (outcome.ideal < outcome.requests) over += 1;
  }
  // Many of them came to their limit.
  expect(over).toBeGreaterThan((last - first) / 4);
}

const windows = ['fixed-window', 'sliding-window-counter'] as const;

it(
  'strict: never more than the limit, whatever gets lost or ends',
  () =>
    eachRun(
      {
        policies: [...windows, 'sliding-window-log', 'token-bucket', 'gcra'],
        mode: () => ({ mode: 'strict' }),
        stepsMs: [-500, 500],
      },
      (_, { overshoot }) => expect(overshoot).toBe(0),
    ),
  scaled(120_000),
);

it(
  'reserve: never more than the limit, whatever gets lost or ends',
  () =>
    eachRun(
      {
        policies: [...windows, 'token-bucket', 'gcra'],
        mode: (random) => ({ mode: 'reserve', horizon: random.whole(10, 300) }),
        stepsMs: [-500, 0],
      },
      (_, { overshoot }) => expect(overshoot).toBe(0),
    ),
  scaled(120_000),
);

it(
  'batch: at most what each may owe above the limit, whatever gets lost, and as much for each that ends',
  () =>
    eachRun(
      {
        policies: [...windows, 'sliding-window-log', 'token-bucket'],
        mode: (random) => ({
          mode: 'batch',
          maxUnsynced: random.whole(1, 20),
          syncEvery: random.whole(10, 1000),
        }),
        stepsMs: [-500, 500],
      },
      ({ instances, crashes, mode }, { overshoot }) =>
        expect(overshoot).toBeLessThanOrEqual((instances + crashes) * (mode.maxUnsynced as number)),
    ),
  scaled(120_000),
);

it(
  'share: never more than the limit, whatever gets lost or ends',
  () =>
    eachRun(
      {
        policies: windows,
        mode: (random) => ({ mode: 'share', instances: random.whole(1, 8) }),
        stepsMs: [-500, 0],
      },
      (_, { overshoot }) => expect(overshoot).toBe(0),
    ),
  scaled(120_000),
);

it(
  'gossip: at most what is admitted while word of it travels above the limit, or a limit for each that starts later',
  () =>
    eachRun(
      {
        policies: [...windows, 'sliding-window-log', 'token-bucket'],
        mode: (random) => ({ mode: 'gossip', syncEvery: random.whole(10, 200) }),
        stepsMs: [0, 0],
      },
      ({ instances, crashes, mode, policy, weather }, { overshoot, mostIn }) => {
        const stalenessMs = (mode.syncEvery as number) + weather.latencyMs + 1;
        const untold = weather.loss === 0 ? mostIn(stalenessMs) : instances * policy.limit;
        expect(overshoot).toBeLessThanOrEqual(untold + crashes * policy.limit);
      },
      // Each says everything to each.
      RUNS / 2,
    ),
  scaled(120_000),
);
