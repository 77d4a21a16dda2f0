// Requests over connections that stay, written and read by hand: a client library would take more time than the server.

import { once } from 'node:events';
import { connect } from 'node:net';

const REQUEST = Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n');
const BODY = '\r\n\r\nok';

/**
 * Sends `count` requests to a server on this machine, over so many connections with one request on its way on each.
 *
 * @param check - is called with the head of the last response on each connection.
 * @throws Error if a response is no 200 with the body `ok`.
 */
export async function send(port, count, connections, check) {
  let left = count;
  async function lane() {
    const socket = connect(port, '127.0.0.1');
    socket.setNoDelay(true);
    await once(socket, 'connect');
    try {
      let text = '';
      while (left > 0) {
        left -= 1;
        text = await ask(socket);
      }
      if (text !== '') check(text);
    } finally {
      socket.destroy();
    }
  }
  await Promise.all(Array.from({ length: connections }, lane));
}

function ask(socket) {
  return new Promise((resolve, reject) => {
    let text = '';
    const stop = (settle, value) => {
      socket.off('data', read).off('close', closed);
      settle(value);
    };
    const closed = () => stop(reject, new Error('The server closed the connection.'));
    const read = (chunk) => {
      text += chunk.toString('latin1');
      if (!text.endsWith(BODY)) return;
      if (text.startsWith('HTTP/1.1 200 ')) stop(resolve, text);
      else stop(reject, new Error(`Expected 200, got ${text.slice(0, 40)}`));
    };
    socket.on('data', read).on('close', closed);
    socket.write(REQUEST);
  });
}
