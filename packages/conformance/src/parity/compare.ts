/**
 * One trace on two stores, every field of every decision compared.
 *
 * @module
 */

import {
  ArgumentError,
  createLimiter,
  type Decision,
  type Limiter,
  manualClock,
  type Store,
} from '@sluice/core';
import type { Step, Trace } from './trace.js';

/** The first thing in which the two stores differ. */
export interface Difference {
  readonly step: Step;
  readonly field: string;
  readonly memory: unknown;
  readonly redis: unknown;
}

/** What happened, for the count of what was compared. */
export interface Tally {
  steps: number;
  allowed: number;
  denied: number;
  refunds: number;
}

/** Runs the trace on both stores, under a limiter name that neither has used. */
export async function compare(
  trace: Trace,
  memory: Store<false>,
  redis: Store<true>,
  name: string,
  tally: Tally = { steps: 0, allowed: 0, denied: 0, refunds: 0 },
): Promise<Difference | undefined> {
  const clock = manualClock();
  const ours = createLimiter({ name, policies: trace.policies, store: memory, clock });
  const theirs = createLimiter({ name, policies: trace.policies, store: redis, clock });
  const decisions = new Map<number, { ours: Decision; theirs: Decision }>();
  for (const step of trace.steps) {
    clock.set(step.at);
    const of = decisions.get(step.of ?? -1);
    const left = await outcome(() => act(ours, step, of?.ours));
    const right = await outcome(() => act(theirs, step, of?.theirs));
    const field = firstDifference(left, right);
    if (field !== undefined) {
      return { step, field, memory: valueAt(left, field), redis: valueAt(right, field) };
    }
    if (isDecision(left) && isDecision(right)) decisions.set(step.id, { ours: left, theirs: right });
    tally.steps += 1;
    if (step.do === 'refund') tally.refunds += 1;
    else if (isDecision(left)) tally[left.allowed ? 'allowed' : 'denied'] += 1;
  }
  ours.close();
  theirs.close();
  return undefined;
}

function act(limiter: Limiter, step: Step, of: Decision | undefined): unknown {
  const { cost = 1, limit } = step;
  if (step.do === 'reset') return limiter.reset(step.key);
  if (step.do === 'refund') return of === undefined ? undefined : limiter.refund(of, step.units);
  return limiter[step.do](
    step.key,
    limit === undefined ? { cost } : { cost, limit: limitOf(limiter, limit) },
  );
}

/** By name where there are several policies, a number where there is one: both ways are taken. */
function limitOf(limiter: Limiter, limit: Readonly<Record<string, number>>): number | Record<string, number> {
  return limiter.policies.length === 1 ? Object.values(limit)[0] : limit;
}

/** A refused argument is an answer too: a limit that gcra cannot hold. Anything else is a failure. */
async function outcome(action: () => unknown): Promise<unknown> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof ArgumentError) return error.message;
    throw error;
  }
}

function isDecision(value: unknown): value is Decision {
  return isObject(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** The path of the first field that differs, by `Object.is`; '' if the values themselves do. */
export function firstDifference(left: unknown, right: unknown): string | undefined {
  if (!isObject(left) || !isObject(right)) return Object.is(left, right) ? undefined : '';
  const fields = Object.keys(left);
  if (fields.length !== Object.keys(right).length) return '';
  for (const field of fields) {
    const inner = firstDifference(left[field], right[field]);
    if (inner !== undefined) return inner === '' ? field : `${field}.${inner}`;
  }
  return undefined;
}

function valueAt(value: unknown, path: string): unknown {
  if (path === '') return value;
  return path.split('.').reduce((inner, field) => (inner as Record<string, unknown>)?.[field], value);
}
