/**
 * Messages between processes by the pub/sub of Redis.
 *
 * @module
 */

import { checkObject, parseName, refuseUnknown } from '../check.js';
import { ArgumentError, expected } from '../errors.js';
import type { Transport } from '../layered/transport.js';

const CODE = 'ERR_SLUICE_OPTION';

/** What {@link redisTransport} needs of the client that sends: one of ioredis, iovalkey or node-redis. */
export interface PublishingClient {
  /** PUBLISH. */
  publish(channel: string, message: string): Promise<unknown>;
}

/**
 * What {@link redisTransport} needs of the client that listens, a connection of its own: one of ioredis or iovalkey,
 * which says what comes by the event `message`, or one of node-redis, which is given a listener.
 */
export interface SubscribingClient {
  /** SUBSCRIBE. */
  subscribe(channel: string, ...listeners: never[]): Promise<unknown>;
  /** UNSUBSCRIBE. */
  unsubscribe(channel: string, ...listeners: never[]): Promise<unknown>;
  /** Listens to an event of the client. */
  on(event: 'message', listener: (channel: string, message: string) => void): unknown;
  /** Ends that. */
  off(event: 'message', listener: (channel: string, message: string) => void): unknown;
}

/** What a {@link redisTransport} is made of. */
export interface RedisTransportOptions {
  /** Sends. It may be the client of a store. */
  readonly client: PublishingClient;
  /** Listens, and can do nothing else from then on: `client.duplicate()`. */
  readonly subscriber: SubscribingClient;
  /** Where messages are sent. Default `'rl'`. */
  readonly channel?: string | undefined;
}

/**
 * Returns a transport over the pub/sub of Redis.
 *
 * Redis keeps no message for who is not connected at that moment.
 *
 * @throws ArgumentError if an option is wrong.
 *
 * @example
 * import { LayeredStore } from '@sluice/core';
 * import { RedisStore, redisTransport } from '@sluice/core/redis';
 * import { Redis } from 'ioredis';
 * const client = new Redis({ autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 });
 * const subscriber = client.duplicate();
 * for (const connection of [client, subscriber]) connection.on('error', (error) => console.error(error.message));
 * const transport = redisTransport({ client, subscriber });
 * const store = new LayeredStore({ store: new RedisStore({ client }), mode: 'strict', transport });
 */
export function redisTransport(options: RedisTransportOptions): Transport {
  checkObject(options, 'options', 'an object with a client and a subscriber', CODE);
  refuseUnknown(options, ['client', 'subscriber', 'channel'], 'redisTransport', CODE);
  const { client, subscriber, channel: given = 'rl' } = options;
  if (client === (subscriber as unknown)) {
    const message =
      'Expected `subscriber` to be a connection of its own, such as client.duplicate(), got the client itself.';
    throw new ArgumentError(CODE, message);
  }
  if (typeof client?.publish !== 'function') throw expected(CODE, 'client', 'a client of Redis', client);
  if (typeof subscriber?.subscribe !== 'function' || typeof subscriber.on !== 'function') {
    throw expected(CODE, 'subscriber', 'a client of Redis', subscriber);
  }
  const channel = parseName(given, 'channel', CODE);
  return {
    publish: (message) => client.publish(channel, message),
    subscribe(listener, failed) {
      const told = (message: string) => listener(message);
      // ioredis takes what it is given for another channel.
      const given = (isNodeRedis(subscriber) ? [told] : []) as never[];
      const heard = (from: string, message: string) => {
        if (from === channel) listener(message);
      };
      if (given.length === 0) subscriber.on('message', heard);
      const others = listenersOf(subscriber);
      others.set(channel, (others.get(channel) ?? 0) + 1);
      subscriber.subscribe(channel, ...given).catch(failed);
      return () => {
        subscriber.off('message', heard);
        const left = (others.get(channel) ?? 0) - 1;
        others.set(channel, left);
        // ioredis would unsubscribe all who listen by this connection.
        if (left === 0 || given.length > 0) subscriber.unsubscribe(channel, ...given).catch(() => {});
      };
    },
  };
}

const listeners = new WeakMap<object, Map<string, number>>();

/** How many listen by this connection, per channel. */
function listenersOf(subscriber: object): Map<string, number> {
  const known = listeners.get(subscriber) ?? new Map<string, number>();
  listeners.set(subscriber, known);
  return known;
}

/** Only that client calls the command so. */
function isNodeRedis(client: SubscribingClient): boolean {
  return 'pSubscribe' in client;
}
