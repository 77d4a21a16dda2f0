import { Journal } from './journal.js';

const MOST = Number.MAX_SAFE_INTEGER;
const NOW = 1_700_000_000_000;

/** A journal beside plain entries that it must agree with, stored and opened between any two steps. */
class Pair {
  readonly journal = new Journal();
  entries: { at: number; cost: number }[];

  constructor(at: number, cost: number) {
    this.journal.openLone(at, cost);
    this.entries = [{ at, cost }];
  }

  append(drop: number, at: number, cost: number, limit = 1e9): void {
    this.journal.append(drop, at, cost, limit);
    this.entries.splice(0, drop);
    const last = this.entries[this.entries.length - 1];
    if (last.at === at) last.cost += cost;
    else this.entries.push({ at, cost });
    this.#reopen();
  }

  take(at: number, units: number): boolean {
    const taken = this.journal.take(at, units);
    const entry = this.entries.find((each) => each.at === at);
    expect(taken).toBe(entry !== undefined);
    if (entry !== undefined) entry.cost = Math.max(0, entry.cost - units);
    this.#reopen();
    return taken;
  }

  /** How many numbers are stored besides three. */
  get cells(): number {
    return this.journal.cells.length - 3;
  }

  check(): void {
    const { journal } = this;
    const seen = Array.from({ length: journal.length }, (_, i) => ({
      at: journal.instant(i),
      cost: journal.sum(i) - journal.sum(i - 1),
    }));
    expect(seen).toEqual(this.entries);
  }

  #reopen(): void {
    const { cells, origin } = this.journal;
    this.journal.openLone(1, 1);
    this.journal.open(cells, origin);
  }
}

describe('A journal', () => {
  it('takes a number per entry, and no more than the limit', () => {
    const pair = new Pair(NOW, 1);
    for (let i = 1; i < 100; i++) pair.append(0, NOW + 600 * i, 1, 100);
    pair.check();
    expect(pair.cells).toBe(100);
    // Full, and one leaves for each that comes: many laps of the ring, and more than 2^21 in sum.
    for (let i = 100; i < 1000; i++) pair.append(1, NOW + 600 * i, 1, 100);
    pair.check();
    expect(pair.cells).toBe(100);
  });

  it('adds what comes at the same instant to one entry', () => {
    const pair = new Pair(NOW, 1);
    pair.append(0, NOW + 1, 2);
    pair.append(0, NOW + 1, 3);
    pair.append(1, NOW + 1, 4);
    pair.check();
    expect(pair.entries).toEqual([{ at: NOW + 1, cost: 9 }]);
  });

  it('keeps sums that wrap around', () => {
    const pair = new Pair(NOW, 2_000_000);
    pair.append(0, NOW + 1, 90_000);
    for (let i = 2; i < 50; i++) {
      pair.append(1, NOW + i, i % 2 === 0 ? 2_000_000 : 90_000);
      pair.check();
    }
    expect(pair.cells).toBeLessThan(10);
  });

  it.each([
    ['sums of 2^21', 1, 2 ** 21 - 2],
    ['offsets of 2^32 ms', 2 ** 32, 1],
    ['the largest sum', 1, MOST - 2],
  ])('takes two numbers per entry for %s, and one again a lap later', (_, gap, cost) => {
    const pair = new Pair(NOW, 1);
    pair.append(0, NOW + 1, 1);
    const narrow = pair.cells;
    pair.append(0, NOW + 1 + gap, cost);
    pair.check();
    expect(pair.cells).toBe(2 * narrow);
    for (let i = 2; i < 40; i++) {
      pair.append(pair.entries.length > 2 ? 1 : 0, NOW + i + gap, 1);
      pair.check();
    }
    expect(pair.cells).toBe(narrow);
  });

  it('finds a new origin for instants that went too far from it', () => {
    const pair = new Pair(NOW, 1);
    for (let i = 1; i < 20; i++) {
      pair.append(i > 2 ? 1 : 0, NOW + i * 1_000_000_000, i);
      pair.check();
    }
    expect(pair.cells).toBeLessThan(10);
  });

  it('has room for a quarter more than it holds while it grows, and gives back what it does not need', () => {
    const pair = new Pair(NOW, 1);
    let most = 0;
    for (let i = 1; i < 6000; i++) {
      pair.append(0, NOW + i, 1);
      if (i > 20) most = Math.max(most, pair.cells / pair.entries.length);
    }
    expect(most).toBeLessThanOrEqual(1.25);
    pair.check();
    pair.append(4000, NOW + 6000, 1);
    pair.check();
    expect(pair.cells).toBeLessThanOrEqual(1.13 * pair.entries.length);
    // A few more leave, and then as many as come: less than half of the room is free, and a lap gives it back.
    for (let i = 1; i < 300; i++) pair.append(3, NOW + 6000 + i, 1);
    for (let i = 1; i < 3000; i++) pair.append(1, NOW + 7000 + i, 1);
    pair.check();
    expect(pair.entries.length).toBe(1403);
    expect(pair.cells).toBeLessThanOrEqual(1.2 * pair.entries.length);
  });

  it('grows beyond the limit where refunds leave entries that cost nothing', () => {
    const pair = new Pair(NOW, 1);
    for (let i = 1; i < 200; i++) {
      pair.append(0, NOW + i, 1, 10);
      expect(pair.take(NOW + i, 1)).toBe(true);
    }
    pair.check();
    expect(pair.cells).toBeLessThanOrEqual(250);
  });

  it('takes from the entry of an instant, and no more than it has', () => {
    const pair = new Pair(NOW, 5);
    for (let i = 1; i < 9; i++) pair.append(0, NOW + 10 * i, i);
    pair.append(3, NOW + 100, 7);
    for (const [at, units] of [
      [NOW + 50, 2],
      [NOW + 30, 100],
      [NOW + 20, 1],
      [NOW + 55, 1],
      [NOW + 101, 1],
    ]) {
      pair.take(at, units);
      pair.check();
    }
  });

  it('adds to the entry of an instant, up to the largest sum', () => {
    const pair = new Pair(NOW, 5);
    pair.append(0, NOW + 1, 7);
    pair.append(0, NOW + 2, 3);
    pair.take(NOW + 1, -100);
    pair.take(NOW + 1, -(2 ** 21));
    pair.check();
    expect(pair.cells).toBe(12);
    pair.journal.take(NOW, -MOST);
    expect(pair.journal.sum(2) - pair.journal.sum(-1)).toBe(MOST);
    expect(pair.journal.sum(0) - pair.journal.sum(-1)).toBe(MOST - (2 ** 21 + 107) - 3);
  });
});
