/**
 * The other end of the line.
 *
 * @module
 */

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createConnection, type Socket } from 'node:net';
import type { Decision } from '@sluice/core';
import request from 'supertest';
import type { RunningDemo } from './demo.js';

/** A response as the tests look at it. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Sends one request on a connection of its own. */
export async function send(
  app: RunningDemo,
  headers: Readonly<Record<string, string>> = {},
  method: 'get' | 'head' | 'post' | 'options' = 'get',
): Promise<Reply> {
  const reply = await request(app.server)[method]('/').set(headers);
  return { status: reply.status, headers: reply.headers, text: reply.text ?? '' };
}

/** Sends `times` requests, one after the other, and returns their statuses. */
export async function statuses(
  app: RunningDemo,
  times: number,
  headers: Readonly<Record<string, string>> = {},
): Promise<number[]> {
  const all: number[] = [];
  for (let i = 0; i < times; i++) all.push((await send(app, headers)).status);
  return all;
}

/** The decision that the demo found on its request. */
export function decisionIn(reply: Reply): Decision | null {
  return JSON.parse(reply.text).decision;
}

/** The headers that tell of limits, `Retry-After` among them. */
export function limitHeaders(reply: Reply): Record<string, string> {
  return Object.fromEntries(
    Object.entries(reply.headers).filter(([name]) => /ratelimit|^retry-after$/.test(name)),
  );
}

/** Sends all requests in one write on one connection, and returns the statuses in the order of the answers. */
export async function pipeline(app: RunningDemo, times: number): Promise<number[]> {
  const socket = await connect(app);
  const one = 'GET / HTTP/1.1\r\nHost: localhost\r\n';
  socket.write(`${`${one}\r\n`.repeat(times - 1)}${one}Connection: close\r\n\r\n`);
  let text = '';
  for await (const chunk of socket) text += chunk;
  return Array.from(text.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status]) => Number(status));
}

/** Sends one request whose headers are these lines, as they stand, and returns its status. */
export async function sendLines(app: RunningDemo, lines: readonly string[]): Promise<number> {
  const socket = await connect(app);
  socket.write(['GET / HTTP/1.1', 'Host: localhost', 'Connection: close', ...lines, '', ''].join('\r\n'));
  let text = '';
  for await (const chunk of socket) text += chunk;
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1]);
}

/** Returns an open connection. */
export async function connect(app: RunningDemo): Promise<Socket> {
  const { port } = app.server.address() as AddressInfo;
  const socket = createConnection({ host: '127.0.0.1', port });
  await once(socket, 'connect');
  return socket;
}

/** Sends so many requests on one connection, and returns what leaves before they are answered. */
export async function come(app: RunningDemo, times = 1): Promise<() => Promise<void>> {
  const accepted = once(app.server, 'connection');
  const client = await connect(app);
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(times));
  const [socket] = (await accepted) as [Socket];
  return async () => {
    // A reset is an error as well.
    const gone = new Promise((resolve) => socket.once('close', resolve));
    client.destroy();
    await gone;
    await settle();
  };
}

/** Lets everything run that is ready to run. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}
