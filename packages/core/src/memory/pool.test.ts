import { Pool } from './pool.js';

it('A pool gives the numbers of what was freed to others, the last one first', () => {
  const pool = new Pool<{ name: string }>();
  const numbers = ['a', 'b', 'c'].map((name) => pool.add({ name }));
  expect(numbers).toEqual([1, 2, 3]);
  pool.free(1);
  pool.free(3);
  expect(['d', 'e', 'f'].map((name) => pool.add({ name }))).toEqual([3, 1, 4]);
  pool.set(2, { name: 'g' });
  expect([1, 2, 3, 4].map((number) => pool.get(number).name)).toEqual(['e', 'g', 'd', 'f']);
});
