/**
 * One trace on two stores, every field of every decision compared.
 *
 * @module
 */

import {
  AcquireError,
  type AcquireOptions,
  ArgumentError,
  createLimiter,
  type Decision,
  type Limiter,
  type LimiterOptions,
  manualClock,
  type Plan,
  type Store,
  type Table,
  type UpdateOptions,
} from '@sluice/core';
import { reserveUnhurried, type ToldToWait } from '../unhurried.js';
import type { Step, Trace } from './trace.js';

/** The first thing in which the two stores differ. */
export interface Difference {
  readonly step: Step;
  readonly field: string;
  readonly memory: unknown;
  readonly redis: unknown;
}

/** What happened, for the count of what was compared. */
export interface Tally {
  steps: number;
  allowed: number;
  denied: number;
  refunds: number;
  settlements: number;
  charges: number;
  /** How many requests wait for a place that they have got. */
  waits: number;
  /** How often other numbers took over. */
  changes: number;
  /** The requests that a block denied. */
  blocked: number;
}

export function newTally(): Tally {
  return {
    steps: 0,
    allowed: 0,
    denied: 0,
    refunds: 0,
    settlements: 0,
    charges: 0,
    waits: 0,
    changes: 0,
    blocked: 0,
  };
}

/** Runs the trace on both stores, under a limiter name that neither has used. */
export async function compare(
  trace: Trace,
  memory: Store<false>,
  redis: Store<true>,
  name: string,
  tally: Tally = newTally(),
): Promise<Difference | undefined> {
  const clock = manualClock();
  const { policies, limits } = trace;
  const judges = limits === undefined ? { policies } : { limits };
  const options = { name, ...judges, clock, onStoreError: 'throw' } as never as LimiterOptions<boolean>;
  const [ours, theirs] = [new Side(memory, options), new Side(redis, options)];
  const decisions = new Map<number, { ours: Decision; theirs: Decision }>();
  for (const step of trace.steps) {
    clock.set(step.at);
    const of = decisions.get(step.of ?? -1);
    const left = await outcome(() => act(ours, step, of?.ours));
    const right = await outcome(() => act(theirs, step, of?.theirs));
    const told = firstDifference(ours.tap.reserved, theirs.tap.reserved);
    if (told !== undefined) {
      const [memory, redis] = [ours.tap.reserved, theirs.tap.reserved];
      return { step, field: 'what was reserved', memory, redis };
    }
    const field = firstDifference(left, right);
    if (field !== undefined) {
      return { step, field, memory: valueAt(left, field), redis: valueAt(right, field) };
    }
    if (isDecision(left) && isDecision(right)) decisions.set(step.id, { ours: left, theirs: right });
    tally.steps += 1;
    if (step.do === 'refund') tally.refunds += 1;
    else if (step.do === 'settle') tally.settlements += 1;
    else if (step.do === 'charge') tally.charges += 1;
    else if (step.do === 'update' || step.do === 'reopen') tally.changes += 1;
    else if (step.do === 'acquire' && (ours.tap.reserved?.wait ?? 0) > 0) tally.waits += 1;
    else if (isDecision(left)) {
      tally[left.allowed ? 'allowed' : 'denied'] += 1;
      if (left.block !== undefined) tally.blocked += 1;
    }
  }
  ours.limiter.close();
  theirs.limiter.close();
  return undefined;
}

/** A limiter on one of the stores. */
class Side {
  limiter: Limiter;
  readonly tap: Tap<boolean>;
  readonly #options: LimiterOptions<boolean>;

  constructor(store: Store, options: LimiterOptions<boolean>) {
    this.tap = new Tap(store);
    this.#options = options;
    this.limiter = this.#open(options.policies);
  }

  /** Closes the limiter, and makes another of the same name. */
  reopen(policies: LimiterOptions['policies']): void {
    this.limiter.close();
    this.limiter = this.#open(policies);
  }

  #open(policies: LimiterOptions['policies']): Limiter {
    return createLimiter({ ...this.#options, policies, store: this.tap });
  }
}

/** How many numbers of an answer belong to one policy. */
const WIDTH = 5;

/**
 * A store that lets its last limiter's table be reached: limiters charge it by themselves only after an outage. Whoever is
 * told to wait by it is not.
 */
class Tap<A extends boolean> implements Store<A> {
  readonly async: A;
  readonly takesKinds = true;
  table: Table<A> | undefined;
  /** What the last request was judged by. */
  plan: Plan | undefined;
  /** And who asked. */
  id = '';
  /** What was said to the last reservation. */
  reserved: ToldToWait | undefined;
  readonly #store: Store<A>;

