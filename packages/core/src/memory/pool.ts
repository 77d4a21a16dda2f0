/**
 * Objects by number, for rows of numbers to refer to.
 *
 * @module
 */

import { Column } from './column.js';

export class Pool<T extends object> {
  /** By number: the object. Of a number that is free: the next free one. */
  readonly #values = new Column<T | number>();
  #made = 0;
  #free = 0;

  get(number: number): T {
    return this.#values.get(number) as T;
  }

  /** Puts another object in the place of the one that has the number. */
  set(number: number, value: T): void {
    this.#values.set(number, value);
  }

  /** Returns the object's number, at least 1. */
  add(value: T): number {
    let number = this.#free;
    if (number === 0) number = ++this.#made;
    else this.#free = this.#values.get(number) as number;
    this.#values.set(number, value);
    return number;
  }

  /** Forgets the object, and gives its number to another. */
  free(number: number): void {
    this.#values.set(number, this.#free);
    this.#free = number;
  }
}
