import { Breaker, REFUSED } from './breaker.js';

function breaker() {
  let now = 1000;
  const events: [string, string?][] = [];
  const subject = new Breaker<string>(
    (state, error) => events.push(error === undefined ? [state] : [state, error]),
    () => now,
  );
  return {
    subject,
    events,
    advance: (ms: number) => {
      now += ms;
    },
    fail: (times: number, error = 'gone') => {
      for (let i = 0; i < times; i++) subject.failed(subject.admit(), error);
    },
  };
}

describe('A circuit breaker', () => {
  it('stays closed while fewer than three calls in a row fail', () => {
    const { subject, events, fail } = breaker();
    for (let i = 0; i < 10; i++) {
      fail(2);
      subject.served(subject.admit());
    }
    expect(subject.closed).toBe(true);
    expect(subject.admit()).not.toBe(REFUSED);
    expect(events).toEqual([]);
  });

  it('opens at the third failure in a row, says so once, and refuses for half a second', () => {
    const { subject, events, fail, advance } = breaker();
    const before = [subject.admit(), subject.admit()];
    fail(3, 'gone');
    for (const ticket of before) subject.failed(ticket, 'also gone');
    expect(events).toEqual([['open', 'gone']]);
    for (const ms of [0, 250, 249]) {
      advance(ms);
      expect(subject.closed).toBe(false);
      expect(subject.admit()).toBe(REFUSED);
    }
  });

  it('stays closed while some calls are served now and then, and opens when none is any more', () => {
    const { subject, events, fail, advance } = breaker();
    for (let i = 0; i < 10; i++) {
      subject.served(subject.admit());
      advance(99);
      fail(50);
    }
    expect(subject.closed).toBe(true);
    advance(1);
    fail(1, 'gone');
    expect(subject.closed).toBe(false);
    expect(events).toEqual([['open', 'gone']]);
  });

  it('lets a single probe through after that, and closes when it is served', () => {
    const { subject, events, fail, advance } = breaker();
    fail(3);
    advance(500);
    expect(subject.closed).toBe(false);
    const probe = subject.admit();
    expect(probe).not.toBe(REFUSED);
    advance(10_000);
    expect(subject.closed).toBe(false);
    expect(subject.admit()).toBe(REFUSED);
    subject.served(probe);
    expect(subject.admit()).not.toBe(REFUSED);
    expect(events).toEqual([['open', 'gone'], ['closed']]);
  });

  it('waits another half second when the probe fails, and does not say so again', () => {
    const { subject, events, fail, advance } = breaker();
    fail(3);
    advance(500);
    subject.failed(subject.admit(), 'still gone');
    advance(499);
    expect(subject.admit()).toBe(REFUSED);
    advance(1);
    subject.served(subject.admit());
    expect(events).toEqual([['open', 'gone'], ['closed']]);
  });

  it('is not moved by calls that began before it changed', () => {
    const { subject, events, fail, advance } = breaker();
    const [slow, slower] = [subject.admit(), subject.admit()];
    fail(3);
    subject.served(slow);
    expect(subject.admit()).toBe(REFUSED);
    advance(500);
    const probe = subject.admit();
    subject.served(slower);
    expect(subject.admit()).toBe(REFUSED);
    subject.served(probe);
    subject.failed(slow, 'late');
    fail(2);
    expect(subject.admit()).not.toBe(REFUSED);
    expect(events).toEqual([['open', 'gone'], ['closed']]);
  });

  it('lets a probe through when the clock has gone back further than it stays open', () => {
    const { subject, fail, advance } = breaker();
    advance(1e9);
    fail(3);
    advance(-1e9);
    expect(subject.admit()).not.toBe(REFUSED);
    expect(subject.admit()).toBe(REFUSED);
  });

  it('needs three failures again after it has closed', () => {
    const { subject, events, fail, advance } = breaker();
    fail(3);
    advance(500);
    subject.served(subject.admit());
    advance(100);
    fail(2);
    expect(subject.admit()).not.toBe(REFUSED);
    fail(1, 'gone again');
    expect(subject.admit()).toBe(REFUSED);
    expect(events).toEqual([['open', 'gone'], ['closed'], ['open', 'gone again']]);
  });
});
