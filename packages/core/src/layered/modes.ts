/**
 * The modes of a layered store: their options, what they promise, and what they cannot carry.
 *
 * @module
 */

import { parseDuration } from '../duration.js';
import { ArgumentError, expected, show } from '../errors.js';
import { MemoryStore } from '../memory/memory-store.js';
import type { AlgorithmName, Duration, ParsedPolicy, Table } from '../types.js';
import { BatchTable } from './batch-table.js';
import { LONGEST_MS } from './denials.js';
import { type GossipReport, GossipTable } from './gossip-table.js';
import { LeaseTable } from './lease-table.js';
import type { Counts } from './message.js';
import { byDemand, byShare } from './sizing.js';
import type { LayeredCounts, StrictTable } from './strict-table.js';

const CODE = 'ERR_SLUICE_OPTION';

/** How much is decided in this process: see {@link LayeredStoreOptions.mode}. */
export type LayeredMode = 'strict' | 'reserve' | 'batch' | 'share' | 'gossip';

/** What some of the modes are set by. */
export interface ModeOptions {
  /** For `'batch'`, needed there: the most units of a key that this process may have admitted and not reported. */
  readonly maxUnsynced?: number | undefined;
  /**
   * For `'batch'`: how long units stay unreported at most, while the store serves. Default `'1s'`. For `'gossip'`: how long
   * they stay untold. Default `'100ms'`.
   */
  readonly syncEvery?: Duration | undefined;
  /**
   * For `'reserve'`: how long this process goes by what the store has told it, when a key has nothing left; and how long it
   * keeps units that nobody asks for. Default `'100ms'`.
   */
  readonly horizon?: Duration | undefined;
  /** For `'share'`, needed there: how many processes share the limits. */
  readonly instances?: number | undefined;
}

/** A table that hears what other processes say of keys. */
export interface HeedingTable extends Table<true> {
  /** Once it is closed: settled when what was owed is reported, and what was held is given back, or that has failed. */
  readonly closing?: Promise<unknown> | undefined;
  /** What is known of the key may no longer be so. */
  forget?(key: string): void;
  /** Another process has admitted units. */
  hear?(counts: Counts): void;
  /** What it has heard. */
  readonly report?: GossipReport;
}

/** What a mode is given for each limiter. */
interface ModeParts {
  readonly policies: readonly ParsedPolicy[];
  readonly counts: LayeredCounts;
  /** Opens the store behind it, as a table that remembers denials. */
  strict(): StrictTable;
  /** Tells the other processes. */
  say(counts: Omit<Counts, 'limiter'>): void;
  /** To be called when it is closed, unless a table of `strict` is. */
  closed(): void;
}

/** What a mode does. */
export interface Mode {
  /** What it promises, in words. */
  readonly bound: string;
  /** The algorithms that it cannot carry, and why. */
  readonly unfit: Readonly<Partial<Record<AlgorithmName, string>>>;
  /** Whether it has a store behind it. */
  readonly stored: boolean;
  open(parts: ModeParts): HeedingTable;
}

type ModeOption = keyof ModeOptions;

/** By mode, the options that it has. */
const OPTIONS: Readonly<Record<LayeredMode, readonly ModeOption[]>> = {
  strict: [],
  reserve: ['horizon'],
  batch: ['maxUnsynced', 'syncEvery'],
  share: ['instances'],
  gossip: ['syncEvery'],
};

export const LAYERED_MODES = Object.keys(OPTIONS) as LayeredMode[];

export const MODE_OPTIONS: readonly ModeOption[] = [...new Set(Object.values(OPTIONS).flat())];

/** The least that a timer is worth being set for, and the most that it can be. */
const LEAST_MS = 10;
const MOST_MS = 86_400_000;

/** Where units of a window are not asked for, they are given back after this part of it, and at least so much time. */
const IDLE_SHARE = 0.1;
const LEAST_IDLE_MS = 50;

const NEEDS_INSTANTS = 'keeps the instant of each request';

/** @throws ArgumentError if an option is missing, wrong, or of another mode. */
export function parseMode(name: LayeredMode, options: ModeOptions, tells: boolean): Mode {
  for (const option of MODE_OPTIONS) {
    if (options[option] === undefined || OPTIONS[name].includes(option)) continue;
    const message = `Expected no \`${option}\` in mode ${show(name)}, got ${show(options[option])}.`;
    throw new ArgumentError(CODE, message);
  }
  return MODES[name](options, tells);
}

/** @throws ArgumentError if the mode cannot carry one of the policies. */
export function refuseUnfit(name: LayeredMode, { unfit }: Mode, policies: readonly ParsedPolicy[]): void {
  if (name === 'strict') return;
  for (const policy of policies) {
    const why = policy.countDenied
      ? 'counts denied requests, of which nobody else would hear'
      : policy.block !== undefined
        ? 'blocks, of which nobody else would hear'
        : unfit[policy.algorithm];
    if (why === undefined) continue;
    throw new ArgumentError(
      CODE,
      `Expected policies that a LayeredStore in mode ${show(name)} can carry, got \`${policy.name}\` (${policy.algorithm}), which ${why}. Mode "strict" carries all.`,
    );
  }
}

