/**
 * What Sluice needs of a Redis client.
 *
 * @module
 */

/**
 * The two commands that a {@link RedisStore} sends. Clients of ioredis (single, Sentinel, Cluster) and iovalkey have
 * them as they are.
 *
 * The first `keys` of `rest` are keys; a cluster client sends the command to their node.
 */
export interface RedisClient {
  /** EVALSHA: runs a script that the server knows by its SHA-1. */
  evalsha(sha: string, keys: number, ...rest: (string | Buffer)[]): Promise<unknown>;
  /** EVAL: runs a script, which the server then knows. */
  eval(script: string, keys: number, ...rest: (string | Buffer)[]): Promise<unknown>;
}
