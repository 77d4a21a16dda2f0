/**
 * The vocabulary: what goes into a limiter and what comes out of it.
 *
 * @module
 */

/** The algorithms a policy can name. The default is `'sliding-window-counter'`. */
export type AlgorithmName =
  | 'fixed-window'
  | 'sliding-window-log'
  | 'sliding-window-counter'
  | 'token-bucket'
  | 'gcra'
  | 'leaky-bucket';

/** A span of time: whole milliseconds, or a whole number and a unit, as in `'500ms'`, `'10s'`, `'1m'`, `'1h'`, `'1d'`, `'1w'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd' | 'w'}`;

/** For which time a policy blocks a key that keeps being denied by it: see `docs/blocks.md`. */
export interface BlockOptions {
  /**
   * The strike that begins a block: an integer of at least 1. A strike is a `consume` that the policy denies, of a cost
   * of at least 1 and at most the capacity, while the key is not blocked. All are forgotten when a whole window has
   * passed since the last one.
   */
  readonly after: number;
  /** How long the first block lasts. */
  readonly for: Duration;
  /**
   * How many times as long each next block is as the one before, rounded up to whole ms: from 1 to 1000, with at most
   * three decimals. The one before is remembered for as long again after its end, and at least a window. Default 1.
   */
  readonly grow?: number | undefined;
  /** The longest that a block may grow to: at least `for`. Default: `for` if it does not grow, else the longest duration there is. */
  readonly max?: Duration | undefined;
}

/** What every policy has. */
export interface PolicyBase {
  /** Names the policy in keys, headers and decisions. Printable ASCII without `:{}"\`. Default: `default`, or its place. */
  readonly name?: string | undefined;
  /** Units admitted per window: an integer of at least 0, or `Infinity` to switch the policy off. */
  readonly limit: number;
  /** The window that `limit` is counted over. */
  readonly window: Duration;
  /** Blocks keys that keep being denied. Default: none. */
  readonly block?: BlockOptions | undefined;
}

/** Options that mean something to other algorithms only. */
type Without<
  Option extends 'countDenied' | 'buckets' | 'edge' | 'rounding' | 'burst' | 'capacity' | 'maxDelay',
> = {
  readonly [Name in Option]?: never;
};

/** Counts in windows aligned to the epoch; a stretch across an edge can see twice the limit. */
export interface FixedWindowPolicy
  extends PolicyBase,
    Without<'buckets' | 'edge' | 'rounding' | 'burst' | 'capacity' | 'maxDelay'> {
  /** Counts by window. */
  readonly algorithm: 'fixed-window';
  /** Count denied requests as well. Default `false`. */
  readonly countDenied?: boolean | undefined;
}

/** Keeps every admitted request: never more than the limit in any window. */
export interface SlidingWindowLogPolicy
  extends PolicyBase,
    Without<'countDenied' | 'buckets' | 'edge' | 'rounding' | 'burst' | 'capacity' | 'maxDelay'> {
  /** Keeps an entry for each instant at which something was admitted. */
  readonly algorithm: 'sliding-window-log';
}

/** A bucket of `burst` tokens that refills at `limit` per `window`. */
export interface TokenBucketPolicy
  extends PolicyBase,
    Without<'countDenied' | 'buckets' | 'edge' | 'rounding' | 'capacity' | 'maxDelay'> {
  /** Keeps the tokens and the instant they were counted at. */
  readonly algorithm: 'token-bucket';
  /** The most that can be taken at once. Default: the limit. */
  readonly burst?: number | undefined;
}

/** The token bucket as one number per key (the theoretical arrival time of ITU-T I.371). */
export interface GcraPolicy
  extends PolicyBase,
    Without<'countDenied' | 'buckets' | 'edge' | 'rounding' | 'capacity' | 'maxDelay'> {
  /** Keeps the instant at which the bucket will be full. */
  readonly algorithm: 'gcra';
  /** The most that can be taken at once. Default: the limit. */
  readonly burst?: number | undefined;
}

