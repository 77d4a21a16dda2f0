/**
 * What is told of a request: by the limiters that judged it, in all their formats, as of one instant.
 *
 * @module
 */

import { oneOf } from '../check.js';
import { instantOf } from '../decision.js';
import type { Limiter } from '../limiter.js';
import type { Decision } from '../types.js';
import {
  contradict,
  distinctNames,
  formatHeaders,
  type Header,
  type HeaderFormat,
  type HeaderItem,
  parseFormats,
  type ResetFormat,
} from './headers.js';
import { partitionBy } from './partition.js';

/** How a guard tells. */
export interface Telling {
  readonly formats: readonly HeaderFormat[];
  readonly resetFormat: ResetFormat;
  /** Present if headers are to say who is counted, and can. */
  readonly partitionOf: ((key: string) => Uint8Array) | undefined;
}

/** What headers tell of a policy. */
interface ToldItem extends HeaderItem {
  /** The instant of the decision, by the clock that it was made by. */
  readonly at: number;
  /** When it was told, by a clock that all limiters of this process share. */
  readonly toldMs: number;
  /** Whether the request was refused by it. */
  readonly refused: boolean;
}

/** What has been told of one request, by whatever guards. */
export interface Told {
  items: readonly ToldItem[];
  /** What legacy headers show: who refuses, else the one with the least left. */
  binding: ToldItem | undefined;
  /** In which formats: all of them must go on to tell the truth. */
  formats: readonly HeaderFormat[];
}

const NONE: readonly never[] = Object.freeze([]);

/** Nothing has been told yet. */
export function nothingTold(): Told {
  return { items: NONE, binding: undefined, formats: NONE };
}

/** Returns how the options say that it be told; throws an ArgumentError if one is wrong. */
export function tellingOf(options: {
  readonly headers?: unknown;
  readonly resetFormat?: unknown;
  readonly partitionSecret?: unknown;
}): Telling {
  const { headers, resetFormat = 'epoch', partitionSecret } = options;
  const formats = parseFormats(headers);
  const partitionOf = partitionBy(partitionSecret);
  return {
    formats,
    resetFormat: oneOf<ResetFormat>(['epoch', 'seconds'], resetFormat, 'resetFormat', 'ERR_SLUICE_OPTION'),
    // The other formats have no room for it.
    partitionOf: formats.includes('draft-8') ? partitionOf : undefined,
  };
}

/** Tells of the decisions of one limiter. */
export class Teller {
  readonly #telling: Telling;
  readonly #names: readonly string[];

  constructor(telling: Telling, limiter: Limiter) {
    this.#telling = telling;
    this.#names = headerNames(limiter);
  }

  /** Returns the policies' names on this response, where others may have told of theirs. */
  namesBeside(told: Told): readonly string[] {
    return distinctNames(this.#names, told.items);
  }

  /** Returns headers that tell of this decision on a key and of those that other limiters made before. */
  tell(decision: Decision, key: string, names: readonly string[], told: Told): Header[] {
    const { formats, resetFormat } = this.#telling;
    // What was decided without the store is no quota that a client could count on.
    if (formats.length === 0 || decision.degraded) return [];
    const binding = this.#note(decision, key, names, told);
    if (binding === undefined) return [];
    const before = told.binding;
    if (
      before === undefined ||
      !decision.allowed ||
      (!before.refused && binding.remaining < before.remaining)
    ) {
      told.binding = binding;
    }
    told.formats = told.formats === NONE ? formats : withAlso(told.formats, formats);
    const shown = told.binding as ToldItem;
    const items = told.items.map((item) => aged(item, binding.toldMs));
    const current = items[told.items.indexOf(shown)];
    return formatHeaders(told.formats, items, current, current.at, resetFormat);
  }

  /** Adds what the policies say to what is told, and returns the one that binds, unless that has no limit. */
  #note(decision: Decision, key: string, names: readonly string[], told: Told): ToldItem | undefined {
    // The instant of the decision: another one, a ms later, would round to another second now and then.
    const at = instantOf(decision) ?? Date.now();
    const toldMs = performance.now();
    const refused = !decision.allowed;
    const partition = this.#telling.partitionOf?.(key);
    let binding: ToldItem | undefined;
    for (const [i, policy] of decision.policies.entries()) {
      const { limit, remaining, windowMs } = policy;
      if (limit === Infinity) continue;
      const denies = !policy.allowed && policy.retryAfterMs !== Infinity;
      const timeMs = denies ? policy.retryAfterMs : policy.resetMs;
      // Field by field: spreading the policy took longer than all the rest of this.
      const name = names[i];
      const item = { name, limit, remaining, windowMs, timeMs, denies, partition, at, toldMs, refused };
      // A list that is pushed to makes room for many more.
      told.items = told.items.length === 0 ? [item] : [...told.items, item];
      if (policy.name === decision.policy) binding = item;
    }
    return binding;
  }
}

/** The same, some time later. */
function aged(item: ToldItem, nowMs: number): ToldItem {
  const ms = Math.floor(nowMs - item.toldMs);
  return ms === 0 ? item : { ...item, at: item.at + ms, timeMs: item.timeMs - ms };
}

/** What contradicts what was told before is not told. */
function withAlso(told: readonly HeaderFormat[], formats: readonly HeaderFormat[]): readonly HeaderFormat[] {
  return [
    ...told,
    ...formats.filter((format) => !told.includes(format) && !told.some((other) => contradict(other, format))),
  ];
}

/** The policies' names in headers: the limiter's, the policy's where there are several, neither if it is the default. */
function headerNames({ name, policies }: Limiter): readonly string[] {
  if (policies.length === 1) return [name === 'default' ? policies[0].name : name];
  return policies.map((policy) => (name === 'default' ? policy.name : `${name}-${policy.name}`));
}
