// A server of one framework, without a network: bare, or with a limit that all requests fit in. All limits are in memory,
// with the headers that each sends by itself, by the address of the client.

import { createServer } from 'node:http';
import fastifyLimit from '@fastify/rate-limit';
import express from 'express';
import { rateLimit as expressLimit } from 'express-rate-limit';
import Fastify from 'fastify';
import fp from 'fastify-plugin';
import Koa from 'koa';
import koaLimit from 'koa-ratelimit';
import { createLimiter } from '../../packages/core/dist/index.mjs';
import { rateLimit as sluiceExpress } from '../../packages/express/dist/index.mjs';
import { rateLimit as sluiceFastify } from '../../packages/fastify/dist/index.mjs';
import { rateLimit as sluiceKoa } from '../../packages/koa/dist/index.mjs';
import { serve } from '../harness/connections.mjs';

const LIMIT = 1_000_000_000;
const WINDOW_MS = 60_000;
const CONNECTIONS = 16;
const sluice = { limit: LIMIT, window: WINDOW_MS };

/**
 * A full collection while no request is alive takes the hidden classes of requests with it, and all code made for them: a
 * bare Fastify takes three times as long after it. No server at work has one.
 */
export const collectsFirst = false;

/** What every limiter does at least: it asks for the address, and sets three headers. */
const LEAST = [
  ['X-RateLimit-Limit', String(LIMIT)],
  ['X-RateLimit-Remaining', String(LIMIT - 1)],
  ['X-RateLimit-Reset', '1796089801'],
];
let asked = 0;

const leastHeaders = (ip) => {
  asked += ip.length;
  return LEAST;
};

/** Asks a limiter of Sluice's core, and knows of nothing else in HTTP. */
const deciding = () => {
  const limiter = createLimiter({ policies: [sluice] });
  return (ip) => {
    const { limit, remaining, resetMs } = limiter.consume(ip);
    return [
      ['X-RateLimit-Limit', String(limit)],
      ['X-RateLimit-Remaining', String(remaining)],
      ['X-RateLimit-Reset', String(Math.ceil((Date.now() + resetMs) / 1000))],
    ];
  };
};

/** Whether a request is to be judged: it is no preflight, its response has not begun, and nobody has judged it before. */
const JUDGED = Symbol('judged');
function isNew(request, response) {
  if (request.method === 'OPTIONS' || response.headersSent) return false;
  const place = request.rawHeaders;
  if (place[JUDGED] !== undefined) return false;
  place[JUDGED] = true;
  return true;
}
const always = () => true;

const expressByHand = (headersFor, wants) => (request, response, next) => {
  if (wants(request, response)) {
    for (const [name, value] of headersFor(request.ip)) response.setHeader(name, value);
  }
  next();
};

const koaByHand = (headersFor, wants) => async (context, next) => {
  if (wants(context.req, context.res)) {
    for (const [name, value] of headersFor(context.ip)) context.set(name, value);
  }
  await next();
};

const fastifyByHand = (headersFor, wants) =>
  fp(async (instance) => {
    instance.addHook('onRequest', (request, reply, done) => {
      if (wants(request.raw, reply.raw)) {
        for (const [name, value] of headersFor(request.ip)) reply.header(name, value);
      }
      done();
    });
  });

function expressWith(...middleware) {
  const app = express();
  for (const each of middleware) app.use(each);
  app.get('/', (_, response) => void response.type('text').send('ok'));
  return app;
}

function koaWith(...middleware) {
  const app = new Koa();
  for (const each of middleware) app.use(each);
  app.use((context) => {
    context.body = 'ok';
  });
  return app.callback();
}

async function fastifyWith(plugin, options) {
  const app = Fastify();
  if (plugin !== undefined) await app.register(plugin, options);
  app.get('/', (_, reply) => reply.type('text/plain').send('ok'));
  await app.ready();
  return app.routing;
}

const contenders = {
  Express: () => expressWith(),
  'Express, three headers by hand': () => expressWith(expressByHand(leastHeaders, always)),
  'Express, a limiter by hand': () => expressWith(expressByHand(deciding(), isNew)),
  'Express, sluice': () => expressWith(sluiceExpress(sluice)),
  'Express, express-rate-limit': () => expressWith(expressLimit({ limit: LIMIT, windowMs: WINDOW_MS })),
  Fastify: () => fastifyWith(),
  'Fastify, three headers by hand': () => fastifyWith(fastifyByHand(leastHeaders, always)),
  'Fastify, a limiter by hand': () => fastifyWith(fastifyByHand(deciding(), isNew)),
  'Fastify, sluice': () => fastifyWith(sluiceFastify, sluice),
  'Fastify, @fastify/rate-limit': () => fastifyWith(fastifyLimit, { max: LIMIT, timeWindow: WINDOW_MS }),
  Koa: () => koaWith(),
  'Koa, three headers by hand': () => koaWith(koaByHand(leastHeaders, always)),
  'Koa, a limiter by hand': () => koaWith(koaByHand(deciding(), isNew)),
  'Koa, sluice': () => koaWith(sluiceKoa(sluice)),
  'Koa, koa-ratelimit': () =>
    koaWith(
      koaLimit({ driver: 'memory', db: new Map(), max: LIMIT, duration: WINDOW_MS, id: ({ ip }) => ip }),
    ),
};

export async function open(name) {
  const server = createServer(await contenders[name]());
  return {
    asked: () => asked,
    serve: (count) => serve(server, count, CONNECTIONS, (response) => checkHead(name, response)),
  };
}

/** Nobody is measured who does nothing. */
function checkHead(name, response) {
  const limited = /^x-ratelimit-remaining: \d+/im.test(response);
  if (limited !== name.includes(',')) throw new Error(`${name}: unexpected headers: ${response}`);
}
