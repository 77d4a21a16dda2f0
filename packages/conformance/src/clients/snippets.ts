/**
 * The clients of docs/clients.md, set up by its snippets as they stand there, on the servers of a test.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromNodeRedis, RedisStore, type RedisStoreOptions } from '@sluice/core/redis';
import * as ioredis6 from 'ioredis';
import * as ioredis5 from 'ioredis5';
import * as iovalkey from 'iovalkey';
import * as redis6 from 'redis';
import * as redis5 from 'redis5';
import { runExample } from '../examples.js';
import { fencesOf } from '../markdown.js';

/** A snippet, and which version of its package it is run with. */
export interface Snippet {
  readonly title: string;
  readonly heading: string;
  readonly modules: Readonly<Record<string, unknown>>;
  /** Changes what the page says in prose that is different for this client. */
  readonly edit?: (snippet: string) => string;
}

/** What a snippet has made. */
export interface OpenClient {
  readonly store: RedisStore;
  close(): void;
}

export const singles: readonly Snippet[] = [
  { title: 'ioredis 6', heading: 'ioredis', modules: { ioredis: ioredis6 } },
  { title: 'ioredis 5', heading: 'ioredis', modules: { ioredis: ioredis5 } },
  { title: 'iovalkey', heading: 'iovalkey', modules: { iovalkey } },
  { title: 'node-redis 6', heading: 'node-redis', modules: { redis: redis6 } },
  { title: 'node-redis 5', heading: 'node-redis', modules: { redis: redis5 } },
];

export const sentinels: readonly Snippet[] = [
  { title: 'ioredis 6 by Sentinel', heading: 'ioredis with Sentinel', modules: { ioredis: ioredis6 } },
  { title: 'ioredis 5 by Sentinel', heading: 'ioredis with Sentinel', modules: { ioredis: ioredis5 } },
  { title: 'iovalkey by Sentinel', heading: 'ioredis with Sentinel', modules: { ioredis: iovalkey } },
];

export const clusters: readonly Snippet[] = [
  { title: 'ioredis 6 Cluster', heading: 'ioredis Cluster', modules: { ioredis: ioredis6 } },
  { title: 'ioredis 5 Cluster', heading: 'ioredis Cluster', modules: { ioredis: ioredis5 } },
  {
    title: 'iovalkey Cluster',
    heading: 'ioredis Cluster',
    modules: { ioredis: iovalkey },
    edit: (snippet) => snippet.replace(/ *enableAutoPipelining: true.*\n/, ''),
  },
  { title: 'node-redis 6 cluster', heading: 'node-redis cluster', modules: { redis: redis6 } },
  { title: 'node-redis 5 cluster', heading: 'node-redis cluster', modules: { redis: redis5 } },
];

const page = readFileSync(join(__dirname, '..', '..', '..', '..', 'docs', 'clients.md'), 'utf8');
let prefixes = 0;

/** For tests of what is decided rather than when: the machine may be busy. */
export const patient = { timeout: '20s' } as const;

/**
 * Runs a snippet with the ports of a test in place of its addresses, and a key prefix of its own.
 *
 * @param ports - the first stands for 10.0.0.1, and so on; if there are fewer, they stand for the rest too.
 * @param options - more for the store.
 */
export async function openSnippet(
  snippet: Snippet,
  ports: readonly number[],
  options: Partial<RedisStoreOptions> = {},
): Promise<OpenClient> {
  prefixes += 1;
  const prefix = `snippet${prefixes}`;
  class PrefixedStore extends RedisStore {
    constructor(given: RedisStoreOptions) {
      super({ ...given, prefix, ...options });
    }
  }
  const modules = {
    ...snippet.modules,
    '@sluice/core/redis': { fromNodeRedis, RedisStore: PrefixedStore },
  };
  const text = withPorts(textOf(snippet), ports);
  const made = await runExample(`${text}\nreturn { client, store };`, modules, { error: () => {} });
  const { client, store } = made as { client: { destroy?(): void; disconnect(): void }; store: RedisStore };
  return { store, close: () => (client.destroy === undefined ? client.disconnect() : client.destroy()) };
}

function textOf({ heading, edit = (text) => text }: Snippet): string {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
  const [fence] = fencesOf(section).filter(({ language }) => language === 'ts');
  if (fence === undefined) throw new Error(`docs/clients.md has no snippet under "${heading}".`);
  return edit(fence.text);
}

function withPorts(text: string, ports: readonly number[]): string {
  const portOf = (host: string) => ports[(Number(host) - 1) % ports.length];
  const local = text
    .replace(/10\.0\.0\.(\d):\d+/g, (_, host) => `127.0.0.1:${portOf(host)}`)
    .replace(/'10\.0\.0\.(\d)', port: \d+/g, (_, host) => `'127.0.0.1', port: ${portOf(host)}`);
  if (local === text || local.includes('10.0.0.')) throw new Error(`Which servers are meant? ${text}`);
  return local;
}
