import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { isComplete, isOver, type RawResponse, whenOver } from './ending.js';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('The end of a response without a connection', () => {
  /** As what stands in for a response on AWS Lambda and in tests: it is never said to be ended. */
  const open = () =>
    Object.assign(new EventEmitter(), {
      destroyed: false,
      writableEnded: false,
      writableFinished: false,
      socket: {},
    });
  const raw = (response: EventEmitter) => response as unknown as RawResponse;

  it('is told of by its finish alone, and finds it complete', async () => {
    const response = open();
    const ends: boolean[] = [];
    whenOver(raw(response), () => ends.push(isComplete(raw(response))));
    response.emit('finish');
    await turn();
    expect(ends).toEqual([true]);
    expect(isOver(raw(response))).toBe(true);
    // Who asks later is told at once, and a late end is no second one.
    whenOver(raw(response), () => ends.push(isComplete(raw(response))));
    response.emit('close');
    response.emit('finish');
    await turn();
    expect(ends).toEqual([true, true]);
  });

  it('is its close where that comes, and is told of in the order of those who listen to it', async () => {
    const response = open();
    const told: string[] = [];
    response.once('close', () => told.push('other'));
    whenOver(raw(response), () => told.push(`over, ${isComplete(raw(response))}`));
    response.emit('finish');
    process.nextTick(() => response.emit('close'));
    await turn();
    await turn();
    // It was never said to be ended, and the close is what counts.
    expect(told).toEqual(['other', 'over, false']);
  });

  it('is not told to those who let go', async () => {
    const response = open();
    let told = 0;
    whenOver(raw(response), () => {
      told += 1;
    })();
    response.emit('finish');
    await turn();
    expect(told).toBe(0);
  });
});

describe('The end of a response behind another on one connection', () => {
  /** Sends requests in one write to a server that answers as said, and returns what it saw and what ends the line. */
  async function pipeline(
    requests: readonly string[],
    arrived: (request: IncomingMessage, response: ServerResponse) => unknown,
  ) {
    const paths: string[] = [];
    let all = () => {};
    const reached = new Promise<void>((resolve) => {
      all = resolve;
    });
    const server = createServer(async (request, response) => {
      await arrived(request, response);
      if (paths.push(request.url ?? '') === requests.length) all();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const accepted = once(server, 'connection');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1').resume();
    client.write(requests.join(''));
    const [[connection]] = await Promise.all([accepted, reached]);
    const leave = async () => {
      const gone = new Promise((resolve) => connection.once('close', resolve));
      client.destroy();
      await gone;
      await turn();
      server.close();
    };
    return { client, connection, leave };
  }

  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  const post = (path: string) => `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello`;

  it('is when its client leaves, its request read or not, and never complete', async () => {
    const ends: Record<string, boolean> = {};
    const { leave } = await pipeline(
      [get('/first'), get('/open'), post('/unread'), post('/read'), get('/ended')],
      async (request, response) => {
        const { url = '' } = request;
        if (url === '/read') {
          await once(request.resume(), 'close');
          await turn();
        }
        whenOver(response, () => {
          if (url in ends) throw new Error(`${url} ends twice.`);
          ends[url] = isComplete(response);
        });
        if (url === '/ended') response.end('It does not get out.');
      },
    );
    expect(ends).toEqual({});
    await leave();
    expect(ends).toEqual({
      '/first': false,
      '/open': false,
      '/unread': false,
      '/read': false,
      '/ended': false,
    });
  });

  it('is when it was sent, however long the connection goes on', async () => {
    const ends: [string | undefined, boolean][] = [];
    const responses: ServerResponse[] = [];
    let before = 0;
    const { client, connection, leave } = await pipeline(
      Array.from({ length: 12 }, (_, i) => get(`/${i}`)),
      (request, response) => {
        if (request.url === '/0') before = request.socket.listenerCount('close');
        whenOver(response, () => ends.push([request.url, isComplete(response)]));
        responses.push(response);
      },
    );
    // One for all of them, or Node warns of a leak.
    expect(connection.listenerCount('close')).toBe(before + 1);
    let text = '';
    client.on('data', (chunk) => {
      text += chunk;
    });
    for (const response of responses) response.end('ok');
    while (text.split('HTTP/1.1 200').length <= 12) await turn();
    await turn();
    const all = Array.from({ length: 12 }, (_, i) => [`/${i}`, true]);
    expect(ends).toEqual(all);
    await leave();
    expect(ends).toEqual(all);
  });
});
