/**
 * Keys of different kinds in one decision: which there are, whose policies are whose, and the one id that stands for all.
 *
 * @module
 */

import { isRecord, parseName, refuseUnknown } from './check.js';
import { ArgumentError, expected, show } from './errors.js';
import type { Keys, RequestOptions } from './limiter.js';
import { partOf } from './plan.js';
import { parsePolicies } from './policy.js';
import type { Kinds, ParsedPolicy, Plan } from './types.js';

const CODE = 'ERR_SLUICE_POLICY';

/** What `limits` say. */
export interface ParsedLimits {
  readonly policies: readonly ParsedPolicy[];
  readonly kinds: KeyKinds;
}

/**
 * Returns the policies of all kinds, each named by its kind, and the kinds.
 *
 * @throws ArgumentError for the first thing that is wrong: what was expected and what came.
 */
export function parseLimits(input: unknown, at = 'limits'): ParsedLimits {
  if (!Array.isArray(input) || input.length === 0) {
    throw expected(CODE, at, 'an array of at least one { name, policies }', input);
  }
  const names: string[] = [];
  const policies = input.map((limit, i) => {
    const path = `${at}[${i}]`;
    if (!isRecord(limit)) throw expected(CODE, path, 'an object such as { name, policies }', limit);
    refuseUnknown(limit, ['name', 'policies'], path, CODE, `${path}.`);
    const name = parseName(limit.name, `${path}.name`, CODE);
    if (names.includes(name)) {
      throw new ArgumentError(CODE, `Expected the names in \`${at}\` to differ, got ${show(name)} twice.`);
    }
    names.push(name);
    return parsePolicies(limit.policies, `${path}.`).map((policy, _, { length }) =>
      length === 1 && policy.name === 'default'
        ? named(policy, name)
        : named(policy, `${name}-${policy.name}`),
    );
  });
  const all = Object.freeze(policies.flat());
  all.forEach(({ name }, i) => {
    parseName(name, `${at}: the name of a limit and its policy together`, CODE);
    if (all.findIndex((other) => other.name === name) < i) {
      const message = `Expected the names in \`${at}\` and those of their policies to differ when put together, got ${show(name)} twice.`;
      throw new ArgumentError(CODE, message);
    }
  });
  const places = policies.flatMap((own, i) => own.map(() => i));
  return { policies: all, kinds: new KeyKinds(names, places, all) };
}

function named(policy: ParsedPolicy, name: string): ParsedPolicy {
  return Object.freeze({ ...policy, name });
}

/** One kind's part of a plan. */
export interface Part {
  /** The place of the kind. */
  readonly kind: number;
  /** The place of its first term among those of the whole plan. */
  readonly from: number;
  readonly plan: Plan;
}

/** An id is the JSON of the list of its keys: no two lists have the same. */
export class KeyKinds implements Kinds {
  readonly names: readonly string[];
  readonly places: readonly number[];
  readonly #policies: readonly ParsedPolicy[];
  /** By which kinds do not apply, the limits that say so. */
  readonly #without = new Map<string, Readonly<Record<string, number>>>();
  readonly #parts = new WeakMap<Plan, readonly Part[]>();

  constructor(names: readonly string[], places: readonly number[], policies: readonly ParsedPolicy[]) {
    this.names = Object.freeze(names);
    this.places = Object.freeze(places);
    this.#policies = policies;
  }

  /** @throws ArgumentError unless they are keys by kind, at least one. */
  idOf(keys: unknown): string {
    const known = this.names.join(', ');
    if (!isRecord(keys)) {
      throw expected('ERR_SLUICE_ARGUMENT', 'keys', `an object of keys by their kind (${known})`, keys);
    }
    for (const name of Object.keys(keys)) {
      if (this.names.includes(name)) continue;
      const message = `Expected \`keys\` to be keys by their kind (${known}), got one of the kind ${show(name)}.`;
      throw new ArgumentError('ERR_SLUICE_ARGUMENT', message);
    }
    const ids = this.names.map((name) => {
      const key = Object.hasOwn(keys, name) ? keys[name] : undefined;
      if (key === undefined) return null;
      if (typeof key === 'string') return key;
      throw expected('ERR_SLUICE_ARGUMENT', `keys.${name}`, 'a string', key);
    });
    if (ids.every((id) => id === null)) {
      const message = `Expected \`keys\` to have a key of at least one kind (${known}), got none.`;
      throw new ArgumentError('ERR_SLUICE_ARGUMENT', message);
    }
    return this.join(ids);
  }

  split(id: string): readonly (string | null)[] {
    return JSON.parse(id);
  }

  join(keys: readonly (string | null)[]): string {
    return JSON.stringify(keys);
  }

  /** The ids of the keys of each kind alone. */
  eachOf(id: string): readonly string[] {
    return this.split(id).flatMap((key, kind) => (key === null ? [] : [this.idOfOne(kind, key)]));
  }

  /** The id of the key of one kind alone. */
  idOfOne(kind: number, key: string): string {
    return this.join(this.names.map((_, i) => (i === kind ? key : null)));
  }

  keysOf(id: string): Keys {
    return Object.fromEntries(
      this.split(id).flatMap((key, i) => (key === null ? [] : [[this.names[i], key]])),
    );
  }

  /** The request with the policies switched off whose kind has no key in the id. */
  requestOf(id: string, options: RequestOptions | undefined): RequestOptions | undefined {
    const ids = this.split(id);
    if (!ids.includes(null)) return options;
    if (options !== undefined && !isRecord(options)) return options;
    const off = this.#offIn(ids);
    const { limit } = (options ?? {}) as RequestOptions;
    if (limit === undefined) return { ...options, limit: off };
    // What is no limit at all is refused by the limiter.
    return isRecord(limit) ? { ...options, limit: { ...limit, ...off } } : options;
  }

  /** What each kind has of a plan; none of those that have nothing of it. */
  partsOf(plan: Plan): readonly Part[] {
    const known = this.#parts.get(plan);
    if (known !== undefined) return known;
    const parts = this.names.flatMap((_, kind): Part[] => {
      const own = plan.places.flatMap((place, i) => (this.places[place] === kind ? [i] : []));
      return own.length === 0 ? [] : [{ kind, from: own[0], plan: partOf(plan, own) }];
    });
    this.#parts.set(plan, parts);
    return parts;
  }

  #offIn(ids: readonly (string | null)[]): Readonly<Record<string, number>> {
    const which = ids.map((id) => (id === null ? '0' : '1')).join('');
    const known = this.#without.get(which);
    if (known !== undefined) return known;
    const absent = this.#policies.filter((_, i) => ids[this.places[i]] === null);
    const off = Object.freeze(Object.fromEntries(absent.map(({ name }) => [name, Infinity])));
    this.#without.set(which, off);
    return off;
  }
}
