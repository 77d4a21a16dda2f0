import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import { connect as connect2, createServer as createServer2 } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { type Exposing, exposeHeaders } from './expose.js';

const EXPOSE = 'access-control-expose-headers';
const headers = [
  ['X-RateLimit-Limit', '5'],
  ['Cache-Control', 'no-store'],
  ['Retry-After', '8'],
] as const;

/** A response as both versions of HTTP have it. */
interface Response extends Exposing {
  statusCode: number;
  end(text?: string): unknown;
}

type Answer = (response: Response) => void;

/** Answers that write their heads in different ways; all allow every origin, and have all of `headers`. */
const ways: Record<string, Answer> = {
  'by itself': (response) => {
    response.setHeader('Access-Control-Allow-Origin', '*');
    response.end('hello');
  },
  'with a status': (response) => {
    response.setHeader('Access-Control-Allow-Origin', '*');
    response.writeHead(200);
    response.end();
  },
  'with headers': (response) => {
    response.writeHead(200, { 'access-control-allow-origin': '*', 'X-Total': '5' });
    response.end();
  },
  'with names and values in turn': (response) => {
    response.writeHead(200, ['Access-Control-Allow-Origin', '*', 'X-Total', '5']);
    response.end();
  },
  'with a message and headers': (response) => {
    response.writeHead(200, 'Fine', { 'Access-Control-Allow-Origin': '*' });
    response.end();
  },
  'through another who waits for it': (response) => {
    const { writeHead } = response;
    response.writeHead = function write(...args: unknown[]) {
      response.setHeader('Access-Control-Allow-Origin', '*');
      return writeHead.apply(this, args);
    };
    response.end();
  },
};

/** An HTTP/1 server, what a client of another origin gets, and the same over HTTP/2. */
const versions: Record<string, (answer: Answer, origin?: string) => Promise<Record<string, unknown>>> = {
  'HTTP/1': async (answer, origin = 'https://shop.example') => {
    const server: Server = createServer((request, response) => respond(request, response, answer));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const request = get({ host: '127.0.0.1', port, headers: origin === '' ? {} : { origin }, agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    await once(response.resume(), 'end');
    server.close();
    return response.headers;
  },
  'HTTP/2': async (answer, origin = 'https://shop.example') => {
    const server = createServer2((request, response) =>
      respond(request, response as unknown as Response, answer),
    );
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const session = connect2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const stream = session.request({ ':path': '/', ...(origin === '' ? {} : { origin }) });
    const [received] = await once(stream, 'response');
    await once(stream.resume(), 'end');
    session.close();
    server.close();
    return received;
  },
};

function respond(request: { headers: IncomingMessage['headers'] }, response: Response, answer: Answer) {
  for (const [name, value] of headers) response.setHeader(name, value);
  exposeHeaders(request, response, headers);
  answer(response);
}

describe.each(Object.entries(versions))('exposeHeaders over %s', (_name, ask) => {
  it.each(Object.entries(ways))('names what the head is written with %s', async (_way, answer) => {
    expect((await ask(answer))[EXPOSE]).toBe('X-RateLimit-Limit, Retry-After');
  });

  it('appends to a list, wherever it was set, and keeps the other headers', async () => {
    const early = await ask((response) => {
      response.setHeader('Access-Control-Allow-Origin', '*');
      response.setHeader('Access-Control-Expose-Headers', 'X-Total,retry-after');
      response.end();
    });
    expect(early[EXPOSE]).toBe('X-Total,retry-after, X-RateLimit-Limit');
    const late = await ask((response) => {
      response.setHeader('Access-Control-Expose-Headers', 'X-Lost');
      response.writeHead(201, {
        'access-control-allow-origin': '*',
        'access-control-expose-headers': 'X-Total',
        'X-Total': '5',
      });
      response.end();
    });
    expect(late[EXPOSE]).toBe('X-Total, X-RateLimit-Limit, Retry-After');
    expect(late).toMatchObject({ 'x-total': '5', 'access-control-allow-origin': '*', 'retry-after': '8' });
    const inTurn = await ask((response) => {
      response.setHeader('Access-Control-Expose-Headers', 'X-Lost');
      response.writeHead(201, [
        'access-control-allow-origin',
        '*',
        'access-control-expose-headers',
        'X-Total',
        'X-Total',
        '5',
      ]);
      response.end();
    });
    expect(inTurn[EXPOSE]).toBe('X-Total, X-RateLimit-Limit, Retry-After');
    expect(inTurn).toMatchObject({ 'x-total': '5', 'access-control-allow-origin': '*', 'retry-after': '8' });
  });

  it('stays out of a response that lost its headers, allows no other origin or goes to the same one', async () => {
    const allow: Answer = ways['by itself'];
    expect(await ask((response) => response.end())).not.toHaveProperty(EXPOSE);
    expect(await ask(allow, '')).not.toHaveProperty(EXPOSE);
    const lost = await ask((response) => {
      for (const [name] of headers)
        (response as unknown as { removeHeader(name: string): void }).removeHeader(name);
      allow(response);
    });
    expect(lost).not.toHaveProperty(EXPOSE);
  });
});

it('exposeHeaders reads pairs of names and values, which HTTP/2 takes as well', async () => {
  const received = await versions['HTTP/2']((response) => {
    response.writeHead(200, [
      ['Access-Control-Allow-Origin', '*'],
      ['Access-Control-Expose-Headers', 'X-Total'],
    ]);
    response.end();
  });
  expect(received[EXPOSE]).toBe('X-Total, X-RateLimit-Limit, Retry-After');
});

it('exposeHeaders leaves the error of names that are none to Node', async () => {
  const codes: unknown[] = [];
  await versions['HTTP/1']((response) => {
    for (const names of [[5, '*'], ['X-Total']]) {
      try {
        response.writeHead(200, names);
      } catch (error) {
        codes.push((error as { code: string }).code);
      }
    }
    response.end();
  });
  // Versions of Node differ in the rest.
  expect(codes).toEqual(Array(2).fill(expect.stringMatching(/^ERR_INVALID_/)));
});

it('exposeHeaders leaves the error of a head that is written twice to Node', async () => {
  let thrown: unknown;
  await versions['HTTP/1']((response) => {
    ways['with headers'](response);
    try {
      response.writeHead(200, { 'access-control-allow-origin': '*' });
    } catch (error) {
      thrown = error;
    }
  });
  expect(thrown).toMatchObject({ code: 'ERR_HTTP_HEADERS_SENT' });
});
