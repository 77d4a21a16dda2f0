/**
 * What ten processes admit together in each mode of a layered store, and how often they ask, as a table for the docs.
 *
 * @module
 */

import type { SimulatedPolicy } from './excess.js';
import { type Scenario, simulate } from './simulate.js';

const SEED = 1;

const bucket: SimulatedPolicy = { algorithm: 'token-bucket', limit: 1000, window: 1000 };
const counter: SimulatedPolicy = { algorithm: 'sliding-window-counter', limit: 10_000, window: 10_000 };
const fixed: SimulatedPolicy = { algorithm: 'fixed-window', limit: 1000, window: 1000 };
const small: SimulatedPolicy = { algorithm: 'token-bucket', limit: 100, window: 1000 };
const smallFixed: SimulatedPolicy = { algorithm: 'fixed-window', limit: 100, window: 1000 };

const batch = { mode: 'batch', maxUnsynced: 10 } as const;
const share = { mode: 'share', instances: 10 } as const;
const gossip = { mode: 'gossip', syncEvery: 100 } as const;

/** By what they are called: how many requests come, per second, by turns, and how many of them to one process. */
const LOADS = {
  '0.8 times the limit': { rates: [800], skew: 0, lastsMs: 10_000 },
  '3 times': { rates: [3000], skew: 0, lastsMs: 30_000 },
  '3 times, 64 % to one process': { rates: [3000], skew: 0.6, lastsMs: 30_000 },
  'by turns 10 times and hardly any, 2 s each': {
    rates: [10_000, 10, 10_000, 10],
    skew: 0,
    lastsMs: 8000,
  },
} as const;

/** What one run came to. Shares are of 1. */
export interface TableRow {
  readonly load: string;
  readonly mode: string;
  readonly algorithm: string;
  /** Units above the limit, at most. */
  readonly overshoot: number;
  readonly undershoot: number;
  readonly asked: number;
}

/** Runs each mode under each load, and strict under an attack. */
export async function simulatedTable(): Promise<TableRow[]> {
  const rows: TableRow[] = [];
  for (const [load, { rates, skew, lastsMs }] of Object.entries(LOADS)) {
    for (const [mode, policy] of [
      [{ mode: 'strict' }, bucket],
      [{ mode: 'reserve' }, bucket],
      [{ mode: 'reserve' }, counter],
      [batch, bucket],
      [share, fixed],
      [gossip, bucket],
    ] as const) {
      rows.push(await run(load, mode, policy, rates, skew, lastsMs));
    }
  }
  const attack = '100 times a limit of 100';
  rows.push(await run(attack, { mode: 'strict' }, smallFixed, [10_000], 0, 5000));
  rows.push(await run(attack, { mode: 'reserve' }, small, [10_000], 0, 5000));
  return rows;
}

async function run(
  load: string,
  mode: Scenario['mode'],
  policy: SimulatedPolicy,
  rates: readonly number[],
  skew: number,
  lastsMs: number,
): Promise<TableRow> {
  const weather = { latencyMs: 2, loss: 0, twice: 0, steps: [] };
  const usual = { seed: SEED, instances: 10, weather, burst: 1, cost: 1, crashes: 0 };
  const { overshoot, undershoot, asked } = await simulate({ ...usual, policy, mode, rates, skew, lastsMs });
  return { load, mode: mode.mode, algorithm: policy.algorithm as string, overshoot, undershoot, asked };
}
