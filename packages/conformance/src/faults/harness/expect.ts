/**
 * What must hold of the requests of a load, whatever happened to Redis.
 *
 * @module
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { TIMEOUT_MS } from './instance.js';
import type { Sample } from './load.js';
import type { LagMeter, Pulse } from './meters.js';

/** Beyond the deadline, for the process to come round to answering. What the machine takes is added to it. */
const GRACE_MS = 50;
const RECOVERY_MS = 1000;
const AFTERWARDS_MS = 700;
const PATIENCE_MS = 20_000;

/** What became of the samples. */
export interface Tally {
  readonly sent: number;
  readonly admitted: number;
  /** Admitted by Redis, and without it. */
  readonly byStore: number;
  readonly locally: number;
}

export function tally(samples: readonly Sample[]): Tally {
  const admitted = samples.filter(({ decision }) => decision?.allowed);
  const locally = admitted.filter(({ decision }) => decision?.degraded).length;
  return { sent: samples.length, admitted: admitted.length, byStore: admitted.length - locally, locally };
}

/** The samples of one key. */
export function of(samples: readonly Sample[], key: string): readonly Sample[] {
  return samples.filter((sample) => sample.key === key);
}

/** Those that waited for Redis until their time was over: it may have charged them or not. */
export function outwaited(samples: readonly Sample[]): readonly Sample[] {
  return samples.filter(
    ({ startMs, endMs, decision }) => decision?.degraded && endMs - startMs >= TIMEOUT_MS,
  );
}

/** What a failure shows of a sample; there are thousands of them. */
function brief({ key, startMs, endMs, decision, error }: Sample): Record<string, unknown> {
  const { allowed, degraded, remaining } = decision ?? {};
  return {
    key,
    startMs: Math.round(startMs),
    tookMs: Math.round(endMs - startMs),
    allowed,
    degraded,
    remaining,
    error,
  };
}

function expectNone(samples: readonly Sample[]): void {
  expect({ count: samples.length, first: samples.slice(0, 3).map(brief) }).toEqual({ count: 0, first: [] });
}

/** Every request got a decision. */
export function expectNoError(samples: readonly Sample[]): void {
  expectNone(samples.filter(({ decision }) => decision === undefined));
}

/** No client of a key with room was denied. */
export function expectNoFalseDenial(samples: readonly Sample[]): void {
  expect(samples.length).toBeGreaterThan(0);
  expectNone(samples.filter(({ decision }) => decision?.allowed !== true));
}

/** Every answer came within the deadline, and 50 ms, and as long as the whole process stood still. */
export function expectInTime(samples: readonly Sample[], lag: LagMeter): void {
  const most = TIMEOUT_MS + GRACE_MS;
  expectNone(samples.filter(({ startMs, endMs }) => endMs - startMs > most + lag.between(startMs, endMs)));
}

/** When Redis must be back if it was well from `atMs` on: a second later, and as long as the process stood still. */
function dueMs(atMs: number, lag: LagMeter): number {
  return atMs + RECOVERY_MS + lag.between(atMs, atMs + RECOVERY_MS);
}

/** Waits until the load has gone on for a while after Redis must be back, on a machine that lets it answer. */
export async function outlast(atMs: number, lag: LagMeter, pulse: Pulse): Promise<void> {
  const busy = (nowMs: number) => pulse.wasSlow(nowMs - RECOVERY_MS - AFTERWARDS_MS, nowMs);
  while (performance.now() < dueMs(atMs, lag) + AFTERWARDS_MS) await sleep(100);
  for (let nowMs = performance.now(); busy(nowMs) && nowMs < atMs + PATIENCE_MS; nowMs = performance.now()) {
    await sleep(100);
  }
}

/**
 * From {@link dueMs} on Redis decides everything again.
 *
 * Unless the server was slow to answer anybody: on a busy machine it may miss the deadline, and the breaker then leaves
 * it alone for half a second.
 */
export function expectRecovery(samples: readonly Sample[], atMs: number, lag: LagMeter, pulse: Pulse): void {
  const due = dueMs(atMs, lag);
  const after = samples.filter(({ startMs }) => startMs > due);
  expect(after.filter(({ decision }) => decision?.degraded === false).length).toBeGreaterThan(0);
  expectNone(
    after.filter(
      ({ startMs, endMs, decision }) =>
        decision?.degraded !== false && !pulse.wasSlow(startMs - RECOVERY_MS, endMs),
    ),
  );
}

/** No unit was given to two requests: each that Redis admitted was told of another number left. */
export function expectEachChargedOnce(samples: readonly Sample[]): void {
  for (const key of new Set(samples.map((sample) => sample.key))) {
    const left = of(samples, key)
      .filter(({ decision }) => decision?.allowed && !decision.degraded)
      .map(({ decision }) => decision?.remaining as number);
    expect(left.length).toBeGreaterThan(0);
    expect(new Set(left).size).toBe(left.length);
  }
}
