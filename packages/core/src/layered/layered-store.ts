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
import type { GossipReport } from './gossip-table.js';
import { type Message, read, write } from './message.js';
import {
  type HeedingTable,
  LAYERED_MODES,
  type LayeredMode,
  MODE_OPTIONS,
  type Mode,
  type ModeOptions,
  parseMode,
  refuseUnfit,
} from './modes.js';
import { type LayeredCounts, StrictTable } from './strict-table.js';
import type { Transport } from './transport.js';

const CODE = 'ERR_SLUICE_OPTION';

const OPTIONS = ['store', 'mode', ...MODE_OPTIONS, 'transport', 'onMessageError'];

/** A message that could not be sent, or was none. */
export interface MessageErrorEvent {
  /** What was wrong. */
  readonly error: Error;
}

/** What a {@link LayeredStore} is made of. */
export interface LayeredStoreOptions extends ModeOptions {
  /** The store that all processes share, such as a `RedisStore`. Needed, but in mode `'gossip'`, which has none. */
  readonly store?: Store<true> | undefined;
  /**
   * `'strict'` asks the store for every decision but denials that it has given already, and that still hold. `'reserve'`
   * charges it in advance for what is likely to be asked for soon, `'share'` for a fixed share of each window; neither lets
   * more through than the limits. `'batch'` admits up to `maxUnsynced` units of a key before it reports them. `'gossip'`
   * decides by what this process has admitted, and the others have said that they did.
   */
  readonly mode: LayeredMode;
  /**
   * How the processes tell each other of refunds, settlements, resets and blocks by hand. Default: not at all. Needed in mode `'gossip'`,
   * which tells of all that is admitted.
   */
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
 * const client = new Redis({ autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 });
 * client.on('error', (error) => console.error(error.message));
 * const store = new LayeredStore({ store: new RedisStore({ client }), mode: 'strict' });
 * const limiter = createLimiter({ name: 'api', policies: [{ limit: 100, window: '1m' }], store });
 * console.log(store.bound);
 */
export class LayeredStore implements Store<true> {
  /** Its answers come by promise. */
  readonly async = true;
  /** That of the store behind it: limiters of both would write the same keys. */
  readonly place: object;
  /** In mode `'strict'` what the store behind it does; the others are of one kind of keys. */
  readonly takesKinds: boolean;
  /** How far a decision may be from that of the store behind it, in words. */
  readonly bound: string;
  readonly #store: Store<true> | undefined;
  readonly #transport: Transport | undefined;
  readonly #onMessageError: (event: MessageErrorEvent) => void;
  readonly #name: LayeredMode;
  readonly #mode: Mode;
  readonly #tables = new Map<string, HeedingTable>();
  /** Those, and others of the same names that are closed, but have not reported all. */
  readonly #opened = new Set<HeedingTable>();
  readonly #counts: LayeredCounts = { decisions: 0, asked: 0 };
  #stopListening: (() => void) | undefined;

  /** @throws ArgumentError if an option is wrong. */
  constructor(options: LayeredStoreOptions) {
    checkObject(options, 'options', 'an object with a store and a mode', CODE);
    refuseUnknown(options, OPTIONS, 'LayeredStore', CODE);
    const { store, transport, onMessageError } = options;
    this.#name = oneOf(LAYERED_MODES, options.mode, 'mode', CODE);
    this.#mode = parseMode(this.#name, options, transport !== undefined);
    if (this.#mode.stored) checkStore(store);
    else if (store !== undefined) throw expected(CODE, 'store', `absent in mode "${this.#name}"`, store);
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
    this.place = store?.place ?? store ?? this;
    // What is charged in advance, or afterwards, is of one key.
    this.takesKinds = this.#name === 'strict' && store?.takesKinds === true;
    this.#store = store;
    this.#transport = transport;
    this.#onMessageError = onMessageError ?? warnOfMessage;
    this.bound = this.#mode.bound;
  }

  /** What it has counted: of all decisions, how many its store was asked for. */
  get counts(): Readonly<LayeredCounts> {
    return { ...this.#counts };
  }

  /**
   * In mode `'gossip'`, what it has heard of other processes, the most of all its limiters; `undefined` in the other modes.
   */
  report(): GossipReport | undefined {
    const reports = [...this.#tables.values()].flatMap(({ report }) => report ?? []);
    if (this.#mode.stored) return undefined;
    const most = (field: keyof GossipReport) => Math.max(0, ...reports.map((report) => report[field]));
    return { peers: most('peers'), stalenessMs: most('stalenessMs'), overshoot: most('overshoot') };
  }

  /**
   * Resolves when limiters that are closed have reported what they owed, and given back what they held, or could not.
   * Then the client of the store can be closed.
   *
   * @example
   * import { type LayeredStore, type Limiter } from '@sluice/core';
   * async function shutDown(limiter: Limiter<true>, store: LayeredStore, client: { quit(): Promise<unknown> }) {
   *   limiter.close();
   *   await store.flush();
   *   await client.quit();
   * }
   */
  async flush(): Promise<void> {
    await Promise.all([...this.#opened].map(({ closing }) => closing));
  }

  /** @throws ArgumentError if the mode cannot carry a policy. */
  open(name: string, policies: readonly ParsedPolicy[], kinds?: Kinds): Table<true> {
    refuseUnfit(this.#name, this.#mode, policies);
    const closed = () => this.#closed(name, table);
    const table: HeedingTable = this.#mode.open({
      policies,
      counts: this.#counts,
      strict: () => this.#strict(name, policies, kinds, closed),
      say: (counts) => void this.#send({ limiter: name, ...counts }),
      closed,
    });
    this.#tables.set(name, table);
    this.#opened.add(table);
    this.#stopListening ??= this.#transport?.subscribe(
      (text) => this.#hear(text),
      (error) => tell(this.#onMessageError, { error }),
    );
    return table;
  }

  #strict(
    name: string,
    policies: readonly ParsedPolicy[],
    kinds: Kinds | undefined,
    closed: () => void,
  ): StrictTable {
    const inner = (this.#store as Store<true>).open(name, policies, kinds);
    // What counts denied requests must see them. And a denial of several keys ends when one of them is given units back.
    const remembers = kinds === undefined && !policies.some(({ countDenied }) => countDenied);
    const forgotten = (key: string) => void this.#send({ limiter: name, key });
    return new StrictTable(inner, this.#counts, remembers, { forgotten, closed });
  }

  /** A limiter of that name may be open again. */
  #closed(name: string, table: HeedingTable): void {
    this.#opened.delete(table);
    if (this.#tables.get(name) === table) this.#tables.delete(name);
    if (this.#tables.size > 0) return;
    this.#stopListening?.();
    this.#stopListening = undefined;
  }

  #hear(text: string): void {
    try {
      const message = read(text);
      const table = this.#tables.get(message.limiter);
      if ('counts' in message) table?.hear?.(message);
      else table?.forget?.(message.key);
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

function checkStore(store: Store<true> | undefined): void {
  if (typeof store?.open === 'function' && store.async === true && !(store instanceof LayeredStore)) return;
  throw expected(CODE, 'store', 'a store that is shared, such as a RedisStore', store);
}

function warnOfMessage({ error }: MessageErrorEvent): void {
  warnOnce(
    'SLUICE_MESSAGE_FAILED',
    `A message between processes failed, and was ignored: ${error.message} Give the LayeredStore an onMessageError to be told of this each time.`,
  );
}
