// Connections without a network: what the system takes for sockets is many times what a limiter takes, and differs from
// round to round by more.

import { Duplex } from 'node:stream';

const REQUEST = Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n');
const END = '\r\n\r\nok';

/** The server's end of a connection: what is pushed comes from the client, what is written goes to it. */
class Connection extends Duplex {
  remoteAddress = '127.0.0.1';
  #answered;

  /** @param answered - is called with each response. */
  constructor(answered) {
    super();
    this.#answered = answered;
  }

  _read() {}

  _write(chunk, _encoding, done) {
    done();
    this.#answered(chunk.latin1Slice());
  }

  _writev(chunks, done) {
    done();
    this.#answered(Buffer.concat(chunks.map(({ chunk }) => chunk)).latin1Slice());
  }

  // What Node asks of sockets.
  setTimeout = () => this;
  setNoDelay = () => this;
  setKeepAlive = () => this;
}

/**
 * Lets a server answer `count` requests, which come by so many connections with one on its way on each.
 *
 * @param check - is called with the last response on each connection.
 * @throws Error if a response is no 200 with the body `ok`.
 */
export async function serve(server, count, connections, check) {
  let left = count;
  const lane = () =>
    new Promise((resolve, reject) => {
      let text = '';
      const connection = new Connection((response) => {
        text = response;
        if (!text.startsWith('HTTP/1.1 200 ') || !text.endsWith(END))
          reject(new Error(`Expected 200 and ok, got ${text}`));
        else ask();
      });
      function ask() {
        if (left > 0) {
          left -= 1;
          setImmediate(() => connection.push(REQUEST));
          return;
        }
        connection.destroy();
        if (text !== '') check(text);
        resolve();
      }
      server.emit('connection', connection);
      ask();
    });
  await Promise.all(Array.from({ length: connections }, lane));
}
