/**
 * The vectors: right answers as data, in the folder `vectors`.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Decision, Limiter, ManualClock, Policy, PolicyDecision } from '@sluice/core';
import { capacityOf } from './settings.js';

/** A limit or what is left of it. */
type Units = number | 'unlimited';

interface AnswerOfOne {
  readonly allowed: boolean;
  readonly remaining: Units;
  readonly retryAfterMs: number | 'never';
  readonly resetMs: number;
}

/** One step: a request and its right answer, or a refund or a reset, which have none. */
interface Step extends Partial<AnswerOfOne> {
  /** Default: consume. */
  readonly do?: 'consume' | 'peek' | 'refund' | 'reset';
  readonly atMs: number;
  readonly cost?: number;
  readonly limit?: Units;
  readonly delayMs?: number;
  /** Of a refund: the index of the step whose decision it is of. */
  readonly of?: number;
  readonly units?: number;
  /** Where there are several policies. */
  readonly each?: readonly AnswerOfOne[];
  readonly binding?: number;
}

type RawPolicy = Omit<Policy, 'limit' | 'window'> & { readonly limit: Units; readonly windowMs: number };

export interface Case {
  readonly name: string;
  readonly row?: string;
  readonly why?: string;
  readonly policies: readonly Policy[];
  readonly steps: readonly Step[];
}

/** Reads a file of cases under one policy or several. */
export function readCases(file: 'algorithms' | 'policies' | 'edges'): readonly Case[] {
  const text = readFileSync(join(__dirname, '..', 'vectors', `${file}.json`), 'utf8');
  const { cases } = JSON.parse(text) as {
    cases: (Omit<Case, 'policies'> & { policy?: RawPolicy; policies?: RawPolicy[] })[];
  };
  return cases.map(({ policy, policies = [policy as RawPolicy], ...rest }) => ({
    ...rest,
    policies: policies.map(({ windowMs, limit, ...settings }) => {
      return { ...settings, limit: numberOf(limit), window: windowMs } as Policy;
    }),
  }));
}

/** What of a decision a store may say otherwise: returns what is right of it, given what it said. */
export type Tolerance = (right: Omit<Decision, 'settle'>, said: Decision) => Omit<Decision, 'settle'>;

/** Runs the case on a limiter with its policies, step by step, and compares every field of every decision. */
export async function replay(
  { policies, steps }: Case,
  limiter: Limiter,
  clock: ManualClock,
  key = 'key',
  tolerance: Tolerance = (right) => right,
): Promise<void> {
  const decisions: (Decision | undefined)[] = [];
  for (const [index, step] of steps.entries()) {
    clock.set(step.atMs);
    let decision: Decision | undefined;
    if (step.do === 'reset') await limiter.reset(key);
    else if (step.do === 'refund') await limiter.refund(decisions[step.of as number] as Decision, step.units);
    else {
      const { cost = 1, limit } = step;
      const options = limit === undefined ? { cost } : { cost, limit: numberOf(limit) };
      decision = await limiter[step.do ?? 'consume'](key, options);
      expect({ step: index, ...decision }).toEqual({
        step: index,
        ...tolerance(expectedOf(step, policies), decision),
      });
    }
    decisions.push(decision);
  }
}

/** All fields of the decision that is right for the step. */
function expectedOf(step: Step, policies: readonly Policy[]): Omit<Decision, 'settle'> {
  const answers = step.each ?? [step as AnswerOfOne];
  const each = policies.map((policy, i): PolicyDecision => {
    const limit = step.limit === undefined ? policy.limit : numberOf(step.limit);
    const { allowed, remaining, retryAfterMs, resetMs } = answers[i];
    return {
      name: policy.name ?? (i === 0 ? 'default' : String(i + 1)),
      limit: capacityOf({ ...policy, limit }),
      windowMs: refillOf({ ...policy, limit }),
      remaining: numberOf(remaining),
      retryAfterMs: numberOf(retryAfterMs),
      resetMs,
      allowed,
    };
  });
  const { name, windowMs, ...binding } = each[step.binding ?? 0];
  const { allowed, cost = 1, delayMs = 0 } = step;
  return {
    ...binding,
    allowed: allowed as boolean,
    policy: name,
    delayMs,
    cost,
    degraded: false,
    policies: each,
  };
}

/** The window; for a bucket whose capacity is not its limit, the time in which all of it refills. */
function refillOf(policy: Policy): number {
  const window = BigInt(policy.window);
  const capacity = capacityOf(policy);
  if (capacity === policy.limit) return Number(window);
  const limit = BigInt(policy.limit);
  return Number((BigInt(capacity) * window + limit - 1n) / limit);
}

function numberOf(value: number | 'unlimited' | 'never'): number {
  return typeof value === 'number' ? value : Infinity;
}
