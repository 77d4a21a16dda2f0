/**
 * A client that notes where each command stands in the order of the server.
 *
 * The command goes out as it is, in a transaction that also counts and reads the server's clock: nothing of another
 * client can come between, so the count is the order in which the scripts ran, and needs no clock to be compared.
 *
 * @module
 */

import type { RedisClient } from '@sluice/core/redis';
import type { Redis } from 'ioredis';

/** One transaction: a command and what the server knows of its place. */
export interface Transaction {
  readonly place: number;
  readonly from: number;
  readonly to: number;
  readonly at: number | undefined;
  /** Whether the script ran. */
  readonly ran: boolean;
}

/** How many numbers of a reply belong to one policy, unless what is 0 is left out, and which of them is the instant. */
const WIDTH = 5;
const AT = 3;
/** Which is where that is left out. */
const SHORT_AT = 2;

/** Stands between a store and its client. The caller must not have two calls on their way at once. */
export class Recorder implements RedisClient {
  readonly #client: Redis;
  readonly #counter: string;
  #transactions: Transaction[] = [];

  /** @param counter - the key that counts, which belongs to the key under test alone. */
  constructor(client: Redis, counter: string) {
    this.#client = client;
    this.#counter = counter;
  }

  evalsha(sha: string, keys: number, ...rest: (string | Buffer)[]): Promise<unknown> {
    return this.#transact((transaction) => transaction.evalsha(sha, keys, ...rest));
  }

  eval(script: string, keys: number, ...rest: (string | Buffer)[]): Promise<unknown> {
    return this.#transact((transaction) => transaction.eval(script, keys, ...rest));
  }

  /** The transactions since the last time it was asked. */
  take(): Transaction[] {
    const taken = this.#transactions;
    this.#transactions = [];
    return taken;
  }

  async #transact(add: (transaction: ReturnType<Redis['multi']>) => unknown): Promise<unknown> {
    const transaction = this.#client.multi().incr(this.#counter).time();
    add(transaction);
    const results = await transaction.time().exec();
    if (results === null) throw new Error('The transaction was discarded.');
    const [[, place], [, from], [error, reply], [, to]] = results;
    this.#transactions.push({
      place: place as number,
      from: toMs(from as Time),
      to: toMs(to as Time),
      at: instantOf(reply),
      ran: error === null,
    });
    if (error !== null) throw error;
    return reply;
  }
}

type Time = readonly [seconds: number | string, microseconds: number | string];

function toMs([seconds, microseconds]: Time): number {
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
}

/** The instant of a decision or correction. A policy books on a later one if its state is from the future, so the least is the clock's. */
function instantOf(reply: unknown): number | undefined {
  // Of a reset it is how many keys there were.
  if (typeof reply !== 'string') return undefined;
  const each = reply.split(',').map((part) => part.split(' ').map(Number));
  // A correction says it first; a decision says there what remains, which is less.
  if (each[0][0] > 1e12) return each[0][0];
  return Math.min(...each.map((numbers) => numbers[numbers.length < WIDTH ? SHORT_AT : AT]));
}