/** A queue that lets requests out evenly, at `limit` per `window`. */
export interface LeakyBucketPolicy
  extends PolicyBase,
    Without<'countDenied' | 'buckets' | 'edge' | 'rounding' | 'burst'> {
  /** Keeps the level of the queue and the instant it was counted at. */
  readonly algorithm: 'leaky-bucket';
  /** How much fits into the queue. Default: the limit. */
  readonly capacity?: number | undefined;
  /**
   * The longest wait: lowers the capacity until no request that takes a place waits longer. One that finds no place
   * within it is denied.
   */
  readonly maxDelay?: Duration | undefined;
}

// Last, as that is the one that the compiler speaks of where none fits: the default.
/** Counts in `buckets` and estimates the part of the oldest one that is still inside the window. */
export interface SlidingWindowCounterPolicy extends PolicyBase, Without<'burst' | 'capacity' | 'maxDelay'> {
  /** The default: need not be said. */
  readonly algorithm?: 'sliding-window-counter' | undefined;
  /** How many buckets the window is cut into; `window` must be a multiple of it. Default 1. */
  readonly buckets?: number | undefined;
  /** How the bucket at the edge counts: in proportion, not at all, or in full. Default `'weighted'`. */
  readonly edge?: 'weighted' | 'drop' | 'keep' | undefined;
  /** `'down'` drops the fraction of the estimate before it is compared. Default `'none'`. */
  readonly rounding?: 'none' | 'down' | undefined;
  /** Count denied requests as well. Default `false`. */
  readonly countDenied?: boolean | undefined;
}

/** An algorithm with its numbers. */
export type Policy =
  | FixedWindowPolicy
  | SlidingWindowLogPolicy
  | TokenBucketPolicy
  | GcraPolicy
  | LeakyBucketPolicy
  | SlidingWindowCounterPolicy;

/** Who blocked a key: the policy, as the key kept being denied, or whoever called `Limiter.block`. */
export type BlockedBy = 'policy' | 'hand';

/** Why a request was denied that no limit need have denied. */
export interface DecisionBlock {
  /** The policy in which the key is blocked: the one that binds, if it is blocked in that. */
  readonly policy: string;
  /** Who blocked it there. */
  readonly by: BlockedBy;
}

/** What one policy says of a request. */
export interface PolicyDecision {
  /** The policy's name. */
  readonly name: string;
  /** The capacity: the most that one request could ever take. */
  readonly limit: number;
  /** The window; for a bucket, the time in which all of it refills. */
  readonly windowMs: number;
  /** The most that this policy would admit right now. */
  readonly remaining: number;
  /**
   * The least wait after which the same cost fits this policy, 0 if it fits now, `Infinity` if it never will. Where
   * another policy denies and this one counts denied requests, the wait after that was counted.
   */
  readonly retryAfterMs: number;
  /** The least wait after which the key is as new to this policy. */
  readonly resetMs: number;
  /** Whether the request fits this policy, whatever the others say. */
  readonly allowed: boolean;
  /** Who blocked the key in this policy; absent where it is not blocked. */
  readonly blockedBy?: BlockedBy | undefined;
}

/** The answer to one request. A fresh value each time; it never changes afterwards. */
export interface Decision {
  /** Whether the request may go on: every policy admits it. */
  readonly allowed: boolean;
  /** The policy that binds: denied, the one with the longest wait; allowed, the one with the fewest remaining; the first if equal. */
  readonly policy: string;
  /** The binding policy's capacity. */
  readonly limit: number;
  /** The most that the binding policy would admit right now. */
  readonly remaining: number;
  /** The least wait after which the same cost is admitted if nothing else happens: exact, whole ms; `Infinity` if never. */
  readonly retryAfterMs: number;
  /** The least wait after which the binding policy finds the key as new. */
  readonly resetMs: number;
  /** How long the caller should hold the request (leaky bucket only, else 0). */
  readonly delayMs: number;
  /** The units asked for. */
  readonly cost: number;
  /** Whether it was made without the store, which failed: see `onStoreError`. Numbers that nobody knows are `NaN`. */
  readonly degraded: boolean;
  /** Every policy's own answer, in the order of the policies. */
  readonly policies: readonly PolicyDecision[];
  /**
   * Present where a request was denied after it had been charged to keys of other kinds, which happens only on a Redis
   * Cluster: see `docs/several-keys.md`.
   */
  readonly compensation?: Compensation | undefined;
  /** Present where a block denied the request, from the one that began it on. */
  readonly block?: DecisionBlock | undefined;
  /**
   * Corrects what was charged to what the request really cost, as `Limiter.settle` of the limiter that decided does: at
   * once on a synchronous store, by promise on the others. For where the limiter is not at hand.
   *
   * @param units - what the request cost in all.
   * @throws ArgumentError if the units are none, or the limiter is closed.
   * @throws StoreError if the store could not answer.
   *
   * @example
   * import { createLimiter } from '@sluice/core';
   * const limiter = createLimiter({ policies: [{ limit: 100_000, window: '1m' }] });
   * const decision = limiter.consume('user:42', { cost: 500 });
   * decision.settle(734);
   */
  settle(units: number): void | Promise<void>;
}

