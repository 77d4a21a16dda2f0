/**
 * Values by key, in the order of their last use.
 *
 * A `Map` alone keeps an order too, but what leaves at its front leaves holes there, and each look for the oldest walks
 * over all of them.
 *
 * @module
 */

interface Link<T> {
  readonly key: string;
  readonly value: T;
  older: Link<T> | undefined;
  newer: Link<T> | undefined;
}

export class Recent<T> {
  readonly #links = new Map<string, Link<T>>();
  #oldest: Link<T> | undefined;
  #newest: Link<T> | undefined;

  get size(): number {
    return this.#links.size;
  }

  /** The key that was not used for longest. */
  get oldest(): readonly [key: string, value: T] | undefined {
    return this.#oldest && [this.#oldest.key, this.#oldest.value];
  }

  /** The value of `key`, which is used by that. */
  use(key: string): T | undefined {
    const link = this.#links.get(key);
    if (link !== undefined && link !== this.#newest) {
      this.#unlink(link);
      this.#append(link);
    }
    return link?.value;
  }

  /** Adds a key that is new. */
  add(key: string, value: T): void {
    const link = { key, value, older: undefined, newer: undefined };
    this.#links.set(key, link);
    this.#append(link);
  }

  /** Forgets a key; returns its value. */
  delete(key: string): T | undefined {
    const link = this.#links.get(key);
    if (link === undefined) return undefined;
    this.#links.delete(key);
    this.#unlink(link);
    return link.value;
  }

  #append(link: Link<T>): void {
    link.older = this.#newest;
    link.newer = undefined;
    if (this.#newest === undefined) this.#oldest = link;
    else this.#newest.newer = link;
    this.#newest = link;
  }

  #unlink({ older, newer }: Link<T>): void {
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
  }
}
