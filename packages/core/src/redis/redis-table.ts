/**
 * One limiter's keys in Redis.
 *
 * @module
 */

import { expected, StoreError } from '../errors.js';
import {
  ANSWER_WIDTH,
  type Answer,
  type Charge,
  type Gate,
  type ParsedPolicy,
  type Plan,
  type Table,
} from '../types.js';
import { suffixesOf, tagOf } from './key.js';
import type { ScriptRunner } from './script-runner.js';

export class RedisTable implements Table<true> {
  readonly #runner: ScriptRunner;
  readonly #prefix: string;
  readonly #suffixes: readonly string[];

  constructor(runner: ScriptRunner, prefix: string, name: string, policies: readonly ParsedPolicy[]) {
    this.#runner = runner;
    this.#prefix = `${prefix}:{`;
    this.#suffixes = suffixesOf(name, policies);
  }

  get gate(): Gate {
    return this.#runner;
  }

  decide(id: string, cost: number, plan: Plan, charge: boolean, now: number | undefined): Promise<Answer> {
    const operation = charge ? 'consume' : 'peek';
    return this.#run(id, plan, operation, this.#numbers(cost, plan, [], now), (reply) =>
      readReply(reply, plan),
    );
  }

  charge(id: string, units: readonly number[], plan: Plan, now: number | undefined): Promise<Answer> {
    const each = units.map((count) => [count]);
    return this.#run(id, plan, 'charge', this.#numbers(0, plan, each, now), (reply) =>
      readReply(reply, plan),
    );
  }

  correct(
    id: string,
    units: readonly number[],
    plan: Plan,
    charges: readonly Charge[],
    now: number | undefined,
  ): Promise<ArrayLike<number>> {
    const each = charges.map(({ at, level }, i) => [Math.abs(units[i]), at, level]);
    const operation = units.some((count) => count < 0) ? 'settle' : 'refund';
    return this.#run(id, plan, operation, this.#numbers(0, plan, each, now), (reply) =>
      readLacking(reply, units),
    );
  }

  reset(id: string): Promise<void> {
    const tag = this.#prefix + tagOf(id);
    const keys = this.#suffixes.map((suffix) => tag + suffix);
    return this.#runner.run(keys, ['reset'], () => {});
  }

  /** Nothing to let go of: the client is the caller's. */
  close(): void {}

  #run<T>(
    id: string,
    plan: Plan,
    operation: string,
    numbers: Buffer,
    read: (reply: unknown) => T,
  ): Promise<T> {
    const tag = this.#prefix + tagOf(id);
    const keys = plan.places.map((place) => tag + this.#suffixes[place]);
    return this.#runner.run(keys, [operation, numbers, ...plan.terms.map((term) => term.algorithm)], read);
  }

  /** The numbers as envelope.lua takes them: for each term those of `each`, if there are any, and its own. */
  #numbers(cost: number, plan: Plan, each: readonly (readonly number[])[], now: number | undefined): Buffer {
    const numbers = [cost, now === undefined ? 0 : whole(now) + 1];
    plan.terms.forEach((term, i) => {
      const own = each.length === 0 ? [] : each[i];
      numbers.push(own.length + term.numbers.length, ...own, ...term.numbers);
    });
    return pack(numbers);
  }
}

/** Returns `value` if Lua may be told it: packed, a number that is none would look like another. */
function whole(value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw expected('ERR_SLUICE_ARGUMENT', 'numbers', 'whole numbers from 0 to 2^53 - 1', value);
}

/** What could not be kept of the units that were to be added; before it stands when that was. */
function readLacking(reply: unknown, units: readonly number[]): number[] {
  if (!Array.isArray(reply) || reply.length !== 1 + units.length) throw replyError(reply);
  return units.map((count, i) => readWhole(reply, reply[1 + i], 0, Math.max(0, -count)));
}

function readReply(reply: unknown, plan: Plan): Answer {
  if (!Array.isArray(reply) || reply.length !== plan.terms.length * ANSWER_WIDTH) throw replyError(reply);
  return Array.from(reply as unknown[], (number, i) => {
    // Only a wait may be negative: -1 is never.
    const least = i % ANSWER_WIDTH === 1 ? -1 : 0;
    const most = i % ANSWER_WIDTH === 0 ? plan.terms[i / ANSWER_WIDTH].numbers[0] : Infinity;
    return readWhole(reply, number, least, most);
  });
}

function readWhole(reply: unknown, number: unknown, least: number, most: number): number {
  // Only what is too big for clients to read exactly comes as text.
  const read = typeof number === 'string' && /^\d{16}$/.test(number) ? Number(number) : number;
  if (!Number.isSafeInteger(read) || (read as number) < least || (read as number) > most)
    throw replyError(reply);
  return (read as number) + 0;
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
