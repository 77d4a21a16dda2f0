/**
 * Policies: parsed once, here and nowhere else, into frozen values whose every number is checked.
 *
 * @module
 */

import { blockNumbersOf } from './algorithms/block.js';
import { ceilMulDiv, MOST } from './algorithms/exact.js';
import { isExact } from './algorithms/gcra.js';
import { algorithmNames, numbersOf } from './algorithms/index.js';
import { isRecord, oneOf, parseName, refuseUnknown } from './check.js';
import { LONGEST, parseDuration } from './duration.js';
import { ArgumentError, type ErrorCode, expected, show } from './errors.js';
import type { AlgorithmName, ParsedBlock, ParsedPolicy, Plan, Term } from './types.js';

const CODE = 'ERR_SLUICE_POLICY';

const EDGES = ['weighted', 'drop', 'keep'] as const;
const ROUNDINGS = ['none', 'down'] as const;

/** A ring of more buckets costs 8 bytes per bucket and key, and shows nothing that fewer do not. */
const MOST_BUCKETS = 1000;

/** The options that mean something to each algorithm, besides those that every policy has. */
export const ALGORITHM_OPTIONS: Readonly<Record<AlgorithmName, readonly string[]>> = {
  'fixed-window': ['countDenied'],
  'sliding-window-log': [],
  'sliding-window-counter': ['buckets', 'edge', 'rounding', 'countDenied'],
  'token-bucket': ['burst'],
  gcra: ['burst'],
  'leaky-bucket': ['capacity', 'maxDelay'],
};

/** Every option of a policy but its name; adapters take them for a lone policy. */
export const POLICY_OPTIONS: readonly string[] = [
  'algorithm',
  'limit',
  'window',
  'block',
  ...new Set(Object.values(ALGORITHM_OPTIONS).flat()),
];

/**
 * Returns the policies, complete and frozen.
 *
 * @param at - the path of where they stand, for messages.
 * @throws ArgumentError for the first thing that is wrong: what was expected and what came.
 */
export function parsePolicies(input: unknown, at = ''): readonly ParsedPolicy[] {
  if (!Array.isArray(input) || input.length === 0) {
    throw expected(CODE, `${at}policies`, 'an array of at least one policy', input);
  }
  const path = (i: number) => (at === '' && input.length === 1 ? '' : `${at}policies[${i}].`);
  const policies = input.map((policy, i) => parsePolicy(policy, i, path(i)));
  policies.forEach(({ name }, i) => {
    if (policies.findIndex((other) => other.name === name) < i) {
      throw new ArgumentError(CODE, `Expected the names of the policies to differ, got ${show(name)} twice.`);
    }
  });
  return Object.freeze(policies);
}

function parsePolicy(input: unknown, place: number, path: string): ParsedPolicy {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw expected(CODE, path === '' ? 'policies[0]' : path.slice(0, -1), 'an object', input);
  }
  const given = input as Record<string, unknown>;
  const { algorithm: name = 'sliding-window-counter' } = given;
  const algorithm = oneOf(algorithmNames, name, `${path}algorithm`, CODE);
  refuseUnknown(
    given,
    ['algorithm', 'name', 'limit', 'window', 'block', ...ALGORITHM_OPTIONS[algorithm]],
    algorithm,
    CODE,
    path,
  );

  const { buckets: count = 1, edge = 'weighted', rounding = 'none', countDenied = false } = given;
  const windowMs = parseDuration(given.window, `${path}window`, CODE);
  const buckets = whole(count, 1, MOST_BUCKETS, `${path}buckets`);
  if (windowMs % buckets !== 0) {
    throw expected(CODE, `${path}window`, `a multiple of the ${buckets} buckets, in ms`, windowMs);
  }
  const burst = given.burst === undefined ? given.capacity : given.burst;
  const policy: ParsedPolicy = Object.freeze({
    name: given.name === undefined ? nameByPlace(place) : parseName(given.name, `${path}name`, CODE),
    algorithm,
    limit: parseLimit(given.limit, `${path}limit`, CODE),
    windowMs,
    capacity:
      burst === undefined
        ? undefined
        : whole(burst, 1, MOST, `${path}${given.burst === undefined ? 'capacity' : 'burst'}`),
    maxDelayMs:
      given.maxDelay === undefined ? undefined : parseDuration(given.maxDelay, `${path}maxDelay`, CODE),
    buckets,
    edge: oneOf(EDGES, edge, `${path}edge`, CODE),
    rounding: oneOf(ROUNDINGS, rounding, `${path}rounding`, CODE),
    countDenied: oneOf([true, false], countDenied, `${path}countDenied`, CODE),
    block: given.block === undefined ? undefined : parseBlock(given.block, `${path}block`),
  });
  if (policy.limit !== Infinity) termOf(policy, policy.limit, `${path}limit`, CODE);
  return policy;
}

