/**
 * What an audit tells.
 *
 * @module
 */

/** How often a policy and the exact log disagreed. */
export interface Disagreements {
  /** Requests that the policy allows and the exact log denies. */
  readonly falseAllows: number;
  /** Requests that the policy denies and the exact log allows. */
  readonly falseDenies: number;
}

/** How one policy did beside the exact log of the same limit and window. */
export interface PolicyAudit {
  /**
   * The requests that were for this policy to decide: of sampled keys, of a cost above 0, with a finite limit, and denied
   * by no other policy. All counts below are out of these.
   */
  readonly decisions: number;
  /** How many of them the exact log denies. The policy itself denied these, less the false allows, plus the false denies. */
  readonly exactDenies: number;
  /** Each counts what it admitted itself: what the limiter did, beside what an exact one would have done in its place. */
  readonly independent: Disagreements;
  /**
   * Both judge every request as if all before it had been counted, so that a wrong decision does not lead to more of them:
   * how good the estimate is.
   */
  readonly sameHistory: Disagreements;
  /** The most that was admitted in any window of the policy's length, over the limit; 0 if nothing was. Exact ones stay at 1. */
  readonly worstBurst: number;
  /** How many sampled keys were judged; one that is silent for two windows is forgotten, and counts anew when it is back. */
  readonly keys: number;
  /**
   * Of the decisions of sampled keys, those whose `remaining` does not follow from what was observed before: something
   * else changed the state of the key. Where these are many, `independent` tells little.
   */
  readonly unexplained: number;
}

/** What an {@link Audit} has found since it began. */
export interface AuditReport {
  /** The share of keys that is looked at. */
  readonly sample: number;
  /** How many sampled keys it remembers now. */
  readonly heldKeys: number;
  /** How many sampled keys were given up too early, for want of room: they begin anew, and count as `unexplained` then. */
  readonly evictions: number;
  /** How many decisions of sampled keys were made without the store, and so not looked at. */
  readonly degraded: number;
  /** Each policy that estimates, by name. */
  readonly policies: Readonly<Record<string, PolicyAudit>>;
}