const MODES: Readonly<Record<LayeredMode, (options: ModeOptions, tells: boolean) => Mode>> = {
  strict: (_, tells) => ({
    bound: `strict: nothing is admitted or denied that its store would not; but ${untold(tells)}.`,
    unfit: {},
    stored: true,
    open: ({ strict }) => strict(),
  }),

  reserve(options, tells) {
    const horizonMs = span(options.horizon, 'horizon', 100);
    return {
      bound: `reserve: nothing is admitted beyond the limits, under any load. A process that got less than it asked for denies for ${horizonMs} ms; units that it holds and does not use are missing elsewhere as long; a bucket of tokens is taken to hold less by what comes back to it in that time, at most a tenth. And ${untold(tells)}, or be admitted what that process still held.`,
      unfit: {
        'sliding-window-log': `${NEEDS_INSTANTS}; sliding-window-counter with edge "keep" admits as little in any window`,
        'leaky-bucket': 'has a queue, of which only the store knows the end; token-bucket admits the same',
      },
      stored: true,
      open: ({ strict, policies, counts }) => new LeaseTable(strict(), policies, byDemand(horizonMs), counts),
    };
  },

  batch(options, tells) {
    const maxUnsynced = whole(options.maxUnsynced, 'maxUnsynced');
    const everyMs = span(options.syncEvery, 'syncEvery', 1000);
    return {
      bound: `batch: N processes together admit at most N * ${maxUnsynced} units of a key more than its store alone would, in any stretch of time and under any load, and ${maxUnsynced} more for each that ends without a word in it. And ${untold(tells)}.`,
      unfit: {
        gcra: 'remembers at most one capacity of debt; token-bucket decides the same, and remembers all',
        'leaky-bucket': 'has a queue, of which only the store knows the end; token-bucket admits the same',
      },
      stored: true,
      open: ({ strict, counts }) => new BatchTable(strict(), { maxUnsynced, everyMs }, counts),
    };
  },

  share(options, tells) {
    const instances = whole(options.instances, 'instances');
    const why = 'has no windows to share; mode "reserve" carries it';
    return {
      bound: `share: nothing is admitted beyond the limits, under any load and by any number of processes. Units of the share of 1/${instances} that a process holds and does not use are missing elsewhere until its window ends, or a tenth of that has passed without a request; and ${untold(tells)}, or be admitted what that process still held.`,
      unfit: {
        'sliding-window-log': `${NEEDS_INSTANTS}; sliding-window-counter with edge "keep" admits as little in any window`,
        'token-bucket': why,
        gcra: why,
        'leaky-bucket': why,
      },
      stored: true,
      open({ strict, policies, counts }) {
        const windows = policies.map(({ windowMs, buckets }) => windowMs / buckets);
        const idleMs = Math.min(
          MOST_MS,
          Math.max(LEAST_IDLE_MS, Math.floor(IDLE_SHARE * Math.min(...windows))),
        );
        return new LeaseTable(strict(), policies, byShare(instances, idleMs), counts);
      },
    };
  },

  gossip(options, tells) {
    const everyMs = span(options.syncEvery, 'syncEvery', 100);
    if (!tells) throw expected(CODE, 'transport', 'given in mode "gossip", as it has no store', undefined);
    return {
      bound: `gossip: all processes together admit at most as many units of a key above its limit as the others of them admit in ${everyMs} ms and the time that a message takes, and as long again for each message that gets lost; a process that has just started knows of none, and may admit as much as the limit; and N processes never admit more than N times the limit.`,
      unfit: {
        gcra: 'remembers at most one capacity of debt; token-bucket decides the same, and remembers all',
        'leaky-bucket': 'has a queue, which would be one in each process; token-bucket admits the same',
      },
      stored: false,
      open: ({ policies, counts, say, closed }) =>
        new GossipTable(new MemoryStore().open('gossip', policies), policies, everyMs, counts, {
          say,
          closed,
        }),
    };
  },
};

function untold(tells: boolean): string {
  const others = tells
    ? 'until the message of it arrives there'
    : 'as long as its denial lasts (there is no transport)';
  return `a key that was given units back, was reset or unblocked by another process may stay denied ${others}, at most ${LONGEST_MS} ms`;
}

function whole(value: unknown, name: ModeOption): number {
  if (Number.isSafeInteger(value) && (value as number) >= 1) return value as number;
  throw expected(CODE, name, 'an integer of at least 1', value);
}

function span(value: unknown, name: ModeOption, byDefault: number): number {
  const ms = value === undefined ? byDefault : parseDuration(value, name, CODE);
  if (ms >= LEAST_MS && ms <= MOST_MS) return ms;
  throw expected(CODE, name, `from ${LEAST_MS} ms to a day`, value);
}
