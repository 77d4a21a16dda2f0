/**
 * A store in front of a store: what can be decided in this process is, and how far that may be off is published.
 *
 * @module
 */

import { checkObject, oneOf, refuseUnknown } from '../check.js';
import { expected } from '../errors.js';
import { tell } from '../tell.js';
import type { Kinds, ParsedPolicy, Store, Table } from '../types.js';
import { warnOnce } from '../warnings.js';
import { LONGEST_MS } from './denials.js';
import { type Message, read, write } from './message.js';
import { type LayeredCounts, StrictTable } from './strict-table.js';
import type { Transport } from './transport.js';

const CODE = 'ERR_SLUICE_OPTION';

const OPTIONS = ['store', 'mode', 'transport', 'onMessageError'];

/** How much is decided in this process: see {@link LayeredStoreOptions.mode}. */
export type LayeredMode = 'strict';

const MODES: readonly LayeredMode[] = ['strict'];

/** A message that could not be sent, or was none. */
export interface MessageErrorEvent {
  /** What was wrong. */
  readonly error: Error;
}

/** What a {@link LayeredStore} is made of. */
export interface LayeredStoreOptions {
  /** The store that all processes share, such as a `RedisStore`. */
  readonly store: Store<true>;
  /** `'strict'` asks the store for every decision but denials that it has given already, and that still hold. */
  readonly mode: LayeredMode;
  /** How the processes tell each other of refunds, settlements, resets and blocks by hand. Default: not at all. */
  readonly transport?: Transport | undefined;
  /** Called when a message could not be sent, or was none; it is ignored. Default: a warning, once. */
  readonly onMessageError?: ((event: MessageErrorEvent) => void) | undefined;
}

/**
 * Decides in this process what needs no asking.
 *
 * In mode `'strict'` that is a denial, which nothing but time can end, or a refund, settlement, reset or `unblock`. Whoever keeps
 * sending requests while denied costs the shared store next to nothing. {@link LayeredStore.bound} says how far a decision
 * may be from the store's own.
 *
 * @example
 * import { createLimiter, LayeredStore } from '@sluice/core';
 * import { RedisStore } from '@sluice/core/redis';
 * import { Redis } from 'ioredis';
 * const store = new LayeredStore({ store: new RedisStore({ client: new Redis() }), mode: 'strict' });
 * const limiter = createLimiter({ name: 'api', policies: [{ limit: 100, window: '1m' }], store });
 * console.log(store.bound);
 */
export class LayeredStore implements Store<true> {
  /** Its answers come by promise. */
  readonly async = true;
  /** That of the store behind it: limiters of both would write the same keys. */
  readonly place: object;
  /** What the store behind it does. */
  readonly takesKinds: boolean;
  /** How far a decision may be from that of the store behind it, in words. */
  readonly bound: string;
  readonly #store: Store<true>;
  readonly #transport: Transport | undefined;
  readonly #onMessageError: (event: MessageErrorEvent) => void;
  readonly #tables = new Map<string, StrictTable>();
  readonly #counts: LayeredCounts = { decisions: 0, asked: 0 };
  #stopListening: (() => void) | undefined;

  /** @throws ArgumentError if an option is wrong. */
  constructor(options: LayeredStoreOptions) {
    checkObject(options, 'options', 'an object with a store and a mode', CODE);
    refuseUnknown(options, OPTIONS, 'LayeredStore', CODE);
    const { store, transport, onMessageError } = options;
    oneOf(MODES, options.mode, 'mode', CODE);
    if (typeof store?.open !== 'function' || store.async !== true || store instanceof LayeredStore) {
      throw expected(CODE, 'store', 'a store that is shared, such as a RedisStore', store);
    }
    if (
      transport !== undefined &&
      (typeof transport?.publish !== 'function' ||
        typeof transport.subscribe !== 'function' ||
        // A client of Redis has both, and takes them otherwise.
        'duplicate' in transport)
    ) {
      throw expected(
        CODE,
        'transport',
        'redisTransport({ client, subscriber }), or an object with publish and subscribe',
        transport,
      );
    }
    if (onMessageError !== undefined && typeof onMessageError !== 'function') {
      throw expected(CODE, 'onMessageError', 'a function', onMessageError);
    }
    this.place = store.place ?? store;
    this.takesKinds = store.takesKinds === true;
    this.#store = store;
    this.#transport = transport;
    this.#onMessageError = onMessageError ?? warnOfMessage;
    this.bound = boundOf(transport !== undefined);
  }

  /** What it has counted: of all decisions, how many its store was asked for. */
  get counts(): Readonly<LayeredCounts> {
    return { ...this.#counts };
  }

  open(name: string, policies: readonly ParsedPolicy[], kinds?: Kinds): Table<true> {
    const inner = this.#store.open(name, policies, kinds);
    // What counts denied requests must see them. And a denial of several keys ends when one of them is given units back.
    const remembers = kinds === undefined && !policies.some(({ countDenied }) => countDenied);
    const table = new StrictTable(inner, this.#counts, remembers, {
      forgotten: (key) => void this.#send({ limiter: name, key }),
      closed: () => this.#closed(name),
    });
    this.#tables.set(name, table);
    this.#stopListening ??= this.#transport?.subscribe(
      (text) => this.#hear(text),
      (error) => tell(this.#onMessageError, { error }),
    );
    return table;
  }

  #closed(name: string): void {
    this.#tables.delete(name);
    if (this.#tables.size > 0) return;
    this.#stopListening?.();
    this.#stopListening = undefined;
  }

  #hear(text: string): void {
    try {
      const { limiter, key } = read(text);
      this.#tables.get(limiter)?.forget(key);
    } catch (error) {
      tell(this.#onMessageError, { error: error as Error });
    }
  }

  async #send(message: Message): Promise<void> {
    try {
      await this.#transport?.publish(write(message));
    } catch (error) {
      tell(this.#onMessageError, { error: error as Error });
    }
  }
}

function boundOf(tells: boolean): string {
  const others = tells
    ? 'until the message of it arrives there'
    : 'as long as its denial lasts (there is no transport)';
  return `strict: nothing is admitted or denied that its store would not; but a key that was given units back, was reset or unblocked by another process may stay denied ${others}, at most ${LONGEST_MS} ms.`;
}

function warnOfMessage({ error }: MessageErrorEvent): void {
  warnOnce(
    'SLUICE_MESSAGE_FAILED',
    `A message between processes failed, and was ignored: ${error.message} Give the LayeredStore an onMessageError to be told of this each time.`,
  );
}
