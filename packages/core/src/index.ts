/**
 * Sluice: rate limits that decide the same in memory and in Redis.
 *
 * @module
 */

export { type ManualClock, manualClock } from './clock.js';
export { ArgumentError, type ErrorCode, type Outcome, StoreError, type StoreErrorCode } from './errors.js';
export type { OnStoreError } from './ladder.js';
export { createLimiter, type Limiter, type LimiterOptions, type RequestOptions } from './limiter.js';
export { MemoryStore, type MemoryStoreOptions } from './memory/memory-store.js';
export type {
  AlgorithmName,
  Answer,
  Charge,
  Clock,
  Decision,
  Duration,
  Eventually,
  FixedWindowPolicy,
  Gate,
  GcraPolicy,
  LeakyBucketPolicy,
  ParsedPolicy,
  Plan,
  Policy,
  PolicyBase,
  PolicyDecision,
  SlidingWindowCounterPolicy,
  SlidingWindowLogPolicy,
  Store,
  Table,
  Term,
  TokenBucketPolicy,
} from './types.js';
