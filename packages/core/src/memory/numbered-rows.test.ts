import { NumberedRows } from './numbered-rows.js';

it('Numbered rows give the numbers of what was freed to others, the last one first', () => {
  const rows = new NumberedRows(3);
  const from = new Float64Array([0, 1, 2, 3, 4, 5, 6]);
  const read = (number: number) => [...rows.piece(number).slice(rows.base(number), rows.base(number) + 3)];
  expect([0, 1, 2].map((at) => rows.add(from, at))).toEqual([1, 2, 3]);
  expect([1, 2, 3].map(read)).toEqual([
    [0, 1, 2],
    [1, 2, 3],
    [2, 3, 4],
  ]);
  rows.free(1);
  rows.free(3);
  expect(rows.size).toBe(1);
  expect([3, 4, 2].map((at) => rows.add(from, at))).toEqual([3, 1, 4]);
  expect([1, 2, 3, 4].map(read)).toEqual([
    [4, 5, 6],
    [1, 2, 3],
    [3, 4, 5],
    [2, 3, 4],
  ]);
  expect(rows.size).toBe(4);
});

it('Numbered rows begin anew when many are gone', () => {
  const rows = new NumberedRows(1);
  for (let round = 0; round < 2; round++) {
    const numbers = Array.from({ length: 3000 }, (_, i) => rows.add(new Float64Array([i]), 0));
    expect(numbers).toEqual(Array.from({ length: 3000 }, (_, i) => i + 1));
    expect(rows.piece(2500)[rows.base(2500)]).toBe(2499);
    for (const number of numbers) rows.free(number);
    expect(rows.size).toBe(0);
  }
});