function parseBlock(input: unknown, name: string): ParsedBlock {
  if (!isRecord(input)) throw expected(CODE, name, "an object such as { after: 3, for: '10m' }", input);
  refuseUnknown(input, ['after', 'for', 'grow', 'max'], name, CODE, `${name}.`);
  const { grow = 1 } = input;
  if (typeof grow !== 'number' || !(grow >= 1 && grow <= 1000) || Math.round(grow * 1000) / 1000 !== grow) {
    throw expected(CODE, `${name}.grow`, 'a number from 1 to 1000 with at most three decimals', grow);
  }
  const after = whole(input.after, 1, MOST, `${name}.after`);
  const forMs = parseDuration(input.for, `${name}.for`, CODE);
  const longest = grow === 1 ? forMs : LONGEST;
  const maxMs = input.max === undefined ? longest : parseDuration(input.max, `${name}.max`, CODE);
  if (maxMs < forMs) {
    throw expected(CODE, `${name}.max`, `at least ${forMs} ms, as ${name}.for is`, input.max);
  }
  return Object.freeze({ after, forMs, grow, maxMs });
}

/**
 * Returns what a store needs to judge a request by `limits`, one per policy; policies without a limit are left out.
 *
 * @throws ArgumentError if an algorithm cannot hold a limit exactly.
 */
export function planOf(policies: readonly ParsedPolicy[], limits: readonly number[]): Plan {
  const places = policies.map((_, i) => i).filter((i) => limits[i] !== Infinity);
  const terms = places.map((i) => termOf(policies[i], limits[i], 'limit', 'ERR_SLUICE_ARGUMENT'));
  return { places, terms };
}

/** Returns the plan of a request that brings no limits along. */
export function ownPlan(policies: readonly ParsedPolicy[]): Plan {
  return planOf(
    policies,
    policies.map((policy) => policy.limit),
  );
}

/** Returns the plan of all policies, also those that are off: those are read as if under a limit. */
export function wholePlan(policies: readonly ParsedPolicy[]): Plan {
  return planOf(
    policies,
    policies.map(({ limit }) => (limit === Infinity ? 1 : limit)),
  );
}

/**
 * Returns the plan to correct by what was charged by `plan`, of a limiter whose policies are `policies` by now: what is
 * stored is written under their numbers.
 *
 * @param charges - whether it is to charge by: up to the greater of the limits, that before and that now.
 */
export function renewedPlan(
  { places, terms }: Plan,
  policies: readonly ParsedPolicy[],
  charges = false,
): Plan {
  const limits: number[] = policies.map(() => Infinity);
  places.forEach((place, i) => {
    const { limit } = policies[place];
    // One that is off by now is read as it was.
    const [capacity] = terms[i].numbers;
    if (limit === Infinity) limits[place] = capacity;
    else limits[place] = charges ? Math.max(limit, capacity) : limit;
  });
  return planOf(policies, limits);
}

/**
 * Checks that `policies` can take over from `current`.
 *
 * @throws ArgumentError if that would lose what was used: names and algorithms stay.
 */
export function checkUpdate(current: readonly ParsedPolicy[], policies: readonly ParsedPolicy[]): void {
  const kindOf = ({ name, algorithm }: ParsedPolicy) => `${name} (${algorithm})`;
  const [was, is] = [current, policies].map((list) => list.map(kindOf).join(', '));
  if (was !== is) {
    throw new ArgumentError(
      CODE,
      `Expected an update to keep the policies, their order and their algorithms, which are ${was}, got ${is}: what was used would be lost. Make a limiter of another name in place of it.`,
    );
  }
}

function termOf(policy: ParsedPolicy, limit: number, name: string, code: ErrorCode): Term {
  const numbers = numbersOf(policy, limit);
  if (policy.algorithm === 'gcra' && !isExact(numbers)) {
    throw new ArgumentError(
      code,
      `Expected \`${name}\` per window to be a rate that gcra can hold exactly, got ${limit} per ${policy.windowMs} ms; token-bucket can.`,
    );
  }
  const sized = policy.capacity !== undefined || policy.maxDelayMs !== undefined;
  // All of a bucket refills in burst * period / rate.
  const windowMs = sized && limit > 0 ? ceilMulDiv(numbers[0], numbers[2], numbers[1]) : policy.windowMs;
  return {
    name: policy.name,
    algorithm: policy.algorithm,
    numbers,
    windowMs,
    block: blockNumbersOf(policy),
  };
}

/** Returns `value` if it is a limit: an integer from 0 to 2^53 - 1, or `Infinity`. */
export function parseLimit(value: unknown, name: string, code: ErrorCode): number {
  if (value === Infinity) return value;
  if (!Number.isInteger(value) || (value as number) < 0) {
    throw expected(code, name, 'an integer >= 0 or Infinity', value);
  }
  if ((value as number) > MOST) throw expected(code, name, 'at most 2^53 - 1 or Infinity', value);
  return (value as number) + 0;
}

function whole(value: unknown, least: number, most: number, name: string): number {
  if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) {
    throw expected(CODE, name, `an integer from ${least} to ${most === MOST ? '2^53 - 1' : most}`, value);
  }
  return value as number;
}

function nameByPlace(place: number): string {
  return place === 0 ? 'default' : String(place + 1);
}
