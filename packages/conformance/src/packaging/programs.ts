/**
 * A program for each way to load the packages: the same text in JavaScript and in TypeScript.
 *
 * @module
 */

/** How a module loads others. */
type Format = 'esm' | 'cjs';

/** Which of its exports is taken of a package. */
type Form = 'named' | 'default';

/** One cell of the matrix. */
export interface Program {
  /** Its extension tells language and format. */
  readonly file: string;
  readonly form: Form;
  readonly text: string;
  /** The lines that it prints, in any order. */
  readonly prints: readonly string[];
}

interface Part {
  /** Absent where there is no one thing that a default could be. */
  readonly hasDefault: boolean;
  /** What is taken from which module. */
  readonly takes: Readonly<Record<string, string>>;
  /** Prints what became of two requests, of which one is too many. */
  readonly body: string;
  readonly prints: readonly string[];
}

/** A server that is closed after the second answer; then nothing is left to keep the process alive. */
const serve = (name: string) => `
  const server = createServer(listener).listen(0, '127.0.0.1', () => {
    const { port } = Object(server.address());
    get({ host: '127.0.0.1', port, agent: false }, (first) => {
      console.log('${name}', first.resume().statusCode);
      get({ host: '127.0.0.1', port, agent: false }, (second) => {
        console.log('${name}', second.resume().statusCode);
        server.close();
      });
    });
  });`;

const parts: readonly Part[] = [
  {
    hasDefault: false,
    takes: {
      '@sluice/core': 'createLimiter, MemoryStore',
      '@sluice/core/http': 'keyOfAddress',
      '@sluice/core/redis': 'RedisStore',
    },
    body: `
  const store = new MemoryStore({ maxKeys: 10 });
  const limiter = createLimiter({ policies: [{ limit: 1, window: '1h' }], store });
  for (let i = 0; i < 2; i++) console.log('core', limiter.consume('a').allowed);
  console.log('core/http', keyOfAddress('::ffff:192.0.2.1'));
  const client = { evalsha: async () => [], eval: async () => [] };
  console.log('core/redis', new RedisStore({ client }).async);`,
    prints: ['core true', 'core false', 'core/http ip:192.0.2.1', 'core/redis true'],
  },
  {
    hasDefault: true,
    takes: { '@sluice/express': 'rateLimit as limitExpress' },
    body: `
  const listener = express();
  listener.use(limitExpress({ limit: 1, window: '1h' }));
  listener.use((request, response) => void response.send(request.rateLimit?.policy));${serve('express')}`,
    prints: ['express 200', 'express 429'],
  },
  {
    hasDefault: true,
    takes: { '@sluice/fastify': 'rateLimit as limitFastify' },
    body: `
  const app = fastify();
  app.register(limitFastify, { limit: 1, window: '1h' });
  app.get('/', (request) => request.rateLimit?.policy);
  app.inject('/', (_error, first) => {
    console.log('fastify', first?.statusCode);
    app.inject('/', (_error, second) => console.log('fastify', second?.statusCode));
  });`,
    prints: ['fastify 200', 'fastify 429'],
  },
  {
    hasDefault: true,
    takes: { '@sluice/koa': 'rateLimit as limitKoa' },
    body: `
  const app = new Koa();
  app.use(limitKoa({ limit: 1, window: '1h' }));
  app.use((context) => void (context.body = context.state.rateLimit?.policy));
  const listener = app.callback();${serve('koa')}`,
    prints: ['koa 200', 'koa 429'],
  },
];

/** The frameworks, loaded as their own documentation says, and Node's HTTP. */
const hosts = { express: 'express', fastify: 'fastify', koa: 'Koa' };

/** Every program. */
export function allPrograms(): Program[] {
  return (['named', 'default'] as const).flatMap((form) => {
    const some = parts.filter(({ hasDefault }) => hasDefault || form === 'named');
    const bodies = some.map(({ body }) => `{${body}\n}\n`).join('');
    const prints = some.flatMap((part) => part.prints);
    return ['mjs', 'cjs', 'mts', 'cts'].map((extension) => ({
      file: `${form}.${extension}`,
      form,
      // TypeScript writes `import` in either format.
      text: loads(some, form, extension === 'cjs' ? 'cjs' : 'esm') + bodies,
      prints,
    }));
  });
}

function loads(some: readonly Part[], form: Form, format: Format): string {
  const named: [string, string][] = [['node:http', 'createServer, get']];
  const byDefault: [string, string][] = Object.entries(hosts);
  for (const [module, names] of some.flatMap(({ takes }) => Object.entries(takes))) {
    if (form === 'named') named.push([module, names]);
    else byDefault.push([module, names.replace(/.* as /, '')]);
  }
  return [
    ...named.map(([module, names]) =>
      format === 'esm'
        ? `import { ${names} } from '${module}';\n`
        : `const { ${names.replace(' as ', ': ')} } = require('${module}');\n`,
    ),
    ...byDefault.map(([module, name]) =>
      format === 'esm'
        ? `import ${name} from '${module}';\n`
        : `const ${name} = require('${module}')${module.startsWith('@sluice/') ? '.default' : ''};\n`,
    ),
  ].join('');
}
