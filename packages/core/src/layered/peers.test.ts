import { Peers } from './peers.js';

const KEEP_MS = 100_000;

/** What a process says: of each key its total, all of which is new. */
function said(from: string, number: number, totals: Readonly<Record<string, number>>) {
  const counts = Object.entries(totals).map(([key, total]) => {
    return { key, total, news: total, back: 0, chargedMs: 0 };
  });
  return { limiter: 'api', from, number, heldMs: 0, counts };
}

function many(from: number, count: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`key ${from + i}`, 1]));
}

test('totals of all processes together are of 100,000 keys at most', () => {
  const peers = new Peers();
  for (let i = 0; i < 3; i++) peers.hear(said(`process ${i}`, 0, many(0, 50_000)), 0, KEEP_MS);
  expect(peers.keys).toBe(100_000);
  // The first has given way: what it says again is not all counted in again.
  const again = {
    ...said('process 0', 1, {}),
    counts: [{ key: 'key 1', total: 3, news: 2, back: 0, chargedMs: 0 }],
  };
  expect(peers.hear(again, 1, KEEP_MS).news).toMatchObject([{ news: 2 }]);
  expect(peers.keys).toBe(100_000);
});

test('totals that nothing was heard of for as long as they are kept are forgotten', () => {
  const peers = new Peers();
  peers.hear(said('one', 0, many(0, 10)), 0, KEEP_MS);
  peers.hear(said('other', 0, { k: 1 }), 0, KEEP_MS);
  for (let i = 1; i < 3; i++) {
    peers.hear(said('one', i, { k: i }), i * 40_000, KEEP_MS);
    peers.hear(said('other', i, { k: i + 1 }), i * 40_000, KEEP_MS);
  }
  expect(peers.keys).toBe(12);
  peers.hear(said('other', 3, { k: 4 }), 100_000, KEEP_MS);
  expect(peers.keys).toBe(2);
});

test('totals of a process that has gone are forgotten with it', () => {
  const peers = new Peers();
  peers.hear(said('one', 0, many(0, 10)), 0, KEEP_MS);
  peers.hear(said('other', 0, { k: 1 }), 60_000, KEEP_MS);
  expect([peers.size, peers.keys]).toEqual([1, 1]);
});
