import { Debts } from './debts.js';
import { planFor } from './ladder.js';
import { parsePolicies } from './policy.js';

const policies = parsePolicies([{ algorithm: 'fixed-window', limit: 10, window: '1s' }]);
const plan = planFor(policies, undefined);

/** Debts, at the beginning of a window. */
function open() {
  const debts = new Debts(policies);
  return { debts, unitsOf: (id: string, now = 0) => debts.take(id, now)?.units };
}

describe('A debt', () => {
  it('is what was added, and not taken a second time before it is settled', () => {
    const { debts, unitsOf } = open();
    debts.add('a', 2, plan, 0);
    debts.add('a', 3, plan, 0);
    expect(unitsOf('a')).toEqual([5]);
    expect(unitsOf('a')).toBeUndefined();
    debts.settle('a', false);
    expect(unitsOf('a')).toEqual([5]);
    debts.settle('a', true);
    expect(unitsOf('a')).toBeUndefined();
    expect(debts.size).toBe(0);
  });

  it('that arises while another is being charged is owed after it, whatever became of that', () => {
    for (const [gone, owed] of [
      [true, 3],
      [false, 5],
    ] as const) {
      const { debts, unitsOf } = open();
      debts.add('a', 2, plan, 0);
      expect(unitsOf('a')).toEqual([2]);
      expect(debts.add('a', 3, plan, 0)).toBeUndefined();
      expect(unitsOf('a')).toBeUndefined();
      debts.settle('a', gone);
      expect(unitsOf('a')).toEqual([owed]);
    }
  });

  it('is forgotten, also while it is being charged', () => {
    const { debts, unitsOf } = open();
    debts.add('a', 2, plan, 0);
    debts.take('a', 0);
    debts.forget('a');
    debts.settle('a', false);
    expect(unitsOf('a')).toBeUndefined();
    debts.add('a', 1, plan, 0);
    expect(unitsOf('a')).toEqual([1]);
  });

  it('ages as the use that it stands for', () => {
    const { debts, unitsOf } = open();
    debts.add('a', 2, plan, 0);
    debts.add('b', 4, plan, 999);
    expect(unitsOf('a', 1000)).toBeUndefined();
    expect(unitsOf('b', 999)).toEqual([4]);
    expect(debts.size).toBe(1);
  });

  it('is never more than the limit', () => {
    const { debts, unitsOf } = open();
    for (let i = 0; i < 5; i++) debts.add('a', 7, plan, 0);
    expect(unitsOf('a')).toEqual([10]);
  });

  it('is given back what a request took, once, and nothing of what others took', () => {
    const { debts, unitsOf } = open();
    const loan = debts.add('a', 4, plan, 0);
    debts.add('a', 3, plan, 0);
    if (loan === undefined) throw new Error('No loan');
    debts.refund('a', 4, loan, 0);
    expect(unitsOf('a')).toEqual([3]);
    debts.refund('a', 3, loan, 0);
    debts.settle('a', true);
    debts.add('a', 5, plan, 0);
    debts.refund('a', 4, loan, 0);
    expect(unitsOf('a')).toEqual([5]);
  });
});

describe('Debtors', () => {
  it('are at most 100,000, and the oldest go first', () => {
    const { debts, unitsOf } = open();
    for (let i = 0; i < 100_001; i++) debts.add(`k${i}`, 1, plan, 0);
    expect(debts.size).toBe(100_000);
    expect(unitsOf('k0')).toBeUndefined();
    expect(unitsOf('k1')).toEqual([1]);
    expect(unitsOf('k100000')).toEqual([1]);
  });

  it('have ids of 12,800,000 characters together at the most', () => {
    const { debts } = open();
    const long = (i: number) => `${i}`.padEnd(1_000_000, 'x');
    for (let i = 0; i < 20; i++) debts.add(long(i), 1, plan, 0);
    expect(debts.size).toBe(12);
    expect([...debts.ids][0]).toBe(long(8));
  });
});
