/**
 * One limiter's keys in Redis.
 *
 * @module
 */

import { StoreError } from '../errors.js';
import {
  ANSWER_WIDTH,
  type Answer,
  type Charge,
  type ParsedPolicy,
  type Plan,
  type Table,
} from '../types.js';
import type { RedisClient } from './client.js';
import { suffixesOf, tagOf } from './key.js';
import { script, sha1 } from './scripts.generated.js';

export class RedisTable implements Table<true> {
  readonly #client: RedisClient;
  readonly #prefix: string;
  readonly #suffixes: readonly string[];

  constructor(client: RedisClient, prefix: string, name: string, policies: readonly ParsedPolicy[]) {
    this.#client = client;
    this.#prefix = `${prefix}:{`;
    this.#suffixes = suffixesOf(name, policies);
  }

  async decide(
    id: string,
    cost: number,
    plan: Plan,
    charge: boolean,
    now: number | undefined,
  ): Promise<Answer> {
    const operation = charge ? 'consume' : 'peek';
    return readReply(await this.#run(id, plan, operation, this.#numbers(cost, plan, [], now)), plan);
  }

  async refund(
    id: string,
    units: number,
    plan: Plan,
    charges: readonly Charge[],
    now: number | undefined,
  ): Promise<void> {
    await this.#run(id, plan, 'refund', this.#numbers(units, plan, charges, now));
  }

  async reset(id: string): Promise<void> {
    const tag = this.#prefix + tagOf(id);
    const keys = this.#suffixes.map((suffix) => tag + suffix);
    await this.#send(keys, ['reset']);
  }

  /** Nothing to let go of: the client is the caller's. */
  close(): void {}

  #run(id: string, plan: Plan, operation: string, numbers: Buffer): Promise<unknown> {
    const tag = this.#prefix + tagOf(id);
    const keys = plan.places.map((place) => tag + this.#suffixes[place]);
    return this.#send(keys, [operation, numbers, ...plan.terms.map((term) => term.algorithm)]);
  }

  /** The numbers as envelope.lua takes them. */
  #numbers(cost: number, plan: Plan, charges: readonly Charge[], now: number | undefined): Buffer {
    const numbers = [cost, now === undefined ? 0 : now + 1];
    plan.terms.forEach((term, i) => {
      const charge = charges.length === 0 ? [] : [charges[i].at, charges[i].level];
      numbers.push(charge.length + term.numbers.length, ...charge, ...term.numbers);
    });
    return pack(numbers);
  }

  /** Sends the script by its name, and in full only to a server that says that it does not know it. */
  async #send(keys: string[], args: (string | Buffer)[]): Promise<unknown> {
    try {
      return await this.#client.evalsha(sha1, keys.length, ...keys, ...args);
    } catch (error) {
      if (!isNoScript(error)) throw storeError(error);
    }
    try {
      return await this.#client.eval(script, keys.length, ...keys, ...args);
    } catch (error) {
      throw storeError(error);
    }
  }
}

function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

function storeError(error: unknown): StoreError {
  const what = error instanceof Error ? error.message : String(error);
  return new StoreError('ERR_SLUICE_STORE', `Redis did not answer: ${what}`, error);
}

function readReply(reply: unknown, plan: Plan): Answer {
  if (!Array.isArray(reply) || reply.length !== plan.terms.length * ANSWER_WIDTH) throw replyError(reply);
  for (let i = 0; i < reply.length; i++) {
    // Only what is too big for clients to read exactly comes as text.
    if (typeof reply[i] === 'string' && /^\d{16}$/.test(reply[i])) reply[i] = Number(reply[i]);
    if (!Number.isSafeInteger(reply[i])) throw replyError(reply);
  }
  return reply;
}

function replyError(reply: unknown): StoreError {
  return new StoreError('ERR_SLUICE_STORE_REPLY', 'Redis gave a reply that is not a decision.', reply);
}

/** Whole numbers as MessagePack, each in the shortest form that a script reads fast: 1, 5 or 9 bytes. */
function pack(numbers: readonly number[]): Buffer {
  const packed = Buffer.allocUnsafe(9 * numbers.length);
  let end = 0;
  for (const number of numbers) {
    if (number < 2 ** 7) {
      end = packed.writeUInt8(number, end);
    } else if (number < 2 ** 32) {
      end = packed.writeUInt8(0xce, end);
      end = packed.writeUInt32BE(number, end);
    } else {
      end = packed.writeUInt8(0xcf, end);
      end = packed.writeUInt32BE(Math.floor(number / 2 ** 32), end);
      end = packed.writeUInt32BE(number % 2 ** 32, end);
    }
  }
  return packed.subarray(0, end);
}
