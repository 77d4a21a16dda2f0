import { Audit, createLimiter, manualClock, type Policy } from '@sluice/core';
import fc from 'fast-check';
import { gapOf, policyOf } from '../arbitraries.js';
import { runs } from '../budget.js';
import type { PlainPolicy } from '../reference.js';
import { auditOf, type Request } from './model.js';

interface Step {
  readonly key: string;
  readonly gap: number;
  readonly cost: number;
  /** As a part of the limit. */
  readonly share: number;
}

const estimating = fc.oneof(policyOf('fixed-window', true), policyOf('sliding-window-counter', true));
const other = fc.oneof(estimating, policyOf('sliding-window-log'), policyOf('token-bucket'));

const stepsOf = (window: number, keys: readonly string[], limit: number) =>
  fc.array(
    fc.record({
      key: fc.constantFrom(...keys),
      gap: gapOf(window),
      cost: fc.oneof(
        { arbitrary: fc.constant(1), weight: 4 },
        { arbitrary: fc.integer({ min: 0, max: Math.min(limit, 2 ** 40) + 1 }), weight: 2 },
      ),
      share: fc.constantFrom(1, 1, 1, 1, 0.5, Infinity, 0),
    }),
    { maxLength: 80 },
  );

/** Plays the steps, and returns what the audit found beside what it must have. */
function play(policies: readonly PlainPolicy[], steps: readonly Step[]) {
  const named = policies.map((policy, i) => ({ ...policy, name: `p${i}` }) as Policy);
  const clock = manualClock(1_000_000_000_000);
  const limiter = createLimiter({ policies: named, clock });
  const audit = new Audit(limiter.policies, { sample: 1 });
  const requests = steps.map(({ key, gap, cost, share }): Request => {
    clock.advance(gap);
    const limit = Object.fromEntries(
      limiter.policies.map((policy) => [
        policy.name,
        share === Infinity ? Infinity : Math.floor(policy.limit * share),
      ]),
    );
    const decision = limiter.consume(key, share === 1 ? { cost } : { cost, limit });
    audit.observe(key, decision);
    return { key, clock: clock.now(), cost, allowed: decision.allowed, policies: decision.policies };
  });
  const found = audit.report().policies;
  const right = limiter.policies.flatMap((policy, i) =>
    policy.name in found ? [[policy.name, auditOf(policy, i, requests)] as const] : [],
  );
  return { found, right: Object.fromEntries(right) };
}

/** What does not depend on which keys are remembered, once nothing else touched the limiter. */
const explained = (right: Record<string, object>) =>
  Object.fromEntries(Object.entries(right).map(([name, each]) => [name, { ...each, unexplained: 0 }]));

describe('The audit finds what going through all that came finds', () => {
  it('of one policy', () => {
    const cases = estimating.chain((policy) =>
      fc.tuple(fc.constant([policy]), stepsOf(policy.window, ['a', 'b'], policy.limit)),
    );
    fc.assert(
      fc.property(cases, ([policies, steps]) => {
        const { found, right } = play(policies, steps);
        expect(found).toMatchObject(explained(right));
      }),
      runs(300),
    );
  });

  it('of several, of which some do not estimate', () => {
    const cases = fc
      .tuple(estimating, fc.array(other, { minLength: 1, maxLength: 2 }))
      .chain(([policy, others]) =>
        fc.tuple(
          fc.shuffledSubarray([policy, ...others], { minLength: 1 + others.length }),
          stepsOf(policy.window, ['a', 'b'], policy.limit),
        ),
      );
    fc.assert(
      fc.property(cases, ([policies, steps]) => {
        const { found, right } = play(policies, steps);
        expect(found).toMatchObject(explained(right));
      }),
      runs(200),
    );
  });

  it('when the clock steps back', () => {
    const cases = estimating.chain((policy) => {
      const gap = fc.integer({ min: -policy.window, max: policy.window });
      const steps = stepsOf(policy.window, ['a'], policy.limit).chain((plain) =>
        fc.tuple(...plain.map((step) => gap.map((moved) => ({ ...step, gap: moved })))),
      );
      return fc.tuple(fc.constant([policy]), steps);
    });
    fc.assert(
      fc.property(cases, ([policies, steps]) => {
        const { found, right } = play(policies, steps);
        expect(found).toMatchObject(right);
      }),
      runs(200),
    );
  });
});
