/**
 * From a trace that fails to the least of it that still fails.
 *
 * @module
 */

import type { Step, Trace } from './trace.js';

/** The most traces tried, so that a failure is reported in seconds. */
const TRIES = 600;

/** Leaves away steps, then policies, then settings of steps, as long as `fails` is true of what remains. */
export async function shrink(trace: Trace, fails: (trace: Trace) => Promise<boolean>): Promise<Trace> {
  let least = trace;
  let tries = 0;
  const attempt = async (smaller: Trace): Promise<boolean> => {
    if (tries++ >= TRIES || smaller.steps.length === 0 || smaller.policies.length === 0) return false;
    if (!(await fails(smaller))) return false;
    least = smaller;
    return true;
  };
  for (let before: Trace | undefined; before !== least && tries < TRIES; ) {
    before = least;
    for (let size = Math.ceil(least.steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
      for (let from = 0; from < least.steps.length; ) {
        if (!(await attempt(withoutSteps(least, from, size)))) from += size;
      }
    }
    for (let i = least.policies.length - 1; i >= 0; i--) await attempt(withoutPolicy(least, i));
    for (let i = 0; i < least.steps.length; i++) {
      for (const simpler of simplerSteps(least.steps[i])) await attempt(withStep(least, i, simpler));
    }
  }
  return least;
}

function withoutSteps(trace: Trace, from: number, size: number): Trace {
  return { ...trace, steps: [...trace.steps.slice(0, from), ...trace.steps.slice(from + size)] };
}

function withoutPolicy({ policies, steps }: Trace, index: number): Trace {
  const gone = policies[index].name as string;
  const names = (limit: Step['limit']) => Object.keys(limit ?? {});
  return {
    policies: policies.filter((_, i) => i !== index),
    steps: steps.map((step) => {
      const { limit, policies: changed, ...rest } = step;
      return {
        ...rest,
        ...(limit && !names(limit).includes(gone) && { limit }),
        ...(changed && { policies: changed.filter((_, i) => i !== index) }),
      };
    }),
  };
}

function withStep(trace: Trace, index: number, step: Step): Trace {
  return { ...trace, steps: trace.steps.map((other, i) => (i === index ? step : other)) };
}

function simplerSteps(step: Step): Step[] {
  const { limit, units, ...plain } = step;
  const simpler: Step[] = [];
  if (limit !== undefined) simpler.push(units === undefined ? plain : { ...plain, units });
  if (units !== undefined) simpler.push(limit === undefined ? plain : { ...plain, limit });
  if (step.cost !== undefined && step.cost > 1) simpler.push({ ...step, cost: 1 });
  return simpler;
}
