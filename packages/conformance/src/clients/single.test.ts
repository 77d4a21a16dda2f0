import { type RedisServer, startRedis } from '../redis-server.js';
import { itRunsOnTheServerAskedFor } from '../server-version.js';
import { openSnippet, patient, sentinels, singles } from './snippets.js';
import { clientSuite } from './suite.js';

let server: RedisServer;
let sentinel: RedisServer;
beforeAll(async () => {
  server = await startRedis();
  sentinel = await startRedis({
    config: `sentinel monitor main 127.0.0.1 ${server.port} 1`,
    args: ['--sentinel'],
  });
});
afterAll(async () => {
  await sentinel.stop();
  await server.stop();
});

itRunsOnTheServerAskedFor('Clients of one server', () => [server.port]);

describe.each(singles)('With the settings of the documentation,', (snippet) => {
  clientSuite({
    title: snippet.title,
    open: () => openSnippet(snippet, [server.port], patient),
    ports: () => [server.port],
  });
});

describe.each(sentinels)('With the settings of the documentation,', (snippet) => {
  clientSuite({
    title: snippet.title,
    open: () => openSnippet(snippet, [sentinel.port], patient),
    ports: () => [server.port],
  });
});
