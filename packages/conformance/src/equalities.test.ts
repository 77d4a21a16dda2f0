import { createLimiter, type Decision, manualClock, type Policy } from '@sluice/core';
import fc from 'fast-check';
import { policyOf } from './arbitraries.js';
import { runs } from './budget.js';
import { type History, historyOf } from './history.js';
import { capacityOf } from './settings.js';

/** Lives the history through under another policy; half of every fourth request is given back at once. */
function decisionsUnder(policy: Policy, { begin, requests }: History, refunds = true): Decision[] {
  const clock = manualClock(begin);
  const limiter = createLimiter({ policies: [policy], clock });
  return requests.map(({ gap, cost }, i) => {
    clock.advance(gap);
    const units = cost === 'rest' ? limiter.peek('key').remaining : cost;
    const decision = limiter.consume('key', { cost: units });
    if (refunds && i % 4 === 3) limiter.refund(decision, Math.ceil(units / 2));
    return decision;
  });
}

describe('Two names for one thing', () => {
  it('gcra and token-bucket decide the same on clocks that only go forward', () => {
    const law = fc.property(historyOf(policyOf('gcra').map((policy) => [policy])), (history) => {
      const [policy] = history.policies;
      const other = { ...policy, algorithm: 'token-bucket' } as Policy;
      expect(decisionsUnder(policy, history)).toEqual(decisionsUnder(other, history));
    });
    fc.assert(law, runs(300));
  });

  it('leaky-bucket decides like a token bucket with its capacity for a burst, but for the delay', () => {
    const histories = historyOf(policyOf('token-bucket').map((policy) => [policy]));
    const law = fc.property(histories, (history) => {
      const { limit, window } = history.policies[0];
      const burst = capacityOf(history.policies[0]);
      const like: Policy = { algorithm: 'leaky-bucket', limit, window, capacity: burst };
      // Without refunds: those differ on purpose.
      const bucket = decisionsUnder(history.policies[0], history, false);
      const queue = decisionsUnder(like, history, false);
      expect(queue.map(({ delayMs, ...decision }) => decision)).toEqual(
        bucket.map(({ delayMs, ...decision }) => decision),
      );
      for (const { delayMs } of bucket) expect(delayMs).toBe(0);
    });
    fc.assert(law, runs(200));
  });

  it('a ring of one bucket that drops its edge is a fixed window', () => {
    const histories = historyOf(policyOf('fixed-window', true).map((policy) => [policy]));
    const law = fc.property(histories, (history) => {
      const [policy] = history.policies;
      const ring = { ...policy, algorithm: 'sliding-window-counter', edge: 'drop' } as Policy;
      expect(decisionsUnder(ring, history)).toEqual(decisionsUnder(policy, history));
    });
    fc.assert(law, runs(200));
  });

  it('counting denied requests changes no decision of a fixed window if every request costs 1', () => {
    const histories = historyOf(policyOf('fixed-window').map((policy) => [policy]));
    const law = fc.property(histories, (history) => {
      const [policy] = history.policies;
      const ones = { ...history, requests: history.requests.map(({ gap }) => ({ gap, cost: 1 })) };
      const counting = { ...policy, countDenied: true } as Policy;
      const allowed = (decisions: Decision[]) => decisions.map((decision) => decision.allowed);
      expect(allowed(decisionsUnder(counting, ones))).toEqual(allowed(decisionsUnder(policy, ones)));
    });
    fc.assert(law, runs(200));
  });
});
