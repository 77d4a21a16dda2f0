// Loads the packages by import and by require, and prints what they know of each other, as JSON.

import { once } from 'node:events';
import { createServer, get } from 'node:http';
import { createRequire } from 'node:module';
import * as imported from '@sluice/core';
import { RedisStore as ImportedStore } from '@sluice/core/redis';
import { rateLimit as importedLimit } from '@sluice/express';
import express from 'express';

const require = createRequire(import.meta.url);
const required = require('@sluice/core');
const { RedisStore: RequiredStore } = require('@sluice/core/redis');
const { rateLimit: requiredLimit } = require('@sluice/express');

const policies = [{ limit: 10, window: '1h' }];
const warnings = [];
process.on('warning', ({ code }) => warnings.push(code));

/** The code of what it throws, if it does. */
function codeOf(work) {
  try {
    work();
  } catch (error) {
    return error.code;
  }
}

function names(store, other) {
  const first = imported.createLimiter({ policies, store });
  const taken = codeOf(() => required.createLimiter({ policies, store: other }));
  first.close();
  return { taken, free: codeOf(() => required.createLimiter({ policies, store: other })) };
}

/** The headers of a response that all this middleware has seen. */
async function headersBehind(...middleware) {
  const app = express();
  for (const one of middleware) app.use(one);
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const headers = { 'x-forwarded-for': '203.0.113.7' };
  const [response] = await once(
    get({ host: '127.0.0.1', port: server.address().port, agent: false, headers }),
    'response',
  );
  response.resume();
  server.close();
  return response.headers;
}

const memory = new required.MemoryStore();
const client = { evalsha: async () => [], eval: async () => [] };
const limiter = imported.createLimiter({ policies });
const shared = await headersBehind(importedLimit({ limiter }), requiredLimit({ limiter }));
const draft = { limit: 5, window: '1h', headers: 'draft-8' };
const both = await headersBehind(
  importedLimit({ ...draft, name: 'one' }),
  requiredLimit({ ...draft, name: 'other' }),
);

console.log(
  JSON.stringify({
    copies: new Set([importedLimit, requiredLimit]).size,
    names: [names(memory, memory), names(new ImportedStore({ client }), new RequiredStore({ client }))],
    remaining: shared['x-ratelimit-remaining'],
    policies: both['ratelimit-policy'],
    warnings,
  }),
);
