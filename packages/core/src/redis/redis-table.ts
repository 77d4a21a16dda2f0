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
  type Term,
} from '../types.js';
import type { RedisClient } from './client.js';
import { suffixesOf, tagOf } from './key.js';
import { script, sha1 } from './scripts.generated.js';

export class RedisTable implements Table<true> {
  readonly #client: RedisClient;
  readonly #prefix: string;
  readonly #suffixes: readonly string[];
  /** The arguments that stay the same from call to call. */
  readonly #texts = new WeakMap<Term, readonly string[]>();

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
    const args = [charge ? 'consume' : 'peek', now === undefined ? '' : String(now), String(cost)];
    for (const term of plan.terms) args.push(...this.#textOf(term));
    return readReply(await this.#run(this.#keys(id, plan), args), plan);
  }

  async refund(
    id: string,
    units: number,
    plan: Plan,
    charges: readonly Charge[],
    now: number | undefined,
  ): Promise<void> {
    const args = ['refund', now === undefined ? '' : String(now), String(units)];
    plan.terms.forEach((term, i) => {
      args.push(...this.#textOf(term), String(charges[i].at), String(charges[i].level));
    });
    await this.#run(this.#keys(id, plan), args);
  }

  async reset(id: string): Promise<void> {
    const tag = this.#prefix + tagOf(id);
    const keys = this.#suffixes.map((suffix) => tag + suffix);
    await this.#run(keys, ['reset']);
  }

  /** Nothing to let go of: the client is the caller's. */
  close(): void {}

  #keys(id: string, plan: Plan): string[] {
    const tag = this.#prefix + tagOf(id);
    return plan.places.map((place) => tag + this.#suffixes[place]);
  }

  #textOf(term: Term): readonly string[] {
    let text = this.#texts.get(term);
    if (text === undefined) {
      text = [term.algorithm, String(term.numbers.length), ...term.numbers.map(String)];
      this.#texts.set(term, text);
    }
    return text;
  }

  /** Sends the script by its name, and in full only to a server that says that it does not know it. */
  async #run(keys: string[], args: string[]): Promise<unknown> {
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
