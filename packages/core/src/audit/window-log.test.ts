import { WindowLog } from './window-log.js';

describe('A log of the last window', () => {
  it('counts what is younger than a window', () => {
    const log = new WindowLog(1000);
    log.add(2, 0, 10);
    log.add(3, 1, 10);
    expect(log.total(999)).toBe(5);
    expect(log.total(1000)).toBe(3);
    expect(log.total(1001)).toBe(0);
    expect(log.fits(4, 1, 1000)).toBe(true);
    expect(log.fits(3, 1, 1000)).toBe(false);
  });

  it('counts from its newest entry on if the clock steps back', () => {
    const log = new WindowLog(1000);
    log.add(1, 5000, 10);
    log.add(1, 4000, 10);
    expect(log.total(4500)).toBe(2);
    expect(log.total(5999)).toBe(2);
    expect(log.total(6000)).toBe(0);
  });

  it('holds no more than its most units need, however many come, and answers as if it held all', () => {
    const most = 7;
    const log = new WindowLog(50);
    const all: { at: number; cost: number }[] = [];
    for (let at = 0; at < 500; at++) {
      const cost = 1 + ((at * 7) % 3);
      // Now and then nothing comes, so that what is held leaves the window again.
      if (at % 170 < 100) {
        log.add(cost, at, most);
        all.push({ at, cost });
      }
      const total = all.filter((entry) => entry.at > at - 50).reduce((sum, entry) => sum + entry.cost, 0);
      for (let limit = 0; limit <= most; limit++) {
        for (const more of [1, 2, 7]) expect(log.fits(limit, more, at)).toBe(total + more <= limit);
      }
      expect(log.length).toBeLessThanOrEqual(most);
    }
  });

  it('holds one entry where each is as much as its most', () => {
    const log = new WindowLog(1000);
    for (let at = 0; at < 100; at++) log.add(5, at, 5);
    expect(log.length).toBe(1);
    expect(log.fits(5, 1, 1098)).toBe(false);
    expect(log.fits(5, 5, 1099)).toBe(true);
  });
});
