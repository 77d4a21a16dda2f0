/**
 * What the adapters share: from a request to a verdict. For those who write an adapter of their own.
 *
 * @module
 */

export { keyOfAddress } from './address.js';
export type { Awaitable } from './awaitable.js';
export type { BodyOption, DenialBody } from './body.js';
export { byHeader, type WithHeaders } from './by-header.js';
export { type ClientIpOptions, clientIp, type WithPeer } from './client-ip.js';
export type { CountsFunction } from './count-only.js';
export type { Line, RawResponse } from './ending.js';
export { type Exposing, exposeHeaders, type MaybeCrossOrigin } from './expose.js';
export { createGuard, type Guard, type Host, type Verdict } from './guard.js';
export {
  formatHeaders,
  type Header,
  type HeaderFormat,
  type HeaderItem,
  parseFormats,
  type ResetFormat,
} from './headers.js';
export { type LimitUpgrade, type LimitUpgradeOptions, limitUpgrade } from './limit-upgrade.js';
export type {
  CommonOptions,
  KeyFunction,
  LimitFunction,
  LonePolicy,
  RateLimitOptions,
  ReadyLimiter,
  RequestLimit,
  SeveralKeys,
  SeveralPolicies,
} from './options.js';
export { RateLimitError } from './rate-limit-error.js';
export type { Denial } from './refusal.js';
export { createRouteGuards, type Route, type RouteGuards } from './routes.js';
export { setHeaders } from './set-headers.js';
export { lastDecision, placeOn } from './trail.js';
export {
  listsHops,
  type Probe,
  type Trust,
  type Trusted,
  trustedBy,
  trustsByProbe,
  trustsEveryone,
} from './trust.js';