  constructor(store: Store<A>) {
    this.async = store.async;
    this.#store = store;
  }

  open(...args: Parameters<Store<A>['open']>): Table<A> {
    const table = this.#store.open(...args);
    this.table = table;
    return {
      decide: (...args) => {
        this.plan = args[2];
        this.id = args[0];
        return table.decide(...args);
      },
      reserve: (...args) =>
        reserveUnhurried(table, args, (told) => {
          this.reserved = told;
        }),
      charge: (...args) => table.charge(...args),
      correct: (...args) => table.correct(...args),
      reset: (...args) => table.reset(...args),
      block: table.block?.bind(table),
      unblock: table.unblock?.bind(table),
      update: (policies) => table.update?.(policies),
      close: () => table.close(),
    };
  }
}

/** Charges each policy with units of its own, and returns what the store says of that. */
async function charge({ limiter, tap }: Side, step: Step): Promise<unknown> {
  const { units = 0, limit } = step;
  tap.plan = undefined;
  await limiter.peek(keyOf(step), limit === undefined ? {} : { limit: limitOf(limiter, limit) });
  const plan = tap.plan as Plan | undefined;
  if (plan === undefined) return 'no limit';
  const each = plan.terms.map((_, i) => units * (1 + (i % 3)));
  const answer = await tap.table?.charge(tap.id, each, plan, step.at);
  // A row in memory is longer.
  return Array.from(answer ?? []).slice(0, WIDTH * each.length);
}

function act(side: Side, step: Step, of: Decision | undefined): unknown {
  const { limiter } = side;
  const { cost = 1, limit, policies = [] } = step;
  side.tap.reserved = undefined;
  if (step.do === 'charge') return charge(side, step);
  if (step.do === 'block') return limiter.block(keyOf(step), step.forMs ?? Infinity);
  if (step.do === 'unblock') return limiter.unblock(keyOf(step));
  if (step.do === 'update') return limiter.update(updateOf(step));
  if (step.do === 'reopen') return side.reopen(policies);
  if (step.do === 'reset') return limiter.reset(keyOf(step));
  if (step.do === 'refund') return of === undefined ? undefined : limiter.refund(of, step.units);
  if (step.do === 'settle') return of === undefined ? undefined : limiter.settle(of, step.units ?? 0);
  const request = limit === undefined ? { cost } : { cost, limit: limitOf(limiter, limit) };
  if (step.do === 'acquire') return acquire(limiter, keyOf(step), { ...request, maxWait: step.maxWait });
  return limiter[step.do](keyOf(step), request);
}

/** What is decided of a request that would wait, also where it finds no place. */
async function acquire(limiter: Limiter, key: string, options: AcquireOptions): Promise<Decision> {
  try {
    return await limiter.acquire(key, options);
  } catch (error) {
    if (error instanceof AcquireError) return error.decision;
    throw error;
  }
}

/** A limiter that was made of limits takes others. */
const updateOf = ({ limits, policies = [] }: Step) =>
  (limits === undefined ? { policies } : { limits }) as UpdateOptions;

/** A limiter that was made of limits takes what keys there are. */
const keyOf = ({ key, keys }: Step) => (keys ?? key) as string;

/** By name where there are several policies, a number where there is one: both ways are taken. */
function limitOf(limiter: Limiter, limit: Readonly<Record<string, number>>): number | Record<string, number> {
  return limiter.policies.length === 1 ? Object.values(limit)[0] : limit;
}

/** A refused argument is an answer too: a limit that gcra cannot hold. Anything else is a failure. */
async function outcome(action: () => unknown): Promise<unknown> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof ArgumentError) return error.message;
    throw error;
  }
}

function isDecision(value: unknown): value is Decision {
  return isObject(value) && !Array.isArray(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** The path of the first field that differs, by `Object.is`; '' if the values themselves do. */
export function firstDifference(left: unknown, right: unknown): string | undefined {
  if (!isObject(left) || !isObject(right)) return Object.is(left, right) ? undefined : '';
  const fields = Object.keys(left);
  if (fields.length !== Object.keys(right).length) return '';
  for (const field of fields) {
    const inner = firstDifference(left[field], right[field]);
    if (inner !== undefined) return inner === '' ? field : `${field}.${inner}`;
  }
  return undefined;
}

function valueAt(value: unknown, path: string): unknown {
  if (path === '') return value;
  return path.split('.').reduce((inner, field) => (inner as Record<string, unknown>)?.[field], value);
}
