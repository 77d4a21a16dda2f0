/**
 * From a key to the slot that holds its state.
 *
 * @module
 */

const SHARDS = 32;

/**
 * A map in many small parts: a `Map` that grows rehashes all of itself at once, which stops the process for tens of
 * milliseconds at a million keys.
 */
export class IndexMap {
  readonly #shards: (Map<string, number> | undefined)[] = new Array(SHARDS).fill(undefined);

  /** The slot of `key`, 0 if it has none. */
  get(key: string): number {
    return this.#shards[shardOf(key)]?.get(key) ?? 0;
  }

  set(key: string, slot: number): void {
    const shard = shardOf(key);
    let map = this.#shards[shard];
    if (map === undefined) map = this.#shards[shard] = new Map();
    map.set(key, slot);
  }

  delete(key: string): void {
    const shard = shardOf(key);
    const map = this.#shards[shard];
    if (map === undefined) return;
    map.delete(key);
    if (map.size === 0) this.#shards[shard] = undefined;
  }
}

/**
 * Some of a key's characters, from both its ends and its middle. Whoever fills one part on purpose only loses what the
 * parts are for.
 */
function shardOf(key: string): number {
  const { length } = key;
  if (length === 0) return 0;
  const middle = length >> 1;
  const hash =
    key.charCodeAt(length - 1) +
    7 * key.charCodeAt(length >> 2) +
    11 * key.charCodeAt(middle) +
    13 * key.charCodeAt((middle + length - 1) >> 1);
  return (hash ^ (hash >> 5)) & (SHARDS - 1);
}
