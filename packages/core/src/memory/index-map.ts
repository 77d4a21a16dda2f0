/**
 * From a key to the slot that holds its state.
 *
 * @module
 */

const SHARDS = 256;

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

/** FNV-1a over the code units. Keys are short; whoever fills one part on purpose only loses what the parts are for. */
function shardOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 16)) & (SHARDS - 1);
}
