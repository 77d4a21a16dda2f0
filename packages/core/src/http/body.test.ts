import { runInNewContext } from 'node:vm';
import type { Decision } from '../index.js';
import { contentFinder } from './body.js';

const find = (body: unknown, type?: unknown) =>
  contentFinder(body as object, type)?.(undefined, {} as Decision);

const refused = (code: string) => expect.objectContaining({ code });

describe('A body', () => {
  it('is sent as JSON if it is an object that has something to say, or an empty one', () => {
    class Note {
      readonly slow = true;
    }
    class Said {
      toJSON() {
        return { slow: 'down' };
      }
    }
    for (const [body, json] of [
      [{}, '{}'],
      [Object.create(null), '{}'],
      [runInNewContext('({})'), '{}'],
      [[], '[]'],
      [new Note(), '{"slow":true}'],
      [new Said(), '{"slow":"down"}'],
      // biome-ignore lint/suspicious/noThenProperty: a word, and no function, so nobody waits for it.
      [{ then: 'later' }, '{"then":"later"}'],
    ]) {
      expect(find(body)).toEqual({ type: 'application/json', body: json });
    }
  });

  it('is sent as its bytes if it is a buffer of them', () => {
    const { buffer } = new Uint8Array([1, 2, 255]);
    const shared = new SharedArrayBuffer(3);
    new Uint8Array(shared).set([1, 2, 255]);
    for (const body of [
      buffer,
      shared,
      new DataView(buffer),
      runInNewContext('new Uint8Array([1, 2, 255]).buffer'),
    ]) {
      expect(find(body)).toEqual({ type: 'application/octet-stream', body: Buffer.from([1, 2, 255]) });
    }
  });

  it('is refused, also as what a function returns, if JSON would say nothing of what it holds', () => {
    for (const body of [
      // biome-ignore lint/suspicious/noThenProperty: it is what waits are told by.
      { slow: true, then: () => {} },
      new Map([['slow', 1]]),
      new Set(['slow']),
      new Blob(['slow']),
      new URLSearchParams('slow=1'),
      new Error('slow'),
      runInNewContext('new Map([["slow", 1]])'),
    ]) {
      expect(() => find(body)).toThrow(refused('ERR_SLUICE_OPTION'));
      if (!('then' in body)) expect(() => find(() => body)).toThrow(refused('ERR_SLUICE_ARGUMENT'));
    }
    expect(() => find(Promise.resolve('slow'))).toThrow(
      'Expected `body` to be text, bytes or an object that JSON can hold, or a function, got ',
    );
  });

  it('may be yet to come where a function returns it', async () => {
    expect(await find(async () => 'slow')).toEqual({ type: 'text/plain; charset=utf-8', body: 'slow' });
  });
});

describe('The media type of a body', () => {
  it.each(['text/html', 'text/html;charset=utf-8', 'text/html ; charset="utf-8"; q=";"'])(
    'may be %s',
    (type) => {
      expect(find('slow', type)).toEqual({ type, body: 'slow' });
    },
  );

  it.each([
    'text/html;',
    'text/html; ',
    'text/html;;',
    'text/html; charset=utf-8;',
    'text',
    '/html',
    'text/html;\n',
  ])('is refused as %j', (type) => {
    expect(() => find('slow', type)).toThrow('Expected `contentType` to be a media type, got ');
  });
});
