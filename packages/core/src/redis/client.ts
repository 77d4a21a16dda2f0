/**
 * What Sluice needs of a Redis client.
 *
 * @module
 */

import { ArgumentError, expected } from '../errors.js';
import { warnOnce } from '../warnings.js';

/**
 * The two commands that a {@link RedisStore} sends. Clients of ioredis (single, Sentinel, Cluster) and iovalkey have
 * them as they are.
 *
 * The first `keys` of `rest` are keys; a cluster client sends the command to their node.
 */
export interface RedisClient {
  /** EVALSHA: runs a script that the server knows by its SHA-1. */
  evalsha(sha: string, keys: number, ...rest: (string | Buffer)[]): Promise<unknown>;
  /** EVAL: runs a script, which the server then knows. */
  eval(script: string, keys: number, ...rest: (string | Buffer)[]): Promise<unknown>;
}

/** Whether the client says that its keys lie on several nodes. */
export function isCluster(client: RedisClient): boolean {
  return (client as Known).isCluster === true;
}

/** What clients of ioredis have besides, and others may. */
interface Known {
  readonly status?: unknown;
  readonly isCluster?: unknown;
  readonly options?: {
    readonly autoResendUnfulfilledCommands?: unknown;
    readonly retryDelayOnFailover?: unknown;
  };
  on?(event: string, listener: () => void): unknown;
}

/**
 * Returns `client` if it can be asked.
 *
 * @throws ArgumentError that says what to do. Whether the client is connected is no matter.
 */
export function parseClient(client: unknown): RedisClient {
  const { evalsha, eval: evaluate, evalSha, then } = (client ?? {}) as Record<string, unknown>;
  if (typeof evalsha === 'function' && typeof evaluate === 'function') return client as RedisClient;
  const what = 'a client of ioredis or iovalkey (with evalsha and eval)';
  if (typeof evalSha === 'function') {
    throw new ArgumentError(
      'ERR_SLUICE_OPTION',
      `Expected \`client\` to be ${what}, got one of node-redis: give fromNodeRedis(client) instead.`,
    );
  }
  if (typeof then === 'function') {
    throw new ArgumentError(
      'ERR_SLUICE_OPTION',
      `Expected \`client\` to be ${what}, got a promise: give what it resolves to, await it first.`,
    );
  }
  if (typeof client === 'function') {
    const name = client.name || 'Redis';
    throw new ArgumentError(
      'ERR_SLUICE_OPTION',
      `Expected \`client\` to be ${what}, got a class or function: give an instance, such as new ${name}().`,
    );
  }
  throw expected('ERR_SLUICE_OPTION', 'client', what, client);
}

/**
 * Warns, once per process, of a client that sends commands again by itself when their connection is lost: those that
 * had been run are then run twice, and their requests charged twice.
 */
export function warnOfResending(client: RedisClient): void {
  const { isCluster, options } = client as Known;
  const again = isCluster
    ? typeof options?.retryDelayOnFailover === 'number' && options.retryDelayOnFailover > 0
    : options?.autoResendUnfulfilledCommands === true;
  if (!again) return;
  // Without the second, what was on its way when the connection was lost would never settle.
  const option = isCluster
    ? 'retryDelayOnFailover: 0'
    : 'autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0';
  warnOnce(
    'SLUICE_RESENDING_CLIENT',
    `The Redis client sends commands again when their connection is lost, so a request can be charged twice. Create it with { ${option} }.`,
    'docs/clients.md',
  );
}

/** Per client: how often it became ready. One listener serves all stores of a client. */
const connections = new WeakMap<object, { count: number }>();

/** Knows whether a client has had a connection since a command was given to it. */
export class Connection {
  readonly #client: Known;
  readonly #ready: { count: number };

  constructor(client: RedisClient) {
    this.#client = client as Known;
    let ready = connections.get(client);
    if (ready === undefined) {
      const counter = { count: 0 };
      if (typeof this.#client.on === 'function') this.#client.on('ready', () => (counter.count += 1));
      connections.set(client, counter);
      ready = counter;
    }
    this.#ready = ready;
  }

  /** Returns what {@link neverSent} asks for. */
  mark(): number {
    return this.#away ? this.#ready.count : -1;
  }

  /** Whether a command that was given at `mark` cannot have been sent. False where the client does not tell. */
  neverSent(mark: number): boolean {
    return mark === this.#ready.count && this.#away;
  }

  get #away(): boolean {
    const { status } = this.#client;
    return typeof status === 'string' && status !== 'ready' && typeof this.#client.on === 'function';
  }
}
