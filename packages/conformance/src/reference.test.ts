import { type AlgorithmName, createLimiter, type Decision, manualClock } from '@sluice/core';
import fc from 'fast-check';
import { algorithmNames, beginnings, costOf, gapOf, policyOf } from './arbitraries.js';
import { runs } from './budget.js';
import { firstDifference } from './parity/compare.js';
import { type Expected, type PlainPolicy, ReferenceKey } from './reference.js';
import { capacityOf } from './settings.js';

interface Step {
  readonly gap: number;
  readonly operation: 'consume' | 'peek' | 'refund' | 'reset';
  readonly cost: number;
  /** Of a refund: which of the last decisions, and how much of it; all if undefined. */
  readonly of: number;
  readonly units: number | undefined;
  /** Which of the limits that the trace uses. */
  readonly limit: number;
}

interface Trace {
  readonly policies: readonly PlainPolicy[];
  readonly begin: number;
  /** One row per variant: the limits of a request, one per policy. */
  readonly limits: readonly (readonly number[])[];
  readonly steps: readonly Step[];
}

/** Mostly the policy's own, and others that a request may bring. */
function limitsOf(policy: PlainPolicy): fc.Arbitrary<number> {
  const other = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.constant(Infinity));
  return fc.oneof({ arbitrary: fc.constant(policy.limit), weight: 4 }, { arbitrary: other, weight: 1 });
}

function stepOf(policies: readonly PlainPolicy[], backwards: boolean): fc.Arbitrary<Step> {
  const [{ window }] = policies;
  const most = Math.min(...policies.map(capacityOf));
  const gap = backwards
    ? fc.oneof(
        gapOf(window),
        gapOf(window).map((ms) => -ms),
      )
    : gapOf(window);
  // On a clock that steps back, whether a key that was given everything back is forgotten is not defined.
  const operation = backwards
    ? fc.constantFrom('consume' as const, 'consume' as const, 'peek' as const)
    : fc.oneof(
        { arbitrary: fc.constant('consume' as const), weight: 12 },
        { arbitrary: fc.constantFrom('peek' as const, 'refund' as const, 'refund' as const), weight: 4 },
        { arbitrary: fc.constant('reset' as const), weight: 1 },
      );
  return fc.record({
    gap,
    operation,
    cost: costOf(most),
    // Whether a place in a queue can be given back once those behind have left is not defined.
    of: policies.some(isQueue) ? fc.constant(1) : fc.integer({ min: 1, max: 4 }),
    units: fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined }),
    limit: fc.nat({ max: 2 }),
  });
}

function traceOf(policies: fc.Arbitrary<PlainPolicy[]>, backwards: boolean): fc.Arbitrary<Trace> {
  return policies.chain((list) =>
    fc.record({
      policies: fc.constant(list),
      begin: beginnings,
      limits: fc.array(fc.tuple(...list.map(limitsOf)), { minLength: 3, maxLength: 3 }),
      steps: fc.array(stepOf(list, backwards), { minLength: 1, maxLength: 30, size: 'max' }),
    }),
  );
}

/** How many decisions were compared. */
let compared = 0;
beforeEach(() => {
  compared = 0;
});
afterEach(() => {
  expect(compared).toBeGreaterThan(1000);
});

/** Runs the trace on the limiter and on the oracle, and compares every field of every decision. */
function replay(trace: Trace): void {
  const clock = manualClock(trace.begin);
  const policies = trace.policies.map((policy, i) => ({ ...policy, name: `p${i}` }));
  const limiter = createLimiter({ policies, clock });
  const oracle = new ReferenceKey(trace.policies);
  const charged: { ours: Decision; theirs: Expected }[] = [];
  for (const step of trace.steps) {
    clock.set(Math.max(0, clock.now() + step.gap));
    oracle.now = clock.now();
    if (step.operation === 'reset') {
      limiter.reset('key');
      oracle.reset();
      charged.length = 0;
    } else if (step.operation === 'refund') {
      const last = charged.at(-step.of);
      if (last === undefined) continue;
      limiter.refund(last.ours, step.units);
      oracle.refund(last.theirs, step.units);
    } else {
      const limits = trace.limits[step.limit];
      const limit = Object.fromEntries(policies.map(({ name }, i) => [name, limits[i]]));
      const ours = limiter[step.operation]('key', { cost: step.cost, limit });
      const theirs = oracle[step.operation](step.cost, limits);
      const expected = described(theirs, step.cost);
      const found = plain(ours);
      // `expect` costs more than all the rest, so it is only asked for its message.
      if (firstDifference(found, expected) !== undefined) expect(found).toEqual(expected);
      compared += 1;
      if (step.operation === 'consume') charged.push({ ours, theirs });
    }
  }
}

const isQueue = (policy: PlainPolicy) => policy.algorithm === 'leaky-bucket';

function plain(decision: Decision): object {
  const { policies, ...own } = decision;
  return { ...own, policies: policies.map(({ windowMs, ...policy }) => policy) };
}

/** What the oracle says, as a decision. */
function described(expected: Expected, cost: number): object {
  const policies = expected.policies.map((policy, i) => ({ name: `p${i}`, ...policy }));
  const { allowed, name, ...own } = policies[expected.binding];
  const { delayMs } = expected;
  return { ...own, allowed: expected.allowed, policy: name, delayMs, cost, degraded: false, policies };
}

const one = (algorithm: AlgorithmName) => policyOf(algorithm, true).map((policy) => [policy]);
const several = fc.array(
  fc.constantFrom(...algorithmNames).chain((algorithm) => policyOf(algorithm, true)),
  { minLength: 2, maxLength: 3 },
);

describe('The memory store answers what the definitions say', () => {
  it.each(algorithmNames)('under %s', (algorithm) => {
    fc.assert(fc.property(traceOf(one(algorithm), false), replay), runs(500));
  });

  it.each(algorithmNames)('under %s, also when the clock steps back', (algorithm) => {
    fc.assert(fc.property(traceOf(one(algorithm), true), replay), runs(300));
  });

  it('under several policies at once', () => {
    fc.assert(fc.property(traceOf(several, false), replay), runs(600));
  });

  it('under several policies at once, also when the clock steps back', () => {
    fc.assert(fc.property(traceOf(several, true), replay), runs(300));
  });
});
