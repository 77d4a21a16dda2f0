/**
 * One limiter's keys in Redis.
 *
 * @module
 */

import { expected, StoreError } from '../errors.js';
import { partOf } from '../plan.js';
import {
  ANSWER_WIDTH,
  type Answer,
  type Charge,
  type Gate,
  type Kinds,
  type ParsedPolicy,
  type Plan,
  type Table,
  type Term,
} from '../types.js';
import { suffixesOf, tagOf } from './key.js';
import type { ScriptRunner } from './script-runner.js';
import { BLOCKING, CODES, OPERATIONS } from './scripts.generated.js';

/** `reset` needs no numbers. */
const FORGET = pack([OPERATIONS.FORGET]);

export class RedisTable implements Table<true> {
  readonly #runner: ScriptRunner;
  readonly #prefix: string;
  readonly #suffixes: readonly string[];
  readonly #kinds: Kinds | undefined;
  /** The last plan and cost, and what was sent for them: most requests ask the same. */
  #plan: Plan | undefined;
  #cost = 0;
  #packed = FORGET;

  constructor(
    runner: ScriptRunner,
    prefix: string,
    name: string,
    policies: readonly ParsedPolicy[],
    kinds: Kinds | undefined,
  ) {
    this.#kinds = kinds;
    this.#runner = runner;
    this.#prefix = `${prefix}:{`;
    this.#suffixes = suffixesOf(name, policies);
  }

  get gate(): Gate {
    return this.#runner;
  }

  decide(id: string, cost: number, plan: Plan, charge: boolean, now: number | undefined): Promise<Answer> {
    const numbers = charge
      ? this.#toConsume(cost, plan, now)
      : packed(OPERATIONS.PEEK, cost, plan, undefined, now);
    return this.#run(id, plan, numbers, (reply) => readReply(reply, plan));
  }

  /** Judges a request that another table denies: it is charged only where denials count. */
  deny(id: string, cost: number, plan: Plan, charge: boolean, now: number | undefined): Promise<Answer> {
    const operation = charge ? OPERATIONS.CONSUME_DENIED : OPERATIONS.PEEK_DENIED;
    const numbers = packed(operation, cost, plan, undefined, now, charge);
    return this.#run(id, plan, numbers, (reply) => readReply(reply, plan));
  }

  reserve(
    id: string,
    cost: number,
    plan: Plan,
    mostWaitMs: number,
    now: number | undefined,
  ): Promise<Answer> {
    const numbers = packed(OPERATIONS.RESERVE, cost, plan, undefined, now, false, mostWaitMs);
    return this.#run(id, plan, numbers, (reply) => readReply(reply, plan));
  }

  charge(id: string, units: readonly number[], plan: Plan, now: number | undefined): Promise<Answer> {
    const each = units.map((count) => [count]);
    const numbers = packed(OPERATIONS.CHARGE, 0, plan, each, now);
    return this.#run(id, plan, numbers, (reply) => readReply(reply, plan));
  }

  correct(
    id: string,
    units: readonly number[],
    plan: Plan,
    charges: readonly Charge[],
    now: number | undefined,
  ): Promise<ArrayLike<number>> {
    const each = charges.map(({ at, level }, i) => [Math.abs(units[i]), at, level]);
    const operation = units.some((count) => count < 0) ? OPERATIONS.SETTLE : OPERATIONS.REFUND;
    const numbers = packed(operation, 0, plan, each, now);
    return this.#run(id, plan, numbers, (reply) => readLacking(reply, units));
  }

  reset(id: string): Promise<void> {
    const places = this.#suffixes.map((_, i) => i);
    return this.#runner.run(this.#keysOf(id, places), FORGET, () => {});
  }

  block(id: string, durationMs: number, plan: Plan, now: number | undefined): Promise<void> {
    return this.#set(OPERATIONS.BLOCK, id, Math.min(durationMs, Number.MAX_SAFE_INTEGER), plan, now);
  }

  unblock(id: string, plan: Plan, now: number | undefined): Promise<void> {
    return this.#set(OPERATIONS.UNBLOCK, id, 0, plan, now);
  }

  /** Nothing to let go of: the client is the caller's. */
  close(): void {}

  /** Begins or ends blocks of the keys that the id has. */
  async #set(
    operation: number,
    id: string,
    durationMs: number,
    plan: Plan,
    now: number | undefined,
  ): Promise<void> {
    const own = this.#partOf(id, plan);
    const numbers = packed(operation, durationMs, own, undefined, now);
    await this.#run(id, own, numbers, () => {});
  }

  /** The terms of the kinds that have a key in the id. */
  #partOf(id: string, plan: Plan): Plan {
    if (this.#kinds === undefined) return plan;
    const { places } = this.#kinds;
    const keys = this.#kinds.split(id);
    const which = plan.places.flatMap((place, i) => (keys[places[place]] === null ? [] : [i]));
    return partOf(plan, which);
  }

  #run<T>(id: string, plan: Plan, numbers: Buffer, read: (reply: unknown) => T): Promise<T> {
    return this.#runner.run(this.#keysOf(id, plan.places), numbers, read);
  }

  /** The keys of the policies at these places; none of a kind that has no key in the id. */
  #keysOf(id: string, places: readonly number[]): string[] {
    if (this.#kinds === undefined) {
      const tag = this.#prefix + tagOf(id);
      return places.map((place) => tag + this.#suffixes[place]);
    }
    const kinds = this.#kinds;
    const tags = kinds.split(id).map((key) => key !== null && this.#prefix + tagOf(key));
    return places.flatMap((place) => {
      const tag = tags[kinds.places[place]];
      return tag === false ? [] : [tag + this.#suffixes[place]];
    });
  }

  #toConsume(cost: number, plan: Plan, now: number | undefined): Buffer {
    if (now !== undefined) return packed(OPERATIONS.CONSUME, cost, plan, undefined, now, true);
    if (plan !== this.#plan || cost !== this.#cost) {
      this.#packed = packed(OPERATIONS.CONSUME, cost, plan, undefined, now, true);
      this.#plan = plan;
      this.#cost = cost;
    }
    return this.#packed;
  }
}

