import { SharedRows } from './shared-rows.js';

function read(rows: SharedRows, number: number): number[] {
  const into = new Float64Array(4);
  rows.read(number, into, 1);
  return [...into.slice(1)];
}

describe('Shared rows', () => {
  it('have one number for each row, however many hold it', () => {
    const rows = new SharedRows(3);
    const [a, b] = [new Float64Array([9, 100, 1, 600]), new Float64Array([9, 100, 1, -600])];
    const first = rows.exchange(0, a, 1);
    expect(rows.exchange(0, a, 1)).toBe(first);
    const second = rows.exchange(0, b, 1);
    expect(second).not.toBe(first);
    expect(read(rows, first)).toEqual([100, 1, 600]);
    expect(read(rows, second)).toEqual([100, 1, -600]);
    expect(rows.size).toBe(2);
  });

  it('are all zeros by number 0', () => {
    const rows = new SharedRows(3);
    expect(read(rows, 0)).toEqual([0, 0, 0]);
    rows.release(0);
    expect(rows.size).toBe(0);
  });

  it('stay as long as anyone holds them', () => {
    const rows = new SharedRows(3);
    const [a, b] = [new Float64Array([1, 2, 3]), new Float64Array([4, 5, 6])];
    const number = rows.exchange(0, a, 0);
    rows.exchange(0, a, 0);
    const other = rows.exchange(number, b, 0);
    expect(read(rows, number)).toEqual([1, 2, 3]);
    expect(rows.exchange(other, b, 0)).toBe(other);
    rows.release(number);
    expect(read(rows, other)).toEqual([4, 5, 6]);
    expect(rows.size).toBe(1);
    // Its number is free again, and found by nobody who asks for what it was.
    const again = rows.exchange(0, new Float64Array([7, 8, 9]), 0);
    expect(again).toBe(number);
    expect(rows.exchange(0, a, 0)).not.toBe(number);
  });

  it('do not grow with rows that nobody holds any more', () => {
    const rows = new SharedRows(3);
    let held = 0;
    let most = 0;
    for (let i = 1; i <= 10_000; i++) {
      held = rows.exchange(held, new Float64Array([i, 1, 1000]), 0);
      most = Math.max(most, held);
      expect(read(rows, held)[0]).toBe(i);
    }
    expect(rows.size).toBe(1);
    expect(most).toBe(2);
  });
});