/** Where `now` comes from. */
export interface Clock {
  /** Returns whole milliseconds since the epoch; one that goes back is taken for standing still. */
  now(): number;
}

/** A policy after parsing: complete, frozen, every number checked. */
export interface ParsedPolicy {
  /** As given, or `default`, or its place where there are several. */
  readonly name: string;
  /** As given, or the default. */
  readonly algorithm: AlgorithmName;
  /** Units per window; `Infinity` if it is off. */
  readonly limit: number;
  /** The window in ms. */
  readonly windowMs: number;
  /** `burst` or `capacity` where one was given; otherwise the limit is the capacity. */
  readonly capacity: number | undefined;
  /** The longest wait in a queue, where one was given: lowers the capacity. */
  readonly maxDelayMs: number | undefined;
  /** How many buckets the window is cut into; 1 where that means nothing. */
  readonly buckets: number;
  /** How the bucket at the edge of the window counts. */
  readonly edge: 'weighted' | 'drop' | 'keep';
  /** What becomes of the fraction of an estimate. */
  readonly rounding: 'none' | 'down';
  /** Whether denied requests count. */
  readonly countDenied: boolean;
  /** How it blocks, if it does. */
  readonly block: ParsedBlock | undefined;
}

/** A policy's block after parsing. */
export interface ParsedBlock {
  /** The strike that begins a block. */
  readonly after: number;
  /** How long the first lasts. */
  readonly forMs: number;
  /** How many times as long each next one is; 1 if all last as long. */
  readonly grow: number;
  /** The longest. */
  readonly maxMs: number;
}

/** One policy as a store sees it. */
export interface Term {
  /** The policy's. */
  readonly name: string;
  /** Who reads the numbers. */
  readonly algorithm: AlgorithmName;
  /** What `decide` takes, in the same order in both languages; the capacity is the first. */
  readonly numbers: readonly number[];
  /** The window; for a bucket, the time in which all of it refills. */
  readonly windowMs: number;
  /** What a strike takes, in the same order in both languages, if the policy blocks. */
  readonly block: readonly number[] | undefined;
}

/** The policies that a request is judged by (those with a finite limit), in order. */
export interface Plan {
  /** Those policies, as stores see them. */
  readonly terms: readonly Term[];
  /** The place of each term's policy among all the policies of the limiter. */
  readonly places: readonly number[];
}

/**
 * A store's answer as plain numbers: for each term of the plan {@link ANSWER_WIDTH} of them, in the order
 * remaining, retryAfter (0: it fits; -1: it never will), reset, at, delay. Where another term denies, the last is the
 * wait that comes of being counted all the same.
 * `at` is the instant the charge was booked on: `now`, or the newest instant the state knows if that is later.
 * A negative remaining says that the key is blocked in the term: -1 by its policy, -2 by hand. Its delay is then the wait
 * until that ends, and its reset -1 if it has no end.
 */
export type Answer = ArrayLike<number> & {
  /** Present where another term denied after some were charged. */
  readonly compensation?: Compensation | undefined;
};

/** How many numbers of an {@link Answer} belong to one term. */
export const ANSWER_WIDTH = 5;

/** What a refund or settlement needs to know of a charge, per term. */
export interface Charge {
  /** The instant the charge was booked on. */
  readonly at: number;
  /** The units in use right after it, whole: shows a queue whether anyone came after. */
  readonly level: number;
}