/**
 * The numbers as envelope.lua takes them: for each term those of `each`, if there are any, and its own; then the `last`.
 *
 * @param strikes - whether denials count as strikes: then what those take follows.
 */
function packed(
  operation: number,
  cost: number,
  plan: Plan,
  each: readonly (readonly number[])[] | undefined,
  now: number | undefined,
  strikes = false,
  ...last: readonly number[]
): Buffer {
  const numbers = [operation, cost, now === undefined ? 0 : whole(now) + 1];
  plan.terms.forEach((term, i) => {
    const own = each === undefined ? [] : each[i];
    const block = (strikes ? term.block : undefined) ?? [];
    const code = CODES[term.algorithm] + (block.length > 0 ? BLOCKING : 0);
    const all = [code, ...own, ...term.numbers, ...block];
    numbers.push(all.length, ...all);
  });
  numbers.push(...last);
  return pack(numbers);
}

/** Returns `value` if Lua may be told it: packed, a number that is none would look like another. */
function whole(value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw expected('ERR_SLUICE_ARGUMENT', 'numbers', 'whole numbers from 0 to 2^53 - 1', value);
}

/** What could not be kept of the units that were to be added; before it stands when that was. */
function readLacking(reply: unknown, units: readonly number[]): number[] {
  const numbers = numbersOf(textOf(reply), reply);
  if (numbers.length !== 1 + units.length) throw replyError(reply);
  return units.map((count, i) => {
    const lacking = numbers[1 + i];
    if (lacking < 0 || lacking > Math.max(0, -count)) throw replyError(reply);
    return lacking;
  });
}

function readReply(reply: unknown, plan: Plan): Answer {
  const text = textOf(reply);
  // Most limiters have one policy.
  if (plan.terms.length === 1) return readTerm(text, plan.terms[0], reply);
  const each = text.split(',');
  if (each.length !== plan.terms.length) throw replyError(reply);
  return each.flatMap((part, i) => readTerm(part, plan.terms[i], reply));
}

/** What a part of the reply says of one term. */
function readTerm(part: string, term: Term, reply: unknown): number[] {
  let numbers = numbersOf(part, reply);
  if (numbers.length === 3 || (numbers.length === 4 && term.algorithm === 'leaky-bucket')) {
    // It fits, so that was left out, and the delay if there is none.
    const [remaining, reset, at, delay = 0] = numbers;
    numbers = [remaining, 0, reset, at, delay];
  }
  const [remaining, retry, reset, at, delay] = numbers;
  // A wait may be -1: never. So may be what is left of a key that is blocked, or -2, and when it is as new.
  const least = remaining < 0 ? -1 : 0;
  const isRight =
    numbers.length === ANSWER_WIDTH &&
    remaining >= 2 * least &&
    remaining <= term.numbers[0] &&
    (retry > 0 || retry === -1 || (retry === 0 && least === 0)) &&
    reset >= least &&
    at >= 0 &&
    delay >= 0;
  if (!isRight) throw replyError(reply);
  return numbers;
}

/** The text of a reply. Its end shows that nothing of it is missing. */
function textOf(reply: unknown): string {
  if (typeof reply !== 'string' || !reply.endsWith('.')) throw replyError(reply);
  return reply.slice(0, -1);
}

/** The whole numbers of a part of the reply, which have a space between. */
function numbersOf(part: string, reply: unknown): number[] {
  return part.split(' ').map((text) => {
    const number = Number(text);
    if (!Number.isSafeInteger(number) || !/^-?\d{1,16}$/.test(text)) throw replyError(reply);
    // Not -0.
    return number + 0;
  });
}

function replyError(reply: unknown): StoreError {
  return new StoreError(
    'ERR_SLUICE_STORE_REPLY',
    'Redis gave a reply that is not a decision, and may have charged the request.',
    'unknown',
    reply,
  );
}

/** Whole numbers as MessagePack, each in the shortest form that a script reads fast: 1, 5 or 9 bytes. */
function pack(numbers: readonly number[]): Buffer {
  const packed = Buffer.allocUnsafe(9 * numbers.length);
  let end = 0;
  for (const each of numbers) {
    const number = whole(each);
    if (number < 2 ** 7) {
      end = packed.writeUInt8(number, end);
    } else if (number < 2 ** 32) {
      end = packed.writeUInt8(0xce, end);
      end = packed.writeUInt32BE(number, end);
    } else {
      end = packed.writeUInt8(0xcb, end);
      end = packed.writeDoubleBE(number, end);
    }
  }
  return packed.subarray(0, end);
}
