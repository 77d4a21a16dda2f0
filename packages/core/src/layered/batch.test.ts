import { createLimiter, LayeredStore, manualClock, type Policy, type StoreError } from '../index.js';
import { Shared, Wire } from './doubles.js';

const policy = { algorithm: 'sliding-window-counter', limit: 20, window: '1d' } as const;

function open(policies: readonly Policy[] = [policy], maxUnsynced = 5, shared = new Shared()) {
  const transport = new Wire();
  const store = new LayeredStore({ store: shared, mode: 'batch', maxUnsynced, transport });
  const clock = manualClock(1000);
  const limiter = createLimiter({ name: 'api', policies, store, clock, onStoreError: 'throw' });
  const times = async (count: number) => {
    let admitted = 0;
    for (let i = 0; i < count; i++) if ((await limiter.consume('k')).allowed) admitted += 1;
    return admitted;
  };
  return { store, shared, transport, limiter, clock, times };
}

/** Lets the timer run that reports. */
async function pass(ms: number): Promise<void> {
  await jest.advanceTimersByTimeAsync(ms);
}
beforeEach(() => void jest.useFakeTimers({ doNotFake: ['performance', 'Date'] }));
afterEach(() => void jest.useRealTimers());

test('so many units are admitted before one report, whose answer is what to go on by', async () => {
  const { shared, times, store } = open();
  expect(await times(11)).toBe(11);
  // The first is asked for; then five and five, and the first of each five finds out.
  expect(shared.log).toEqual(['decide 1', 'charge 5']);
  expect(store.counts).toEqual({ decisions: 11, asked: 2 });
});

test('no decision depends on how long the answers of the store are, and several policies count each', async () => {
  const { times, shared } = open([policy, { ...policy, name: 'other', limit: 7 }]);
  expect(await times(12)).toBe(7);
  expect(shared.log.slice(0, 2)).toEqual(['decide 1', 'charge 5,5']);
});

test('what the timer reports is no longer left', async () => {
  const { times, limiter } = open();
  let admitted = 0;
  for (let i = 0; i < 20; i++) {
    admitted += await times(3);
    await pass(1000);
  }
  expect(admitted).toBe(20);
  expect((await limiter.consume('k')).remaining).toBe(0);
});

test('one process alone admits no more than the limit', async () => {
  expect(await open().times(50)).toBe(20);
});

test('debt is remembered: what was admitted beyond the limit is missing afterwards', async () => {
  const shared = new Shared();
  const bucket: Policy = { algorithm: 'token-bucket', limit: 20, window: 20_000 };
  const others = Array.from({ length: 4 }, () => open([bucket], 5, new Shared(shared)));
  let admitted = 0;
  for (const { times } of others) admitted += await times(1);
  // Each has been told of more than five that are left.
  for (const { times } of others) admitted += await times(5);
  expect(admitted).toBe(24);
  await pass(1000);
  expect(shared.log.filter((what) => what.startsWith('correct'))).toEqual(['correct -4']);
  for (const { clock } of others) clock.advance(4000);
  expect(await others[0].times(1)).toBe(0);
  for (const { clock } of others) clock.advance(1000);
  expect(await others[0].times(2)).toBe(1);
});

test('a report that failed is owed still, also after a while in which nobody came', async () => {
  const { shared, times, limiter } = open();
  await times(4);
  shared.failing = 'charge';
  await pass(10_000);
  shared.failing = undefined;
  await pass(1000);
  expect((await limiter.peek('k')).remaining).toBe(16);
});

test('a report of which nobody knows whether it was heard is owed again', async () => {
  const { shared, times, limiter } = open();
  await times(4);
  shared.failing = 'charge';
  shared.late = true;
  await pass(1000);
  shared.failing = undefined;
  await pass(1000);
  // Twice the three that were not asked for.
  expect((await limiter.peek('k')).remaining).toBe(13);
});

test('while the store fails, each may owe so many, and then requests fail', async () => {
  const { shared, times, limiter } = open();
  await times(1);
  shared.failing = '';
  expect(await times(5)).toBe(5);
  await expect(limiter.consume('k')).rejects.toMatchObject({
    outcome: 'not-run',
  } satisfies Partial<StoreError>);
  shared.failing = undefined;
  await times(1);
  expect((await limiter.peek('k')).remaining).toBe(13);
});

test('closing reports what is owed, and a limiter of the same name may be open by then', async () => {
  const { store, shared, transport, times, limiter } = open();
  await times(4);
  limiter.close();
  const again = createLimiter({ name: 'api', policies: [policy], store, clock: manualClock(1000) });
  await pass(0);
  expect(shared.log).toEqual(['decide 1', 'charge 3']);
  expect(transport.listens).toBe(true);
  expect((await again.peek('k')).remaining).toBe(16);
  again.close();
  await pass(0);
  expect(transport.listens).toBe(false);
});

test('nobody is told of reports', async () => {
  const { transport, times } = open();
  await times(30);
  await pass(1000);
  expect(transport.sent).toEqual([]);
});

test.each(['sliding-window-log', 'fixed-window', 'sliding-window-counter', 'token-bucket'] as const)(
  'refunds of %s find what was booked for several requests at once',
  async (algorithm) => {
    const { limiter, clock } = open([{ algorithm, limit: 20, window: '1d' }]);
    await limiter.consume('k');
    const decisions = [];
    for (let i = 0; i < 4; i++) {
      clock.advance(10);
      decisions.push(await limiter.consume('k'));
    }
    clock.advance(10);
    expect((await limiter.peek('k')).remaining).toBe(15);
    clock.advance(10);
    for (const decision of decisions) await limiter.refund(decision);
    expect((await limiter.peek('k')).remaining).toBe(19);
  },
);

test('a reset forgets what is owed', async () => {
  const { limiter, times } = open();
  await times(4);
  await limiter.reset('k');
  await pass(1000);
  expect((await limiter.peek('k')).remaining).toBe(20);
});

test('what was admitted before an update stays used', async () => {
  const { limiter, times } = open([{ algorithm: 'fixed-window', limit: 20, window: '1d' }]);
  await times(4);
  limiter.update({ policies: [{ algorithm: 'fixed-window', limit: 30, window: '1d' }] });
  expect((await limiter.peek('k')).remaining).toBe(26);
});

test('an answer holds no longer than reports may be late', async () => {
  const { times, shared, clock } = open();
  await times(1);
  clock.advance(1000);
  await times(1);
  expect(shared.log).toEqual(['decide 1', 'decide 1']);
});
