/**
 * How the processes that share limits tell each other.
 *
 * @module
 */

/**
 * Carries short texts from one process to all others. What gets lost on the way costs time, never a limit: each mode
 * says how much.
 *
 * @example
 * import cluster from 'node:cluster';
 * import type { Transport } from '@sluice/core';
 * // Between the workers of node:cluster, where the primary passes on what it gets.
 * const transport: Transport = {
 *   publish: (message) => void process.send?.({ sluice: message }),
 *   subscribe(listener) {
 *     const heard = (message: { sluice?: string }) => message.sluice !== undefined && listener(message.sluice);
 *     process.on('message', heard);
 *     return () => process.off('message', heard);
 *   },
 * };
 * if (cluster.isPrimary) {
 *   cluster.on('message', (from, message) => {
 *     for (const worker of Object.values(cluster.workers ?? {})) if (worker !== from) worker?.send(message);
 *   });
 * }
 */
export interface Transport {
  /** Sends a message to all other processes; it may come back to this one. What it throws or rejects with is told of. */
  publish(message: string): unknown;
  /** Calls `listener` with every message from now on, and `failed` if that cannot be. Returns what ends it. */
  subscribe(listener: (message: string) => void, failed: (error: Error) => void): () => void;
}
