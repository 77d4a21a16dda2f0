/**
 * Which states are charged by reservations, and so stand ahead of now.
 *
 * @module
 */

/** Of each slot and the place of a policy in its ledger, the instant that the state stands at. */
export class Ahead {
  /** How many states are noted, some of which may stand ahead no more: mostly none, and nobody looks further then. */
  size = 0;
  readonly #byPlace: Map<number, number>[] = [];

  /** The instant up to which there are reservations, or were; 0 if there is none. */
  at(slot: number, place: number): number {
    return this.size === 0 ? 0 : (this.#byPlace[place]?.get(slot) ?? 0);
  }

  /** Whether any state of a slot stands ahead of `now`. */
  isAhead(slot: number, now: number): boolean {
    return this.size > 0 && this.#byPlace.some((instants) => (instants.get(slot) ?? 0) > now);
  }

  set(slot: number, place: number, at: number): void {
    this.#byPlace[place] ??= new Map();
    const instants = this.#byPlace[place];
    if (!instants.has(slot)) this.size += 1;
    instants.set(slot, at);
  }

  /** Forgets what does not stand ahead of `now`. */
  pass(slot: number, place: number, now: number): void {
    if (this.size > 0 && this.at(slot, place) <= now) this.#delete(slot, place);
  }

  /** Notes of a slot what another has noted. */
  take(slot: number, from: Ahead): void {
    from.#byPlace.forEach((instants, place) => {
      const at = instants.get(slot);
      if (at !== undefined) this.set(slot, place, at);
    });
  }

  clear(slot: number): void {
    if (this.size === 0) return;
    this.#byPlace.forEach((_, place) => {
      this.#delete(slot, place);
    });
  }

  #delete(slot: number, place: number): void {
    if (this.#byPlace[place]?.delete(slot)) this.size -= 1;
  }
}
