/**
 * A store in front of a store: what can be decided in this process is, and how far that may be off is published.
 *
 * @module
 */

import { oneOf, refuseUnknown } from '../check.js';
import { parseDuration } from '../duration.js';
import { ArgumentError, expected, show } from '../errors.js';
import { tell } from '../tell.js';
import type { Duration, Kinds, ParsedPolicy, Store, Table } from '../types.js';
import { warnOnce } from '../warnings.js';
import { BatchTable, type Credit } from './batch-table.js';
import { LONGEST_MS } from './denials.js';
import { type Message, read, write } from './message.js';
import { type LayeredCounts, StrictTable } from './strict-table.js';
import type { Transport } from './transport.js';

const CODE = 'ERR_SLUICE_OPTION';

const OPTIONS = ['store', 'mode', 'maxUnsynced', 'syncEvery', 'transport', 'onMessageError'];

/** How much is decided in this process: see {@link LayeredStoreOptions.mode}. */
export type LayeredMode = 'strict' | 'batch';

const MODES: readonly LayeredMode[] = ['strict', 'batch'];

/** The least that reporting less often would be worth, and the most that a timer can be set for. */
const LEAST_EVERY_MS = 10;
const MOST_EVERY_MS = 86_400_000;

/** A message that could not be sent, or was none. */
export interface MessageErrorEvent {
  /** What was wrong. */
  readonly error: Error;
}

/** What a {@link LayeredStore} is made of. */
export interface LayeredStoreOptions {
  /** The store that all processes share, such as a `RedisStore`. */
  readonly store: Store<true>;
  /**
   * `'strict'` asks the store for every decision but denials that it has given already, and that still hold. `'batch'`
   * admits up to `maxUnsynced` units of a key by the store's last answer before it reports them.
   */
  readonly mode: LayeredMode;
  /** For `'batch'`: the most units of a key that this process may have admitted and not reported. Needed there. */
  readonly maxUnsynced?: number | undefined;
  /** For `'batch'`: how long units stay unreported at most, while the store serves. Default `'1s'`. */
  readonly syncEvery?: Duration | undefined;
  /** How the processes tell each other of refunds, settlements and resets. Default: not at all. */
  readonly transport?: Transport | undefined;
  /** Called when a message could not be sent, or was none; it is ignored. Default: a warning, once. */
  readonly onMessageError?: ((event: MessageErrorEvent) => void) | undefined;
}

/**
 * Decides in this process what needs no asking.
 *
 * In mode `'strict'` that is a denial, which nothing but time can end, or a refund, settlement or reset. Whoever keeps
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
  readonly #credit: Credit | undefined;
  #stopListening: (() => void) | undefined;

  /** @throws ArgumentError if an option is wrong. */
  constructor(options: LayeredStoreOptions) {
    if (typeof options !== 'object' || options === null) {
      throw expected(CODE, 'options', 'an object with a store and a mode', options);
    }
    refuseUnknown(options, OPTIONS, 'LayeredStore', CODE);
    const { store, transport, onMessageError } = options;
    this.#credit = parseCredit(oneOf(MODES, options.mode, 'mode', CODE), options);
    if (typeof store?.open !== 'function' || store.async !== true) {
      throw expected(CODE, 'store', 'a store that is shared, such as a RedisStore', store);
    }
    if (
      transport !== undefined &&
      (typeof transport?.publish !== 'function' || typeof transport.subscribe !== 'function')
    ) {
      throw expected(CODE, 'transport', 'an object with publish and subscribe', transport);
    }
    if (onMessageError !== undefined && typeof onMessageError !== 'function') {
      throw expected(CODE, 'onMessageError', 'a function', onMessageError);
    }
    this.place = store.place ?? store;
    this.takesKinds = store.takesKinds === true;
    this.#store = store;
    this.#transport = transport;
    this.#onMessageError = onMessageError ?? warnOfMessage;
    this.bound = boundOf(transport !== undefined, this.#credit);
  }

  /** What it has counted: of all decisions, how many its store was asked for. */
  get counts(): Readonly<LayeredCounts> {
    return { ...this.#counts };
  }

  /** @throws ArgumentError if the mode cannot carry a policy. */
  open(name: string, policies: readonly ParsedPolicy[], kinds?: Kinds): Table<true> {
    if (this.#credit !== undefined) refuseInBatches(policies, kinds);
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
    return this.#credit === undefined ? table : new BatchTable(table, this.#credit, this.#counts);
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

function parseCredit(mode: LayeredMode, { maxUnsynced, syncEvery }: LayeredStoreOptions): Credit | undefined {
  if (mode !== 'batch') {
    for (const [name, value] of Object.entries({ maxUnsynced, syncEvery })) {
      if (value === undefined) continue;
      throw new ArgumentError(CODE, `Expected no \`${name}\` in mode "${mode}", got ${show(value)}.`);
    }
    return undefined;
  }
  if (!Number.isSafeInteger(maxUnsynced) || (maxUnsynced as number) < 1) {
    throw expected(CODE, 'maxUnsynced', 'an integer of at least 1', maxUnsynced);
  }
  const everyMs = syncEvery === undefined ? 1000 : parseDuration(syncEvery, 'syncEvery', CODE);
  if (everyMs < LEAST_EVERY_MS || everyMs > MOST_EVERY_MS) {
    throw expected(CODE, 'syncEvery', `from ${LEAST_EVERY_MS} ms to a day`, syncEvery);
  }
  return { maxUnsynced: maxUnsynced as number, everyMs };
}

/** What these decide depends on more than how much is used, or they forget what is owed. */
function refuseInBatches(policies: readonly ParsedPolicy[], kinds: Kinds | undefined): void {
  if (kinds !== undefined) {
    throw new ArgumentError(
      CODE,
      `Expected one key in each decision of a LayeredStore in mode "batch", got those of several kinds (${kinds.names.join(', ')}): what it owes of one of them it would not know in time. Mode "strict" takes them.`,
    );
  }
  for (const { name, algorithm, countDenied } of policies) {
    const why = countDenied
      ? 'counts denied requests, of which it would not hear'
      : {
          gcra: 'remembers at most one capacity of debt',
          'leaky-bucket': 'has a queue, of which only it knows the end',
        }[algorithm as string];
    if (why === undefined) continue;
    throw new ArgumentError(
      CODE,
      `Expected policies that a LayeredStore in mode "batch" can carry, got \`${name}\` (${algorithm}), which ${why}.`,
    );
  }
}

function boundOf(tells: boolean, credit: Credit | undefined): string {
  if (credit !== undefined) {
    return `batch: all processes together admit at most N * ${credit.maxUnsynced} units of a key more than its store alone would, in any stretch of time and under any load, where N is the number of processes.`;
  }
  const others = tells
    ? 'until the message of it arrives there'
    : 'as long as its denial lasts, because there is no transport';
  return `strict: nothing is admitted or denied that its store would not; but a key that was given units back, or was reset, by another process may stay denied ${others}, at most ${LONGEST_MS} ms.`;
}

function warnOfMessage({ error }: MessageErrorEvent): void {
  warnOnce(
    'SLUICE_MESSAGE_FAILED',
    `A message between processes failed, and was ignored: ${error.message} Give the LayeredStore an onMessageError to be told of this each time.`,
  );
}