/** What became of units that were charged, where limits of several kinds of keys lie on several nodes, and one of them denied. */
export interface Compensation {
  /** The kinds of keys that were charged for a moment, and were given it back. */
  readonly givenBack: readonly string[];
  /** Those that could not be given it back: they are charged until that is over by itself. */
  readonly lost: readonly string[];
}

/** `T` at once from a synchronous store, a promise of it from the others. */
export type Eventually<A extends boolean, T> = A extends true ? Promise<T> : T;

/** Who keeps requests from a store that does not serve. */
export interface Gate {
  /** Whether all requests go to the store. Else they are refused at once, but for one that finds out whether it is back. */
  readonly serves: boolean;
}

/** The kinds of keys of a limiter that takes keys of several kinds, and whose policies are whose. */
export interface Kinds {
  /** Their names, in order. */
  readonly names: readonly string[];
  /** For each policy the place of its kind. */
  readonly places: readonly number[];
  /** Returns the keys that an id stands for, one per kind; `null` of a kind that does not apply. */
  split(id: string): readonly (string | null)[];
  /** Returns the id that stands for such keys. */
  join(keys: readonly (string | null)[]): string;
}

/** One limiter's part of a store. `now` is `undefined` where the store's own clock decides. */
export interface Table<A extends boolean = boolean> {
  /** Absent where every request goes to the store. */
  readonly gate?: Gate | undefined;
  /** Set to be called with a key that was given up before it was as new, and whether it was being denied. */
  evicted?: ((id: string, denied: boolean) => void) | undefined;
  /** Judges, and charges if `charge` is true and every term admits. The answer may be reused by the next call. */
  decide(
    id: string,
    cost: number,
    plan: Plan,
    charge: boolean,
    now: number | undefined,
  ): Eventually<A, Answer>;
  /**
   * Charges each policy by itself, up to its units and no more than what remains in it: what was used elsewhere while
   * the store could not be asked. Returns how it stands after that, as `decide` does of a request that costs nothing, but
   * with the units that were taken in place of the delay.
   */
  charge(id: string, units: readonly number[], plan: Plan, now: number | undefined): Eventually<A, Answer>;
  /**
   * Gives units back to what was charged, per term, where that is still known; never creates a key then. Negative ones
   * are added to what was charged, as debt where they are more than what is left; none is positive then. Returns, per
   * term, how many of those it could not keep.
   */
  correct(
    id: string,
    units: readonly number[],
    plan: Plan,
    charges: readonly Charge[],
    now: number | undefined,
  ): Eventually<A, ArrayLike<number>>;
  /** Makes the key as new. */
  reset(id: string): Eventually<A, void>;
  /**
   * Blocks the key in every term of the plan for `durationMs`, `Infinity` for as long as nobody ends it; a block that
   * ends later goes on. Absent in stores that know no blocks: policies that have one are refused there.
   *
   * @param plan - of all policies, also those without a limit.
   */
  readonly block?:
    | ((id: string, durationMs: number, plan: Plan, now: number | undefined) => Eventually<A, void>)
    | undefined;
  /** Ends the key's blocks in every term of the plan, and forgets its strikes and how long blocks were. */
  readonly unblock?: ((id: string, plan: Plan, now: number | undefined) => Eventually<A, void>) | undefined;
  /**
   * Lets these policies take over, of the same names and algorithms as those it was opened with, in the same order. What
   * was used stays used. Absent where state says itself under which numbers it was written.
   */
  update?(policies: readonly ParsedPolicy[]): void;
  /** Lets go of the limiter's hold on the store. */
  close(): void;
}

/**
 * Where state lives. A store runs the algorithms; it invents no arithmetic of its own.
 *
 * `A` is `true` for a store whose answers come later.
 */
export interface Store<A extends boolean = boolean> {
  /** Whether its answers come later, by promise. */
  readonly async: A;
  /** The same object for all stores that reach the same state, where a limiter's name is taken. Default: the store. */
  readonly place?: object;
  /** Whether `open` heeds `kinds`. A store that does not is refused by limiters with keys of several kinds. */
  readonly takesKinds?: boolean;
  /**
   * Opens the part of the store that belongs to the limiter `name`.
   *
   * @param kinds - given where each id stands for keys of several kinds.
   */
  open(name: string, policies: readonly ParsedPolicy[], kinds?: Kinds): Table<A>;
}
