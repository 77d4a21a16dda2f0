import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter, type Decision, manualClock, type Policy } from '@sluice/core';
import type { RedisClient } from '@sluice/core/redis';
import type { Redis } from 'ioredis';
import { single } from '../backends.js';
import { Random } from '../parity/random.js';
import { settings } from '../settings.js';
import { check } from './check.js';
import type { Entry, History } from './entry.js';
import { Recorder } from './record.js';
import { counterOf, Lane } from './traffic.js';

const START = 1_764_547_200_000;

/** Two lanes in turn, one unit each, two at every instant, 10 ms apart: a history that happened. */
function historyOf(policy: Policy): History {
  const clock = manualClock(START);
  const limiter = createLimiter({ policies: [policy], clock });
  const entries = Array.from({ length: 20 }, (_, i): Entry => {
    const at = START + 10 * Math.floor(i / 2);
    clock.set(at);
    const decision = { ...limiter.consume('key') };
    const call = { do: 'consume', cost: 1 } as const;
    return { place: i + 1, lane: `l${i % 2}`, from: at, to: at, at, call, decision };
  });
  return { policies: [policy], entries };
}

/** The decision of the entry at index `i` is another. */
function told(entries: readonly Entry[], i: number, other: Partial<Decision>): Entry[] {
  const change = (entry: Entry) => ({ ...entry, decision: { ...(entry.decision as Decision), ...other } });
  return entries.map((entry, j) => (j === i ? change(entry) : entry));
}

/** The entries as they stand, without holes. */
function numbered(entries: readonly Entry[]): Entry[] {
  return entries.map((entry, i) => ({ ...entry, place: i + 1 }));
}

/** What might go wrong, done to a history that went well. Entries 2 and 3 are admitted, at one instant. */
const mutations: Readonly<Record<string, (entries: readonly Entry[]) => readonly Entry[]>> = {
  'says that one more is left': (entries) =>
    told(entries, 2, { remaining: (entries[2].decision?.remaining as number) + 1 }),
  'denies what had room': (entries) => told(entries, 2, { allowed: false }),
  'admits what had none': (entries) => told(entries, 19, { allowed: true }),
  'makes a client wait a millisecond too long': (entries) =>
    told(entries, 19, { retryAfterMs: (entries[19].decision?.retryAfterMs as number) + 1 }),
  'gives two clients the same last unit': (entries) => told(entries, 3, entries[2].decision as Decision),
  'decides in another order than it says': (entries) => {
    const [a, b] = entries.slice(2, 4);
    return [...entries.slice(0, 2), { ...a, place: b.place }, { ...b, place: a.place }, ...entries.slice(4)];
  },
  'forgets a charge': (entries) => numbered(entries.filter((_, i) => i !== 2)),
  'charges twice': (entries) => numbered(entries.flatMap((entry, i) => (i === 2 ? [entry, entry] : [entry]))),
  'charges without telling anyone': (entries) => entries.filter((_, i) => i !== 2),
  'uses the clock of a host that is five minutes off': (entries) =>
    entries.map((entry) => ({ ...entry, at: (entry.at as number) + 300_000 })),
  'does late what a lane had sent before': (entries) => {
    const late = { ...entries[19], lane: 'l0' };
    return [late, ...entries.slice(0, 19)];
  },
};

describe('The checker', () => {
  it.each(settings)('accepts what the algorithm did, $title', ({ policy }) => {
    const history = historyOf(policy(6, 4000));
    expect(history.entries[3].decision?.allowed).toBe(true);
    expect(history.entries[19].decision?.allowed).toBe(false);
    expect(check(history)).toBeUndefined();
  });

  it.each(
    Object.entries(mutations).flatMap(([name, mutate]) =>
      settings.map(({ title, policy }) => ({ name, title, mutate, policy })),
    ),
  )('refuses a server that $name, $title', ({ mutate, policy }) => {
    const { policies, entries } = historyOf(policy(6, 4000));
    expect(check({ policies, entries: mutate(entries) })).toMatchObject({ reason: expect.any(String) });
  });

  it('names the first entry that could not have been, and what would have been right', () => {
    const { policies, entries } = historyOf({ algorithm: 'fixed-window', limit: 6, window: 4000 });
    expect(check({ policies, entries: told(entries, 2, { remaining: 5 }) })).toMatchObject({
      entry: { place: 3 },
      reason: 'remaining is not what the algorithm says',
      expected: { remaining: 3 },
    });
  });
});

describe('A real history', () => {
  const backend = single('refused');
  const client = backend.client as Redis;
  afterAll(() => backend.close());

  /** What one lane records on a limit of 50, by way of a client. */
  async function record(name: string, bend: (recorder: Recorder) => RedisClient): Promise<History> {
    const policies: Policy[] = [{ algorithm: 'fixed-window', limit: 50, window: 1e13 }];
    await client.set(counterOf('refused', name), 0, 'PX', 60_000);
    const recorder = new Recorder(client, counterOf('refused', name));
    const traffic = { prefix: 'refused', name, policies, durationMs: 0, pauseMs: 0 };
    const entries = await new Lane('l', new Random(1), recorder, bend(recorder), traffic).run();
    return { policies, entries };
  }

  it('of a client that sends once is accepted', async () => {
    const history = await record('once', (recorder) => recorder);
    expect(history.entries.length).toBeGreaterThanOrEqual(30);
    expect(check(history)).toBeUndefined();
  });

  it('of a client that sends again what was answered is refused', async () => {
    const history = await record('twice', (recorder) => ({
      evalsha: async (...args) => {
        await recorder.evalsha(...args);
        await sleep(0);
        return recorder.evalsha(...args);
      },
      eval: (...args) => recorder.eval(...args),
    }));
    expect(check(history)).toMatchObject({
      reason: expect.stringContaining('is not what the algorithm says'),
    });
  });
});
