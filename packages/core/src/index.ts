/**
 * Sluice: rate limits that decide the same in memory and in Redis.
 *
 * @module
 */

export { Audit, type AuditOptions } from './audit/audit.js';
export type { AuditReport, Disagreements, PolicyAudit } from './audit/report.js';
export { type ManualClock, manualClock } from './clock.js';
export { createLimiter } from './create-limiter.js';
export {
  AcquireError,
  ArgumentError,
  type ErrorCode,
  type Outcome,
  StoreError,
  type StoreErrorCode,
} from './errors.js';
export type { OnStoreError } from './ladder.js';
export type { GossipReport } from './layered/gossip-table.js';
export { LayeredStore, type LayeredStoreOptions, type MessageErrorEvent } from './layered/layered-store.js';
export type { LayeredMode, ModeOptions } from './layered/modes.js';
export type { LayeredCounts } from './layered/strict-table.js';
export type { Transport } from './layered/transport.js';
export type {
  AcquireOptions,
  JointCandidateOptions,
  JointLimiterOptions,
  JointUpdateOptions,
  KeyedLimit,
  Keys,
  Limiter,
  LimiterOptions,
  RequestOptions,
  UpdateOptions,
} from './limiter.js';
export { MemoryStore, type MemoryStoreOptions } from './memory/memory-store.js';
export type {
  AlgorithmName,
  Answer,
  BlockedBy,
  BlockOptions,
  Charge,
  Clock,
  Compensation,
  Decision,
  DecisionBlock,
  Duration,
  Eventually,
  FixedWindowPolicy,
  Gate,
  GcraPolicy,
  Kinds,
  LeakyBucketPolicy,
  ParsedBlock,
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
export type { CandidateOptions, CandidateReport } from './watch/candidate.js';
export type {
  CandidateEvent,
  DecidedEvent,
  DegradedEvent,
  EvictedEvent,
  LimiterEvents,
  LimiterListener,
  NearEvent,
  RecoveredEvent,
} from './watch/events.js';
export type { NearOptions } from './watch/near.js';
export type { LimiterReport } from './watch/watched-limiter.js';
