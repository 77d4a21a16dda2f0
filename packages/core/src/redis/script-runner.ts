/**
 * Runs the script: by its name if the server knows it, in time, and only on a server that serves.
 *
 * @module
 */

import { StoreError } from '../errors.js';
import { tell } from '../tell.js';
import type { Gate } from '../types.js';
import { warnOnce } from '../warnings.js';
import { Breaker, REFUSED } from './breaker.js';
import { Connection, type RedisClient } from './client.js';
import { Deadline } from './deadline.js';
import { failureOf, isNoScript, isOutage } from './failure.js';
import { script, sha1 } from './scripts.generated.js';

/** What became of a store: it is asked again (`'closed'`), or left alone (`'open'`) for the error given. */
export interface StoreStateEvent {
  /** Named as the states of a circuit breaker: `'open'` lets nothing through. */
  readonly state: 'open' | 'closed';
  /** What opened it. */
  readonly error?: StoreError;
}

export class ScriptRunner implements Gate {
  readonly #client: RedisClient;
  readonly #connection: Connection;
  readonly #deadline: Deadline;
  readonly #breaker: Breaker<StoreError>;
  /** Why it is left alone. */
  #failure: StoreError | undefined;

  constructor(client: RedisClient, timeoutMs: number, onStateChange?: (event: StoreStateEvent) => void) {
    this.#client = client;
    this.#connection = new Connection(client);
    this.#deadline = new Deadline(
      timeoutMs,
      () =>
        new StoreError(
          'ERR_SLUICE_STORE_TIMEOUT',
          `Redis did not answer within ${timeoutMs} ms, and may have charged the request.`,
          'unknown',
        ),
    );
    this.#breaker = new Breaker((state, error) => {
      this.#failure = error;
      if (onStateChange !== undefined)
        tell(onStateChange, error === undefined ? { state } : { state, error });
      else if (error !== undefined) warnOfFailing(error);
    });
  }

  get serves(): boolean {
    return this.#breaker.closed;
  }

  /** Returns what `read` makes of the reply. Rejects with a {@link StoreError} and with nothing else. */
  run<T>(keys: readonly string[], numbers: Buffer, read: (reply: unknown) => T): Promise<T> {
    const ticket = this.#breaker.admit();
    if (ticket === REFUSED) return Promise.reject(refused(this.#failure));
    return this.#deadline.race(this.#send(keys, numbers).then(read)).then(
      (answer) => {
        this.#breaker.served(ticket);
        return answer;
      },
      (error: StoreError) => {
        if (isOutage(error)) this.#breaker.failed(ticket, error);
        else this.#breaker.served(ticket);
        throw error;
      },
    );
  }

  /** Sends the script by its name, and in full only to a server that says that it does not know it. */
  async #send(keys: readonly string[], numbers: Buffer): Promise<unknown> {
    const mark = this.#connection.mark();
    try {
      return await this.#client.evalsha(sha1, keys.length, ...keys, numbers);
    } catch (error) {
      if (!isNoScript(error)) throw failureOf(error, this.#connection.neverSent(mark));
    }
    const again = this.#connection.mark();
    try {
      return await this.#client.eval(script, keys.length, ...keys, numbers);
    } catch (error) {
      throw failureOf(error, this.#connection.neverSent(again));
    }
  }
}

function refused(failure: StoreError | undefined): StoreError {
  return new StoreError(
    'ERR_SLUICE_STORE_OPEN',
    `Redis was not asked, because it failed several times in a row a moment ago: ${failure?.message}`,
    'not-run',
    failure,
  );
}

/** Nobody listens, and what stands in for a store shows no sign of it. */
function warnOfFailing(error: StoreError): void {
  warnOnce(
    'SLUICE_STORE_FAILING',
    `A RedisStore fails, and its limiters do without it what their onStoreError says: ${error.message} Give it an onStateChange to be told of this each time, and of its end.`,
    'docs/resilience.md',
  );
}
