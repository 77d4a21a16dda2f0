/**
 * What is told of a request: by the limiters that judged it, in all their formats, as of one instant.
 *
 * @module
 */

import { oneOf } from '../check.js';
import { instantOf } from '../decision.js';
import type { Limiter } from '../limiter.js';
import type { Decision, PolicyDecision } from '../types.js';
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

/** What one limiter told of a request, and, behind it, what others told before. */
export interface Told {
  readonly items: readonly HeaderItem[];
  /** Of these, what legacy headers show of this limiter. */
  readonly binding: HeaderItem;
  readonly formats: readonly HeaderFormat[];
  /** Whether the request was refused by it. */
  readonly refused: boolean;
  /** The instant of the decision, by the clock that it was made by. */
  readonly at: number;
  /** When it was told, by a clock that all limiters of this process share. */
  readonly toldMs: number;
  readonly before: Told | undefined;
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
  readonly #keyOf: (key: string, place: number) => string;

  /** @param keyOf - whom the policy at a place counts of a key, where a key stands for several. */
  constructor(telling: Telling, limiter: Limiter, keyOf = (key: string, _place: number): string => key) {
    this.#telling = telling;
    this.#keyOf = keyOf;
    this.#names = headerNames(limiter);
  }

  /** Returns the policies' names on this response, where others may have told of theirs. */
  namesBeside(before: Told | undefined): readonly string[] {
    return before === undefined
      ? this.#names
      : distinctNames(
          this.#names,
          listOf(before).flatMap(({ items }) => items),
        );
  }

  /** Returns what there is to tell of a decision on a key, if anything. */
  tell(decision: Decision, key: string, before: Told | undefined): Told | undefined {
    const { formats, partitionOf } = this.#telling;
    // What was decided without the store is no quota that a client could count on.
    if (formats.length === 0 || decision.degraded) return undefined;
    const partitionAt = partitionOf && ((place: number) => partitionOf(this.#keyOf(key, place)));
    const items = itemsOf(decision, this.namesBeside(before), partitionAt);
    const binding = items.length === 1 ? items[0] : bindingOf(decision, items);
    // Where a policy without a limit speaks, none has one.
    if (binding === undefined) return undefined;
    // The instant of the decision: another one, a ms later, would round to another second now and then.
    const at = instantOf(decision) ?? Date.now();
    return { items, binding, formats, refused: !decision.allowed, at, toldMs: performance.now(), before };
  }

  /** Returns headers that tell all of it. */
  headersOf(told: Told | undefined): Header[] {
    if (told === undefined) return [];
    const { resetFormat } = this.#telling;
    const { items, binding, formats, at, before } = told;
    if (before === undefined) return formatHeaders(formats, items, binding, at, resetFormat);
    return headersOfAll(listOf(told), told.toldMs, resetFormat);
  }
}

/** What headers say of the policies that have a limit. */
function itemsOf(
  { policies }: Decision,
  names: readonly string[],
  partitionAt: ((place: number) => Uint8Array) | undefined,
): readonly HeaderItem[] {
  // Most limiters have one policy: a list that is pushed to makes room for many.
  if (policies.length === 1 && policies[0].limit !== Infinity)
    return [itemOf(policies[0], names[0], partitionAt?.(0))];
  return policies.flatMap((policy, i) =>
    policy.limit === Infinity ? [] : [itemOf(policy, names[i], partitionAt?.(i))],
  );
}

function itemOf(policy: PolicyDecision, name: string, partition: Uint8Array | undefined): HeaderItem {
  const { limit, remaining, windowMs } = policy;
  const denies = !policy.allowed && policy.retryAfterMs !== Infinity;
  // Field by field: spreading the policy took longer than all the rest of this.
  const timeMs = denies ? policy.retryAfterMs : policy.resetMs;
  return { name, limit, remaining, windowMs, timeMs, denies, partition };
}

/** The item of the policy that speaks for the decision, among those of the policies that have a limit. */
function bindingOf(decision: Decision, items: readonly HeaderItem[]): HeaderItem | undefined {
  const limited = decision.policies.filter(({ limit }) => limit !== Infinity);
  return items[limited.findIndex(({ name }) => name === decision.policy)];
}

/** All that was told, the first first. */
function listOf(last: Told): readonly Told[] {
  const list: Told[] = [];
  for (let each: Told | undefined = last; each !== undefined; each = each.before) list.unshift(each);
  return list;
}

/**
 * Headers that tell of several limiters as of one instant, in all their formats, as each must go on to tell the truth.
 * Legacy ones show who refuses, else the one with the least left.
 */
function headersOfAll(list: readonly Told[], nowMs: number, resetFormat: ResetFormat): Header[] {
  const speaker = list.reduce((one, next) =>
    next.refused || (!one.refused && next.binding.remaining < one.binding.remaining) ? next : one,
  );
  const formats = list.map((each) => each.formats).reduce(withAlso);
  const aged = list.flatMap((each) => each.items.map((item) => agedBy(item, sinceMs(each, nowMs))));
  const binding = aged[list.flatMap(({ items }) => items).indexOf(speaker.binding)];
  return formatHeaders(formats, aged, binding, speaker.at + sinceMs(speaker, nowMs), resetFormat);
}

const sinceMs = ({ toldMs }: Told, nowMs: number) => Math.floor(nowMs - toldMs);

function agedBy(item: HeaderItem, ms: number): HeaderItem {
  return ms === 0 ? item : { ...item, timeMs: item.timeMs - ms };
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
