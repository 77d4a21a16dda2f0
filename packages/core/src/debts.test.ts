import { Debts } from './debts.js';
import { planFor } from './ladder.js';
import { correctionOf, lack, undo } from './loans.js';
import { parsePolicies } from './policy.js';

const policies = parsePolicies([{ algorithm: 'fixed-window', limit: 10, window: '1s' }]);
const plan = planFor(policies, undefined);

/** Debts, at the beginning of a window. */
function open() {
  const debts = new Debts(policies);
  const unitsOf = (id: string, now = 0) => {
    const debt = debts.take(id, now);
    debt?.conclude('unknown');
    return debt?.units;
  };
  return { debts, unitsOf };
}

describe('A debt', () => {
  it('is what was added, and not taken a second time unless nothing of it was run', () => {
    const { debts } = open();
    debts.add('a', 2, plan, 0);
    debts.add('a', 3, plan, 0);
    const debt = debts.take('a', 0);
    expect(debt?.units).toEqual([5]);
    expect(debts.take('a', 0)).toBeUndefined();
    debt?.conclude('not-run');
    const again = debts.take('a', 0);
    expect(again?.units).toEqual([5]);
    again?.conclude('unknown');
    expect(debts.take('a', 0)).toBeUndefined();
    expect(debts.size).toBe(0);
  });

  it('that arises while another is being charged is owed beside it, whatever becomes of that', () => {
    for (const [outcome, owed] of [
      ['unknown', [3]],
      ['not-run', [2, 3]],
    ] as const) {
      const { debts, unitsOf } = open();
      debts.add('a', 2, plan, 0);
      const debt = debts.take('a', 0);
      debts.add('a', 3, plan, 0);
      debt?.conclude(outcome);
      for (const units of owed) {
        const next = debts.take('a', 0);
        expect(next?.units).toEqual([units]);
        next?.conclude('unknown');
      }
      expect(unitsOf('a')).toBeUndefined();
    }
  });

  it('is what every policy is owed, whatever limits the last request brought', () => {
    const two = parsePolicies([
      { name: 'a', algorithm: 'fixed-window', limit: 10, window: '1s' },
      { name: 'b', algorithm: 'fixed-window', limit: 20, window: '1s' },
    ]);
    const debts = new Debts(two);
    debts.add('k', 7, planFor(two, undefined), 0);
    debts.add('k', 2, planFor(two, { a: Infinity, b: 9 }), 0);
    const debt = debts.take('k', 0);
    expect(debt?.units).toEqual([7, 9]);
    expect(debt?.plan.terms.map((term) => term.numbers[0])).toEqual([10, 20]);
  });

  it('is forgotten while it is on its way, whatever becomes of that', () => {
    const { debts } = open();
    debts.add('a', 2, plan, 0);
    const debt = debts.take('a', 0);
    debts.forget('a');
    debt?.conclude('not-run');
    expect(debts.take('a', 0)).toBeUndefined();
    expect(debts.size).toBe(0);
  });

  it('is forgotten', () => {
    const { debts, unitsOf } = open();
    debts.add('a', 2, plan, 0);
    debts.forget('a');
    expect(unitsOf('a')).toBeUndefined();
    debts.add('a', 1, plan, 0);
    expect(unitsOf('a')).toEqual([1]);
  });

  it('ages as the use that it stands for', () => {
    const { debts, unitsOf } = open();
    debts.add('a', 2, plan, 0);
    debts.add('b', 4, plan, 999);
    expect(unitsOf('a', 1000)).toBeUndefined();
    expect(debts.size).toBe(1);
    expect(unitsOf('b', 999)).toEqual([4]);
    expect(debts.size).toBe(0);
  });

  it('is never more than the limit', () => {
    const { debts, unitsOf } = open();
    for (let i = 0; i < 5; i++) debts.add('a', 7, plan, 0);
    expect(unitsOf('a')).toEqual([10]);
  });

  it('is given back what a request took, and nothing of what others took', () => {
    const { debts, unitsOf } = open();
    const loan = debts.add('a', 4, plan, 0);
    debts.add('a', 3, plan, 0);
    debts.correct(loan, 4, 0);
    expect(unitsOf('a')).toEqual([3]);
    debts.add('a', 5, plan, 0);
    debts.correct(loan, 4, 0);
    expect(unitsOf('a')).toEqual([5]);
  });

  it('grows by what a request took in the end, if the store cannot know that, and its window is not over', () => {
    const { debts, unitsOf } = open();
    const none = debts.add('a', 0, plan, 0);
    expect(unitsOf('a')).toBeUndefined();
    debts.correct(none, -4, 999);
    expect(unitsOf('a', 999)).toEqual([4]);
    const sent = debts.add('a', 2, plan, 999);
    debts.take('a', 999)?.conclude('unknown');
    debts.correct(sent, -3, 999);
    expect(unitsOf('a', 999)).toEqual([3]);
    debts.correct(sent, -3, 1000);
    expect(unitsOf('a', 1000)).toBeUndefined();
  });

  it('shrinks and grows by the same request again and again, and no other pays for that', () => {
    const { debts, unitsOf } = open();
    const none = debts.add('a', 0, plan, 0);
    expect(unitsOf('a')).toBeUndefined();
    debts.add('a', 3, plan, 0);
    debts.correct(none, -4, 0);
    debts.correct(none, 1, 0);
    debts.correct(none, -2, 0);
    // 5 are its own.
    debts.correct(none, 6, 0);
    expect(unitsOf('a')).toEqual([3]);
  });

  it('of one key is on its way but once, and what was refused can be told from what was not', () => {
    const { debts } = open();
    debts.add('a', 2, plan, 0);
    const debt = debts.take('a', 0);
    debts.add('a', 3, plan, 0);
    expect(debts.take('a', 0)).toBeUndefined();
    debt?.conclude('not-run');
    expect(debts.take('a', 0, false)).toBeUndefined();
    expect(debts.take('a', 0)).toMatchObject({ units: [2], refused: true });
  });

  it('that the store has charged is corrected there, and gives back to no policy more than it took', () => {
    const two = parsePolicies([
      { name: 'a', algorithm: 'fixed-window', limit: 10, window: '1s' },
      { name: 'b', algorithm: 'fixed-window', limit: 20, window: '1s' },
    ]);
    const debts = new Debts(two);
    const both = planFor(two, undefined);
    const [loan, other] = [debts.add('k', 4, both, 0), debts.add('k', 5, both, 0)];
    expect(correctionOf(loan, 1)).toBeUndefined();
    // Of the 9 units, a takes 6, as no more remain.
    debts.take('k', 0)?.conclude([0, 0, 995, 5, 6, 11, 0, 995, 5, 9]);
    const chargesAt = (...levels: number[]) => levels.map((level) => ({ at: 5, level }));
    expect(correctionOf(loan, 4)).toMatchObject({ units: [4, 4], charges: chargesAt(10, 9) });
    expect(correctionOf(other, 5)).toMatchObject({ units: [2, 5], charges: chargesAt(6, 5) });
    expect(correctionOf(other, 1)).toMatchObject({ units: [0, 0], charges: chargesAt(4, 0) });
    expect(correctionOf(other, -3)).toMatchObject({ units: [-3, -3], charges: chargesAt(4, 0) });
    // Under a, the store could keep but one of these.
    lack(other, [2, 0]);
    const correction = correctionOf(other, 2);
    expect(correction).toMatchObject({ units: [0, 2], charges: chargesAt(5, 3) });
    undo(other, correction!);
    expect(correctionOf(other, 3)).toMatchObject({ units: [1, 3], charges: chargesAt(5, 3) });
  });
});

/** What one request owes gcra, which cannot keep all that it was corrected to, beside 8 units of others. */
function overCorrected() {
  const ofGcra = parsePolicies([{ algorithm: 'gcra', limit: 10, window: '1s' }]);
  const planOfGcra = planFor(ofGcra, undefined);
  const debts = new Debts(ofGcra);
  debts.add('k', 8, planOfGcra, 0);
  const loan = debts.add('k', 1, planOfGcra, 0);
  debts.correct(loan, -999, 0);
  return { debts, loan };
}

it('A debt that is owed anew has nothing lacking of the one before', () => {
  const { debts, loan } = overCorrected();
  debts.correct(loan, 500, 0);
  const debt = debts.take('k', 0);
  expect(debt?.units).toEqual([10]);
  // What is owed anew while that is on its way is another debt, of which nothing is lacking.
  debts.correct(loan, -5, 0);
  debt?.conclude('unknown');
  debts.correct(loan, 5, 0);
  expect(debts.take('k', 0)).toBeUndefined();
});

it('A debt that was corrected to more than its policy can keep, and to what it was again, leaves those of others', () => {
  const { debts, loan } = overCorrected();
  debts.correct(loan, 999, 0);
  expect(debts.take('k', 0)?.units).toEqual([9]);
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
