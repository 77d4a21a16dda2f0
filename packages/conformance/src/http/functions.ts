/**
 * The functions that users give: what they may return, and what becomes of everything else.
 *
 * @module
 */

import { createLimiter } from '@sluice/core';
import { decisionIn, limitHeaders, send, statuses } from './client.js';
import type { AnyOptions, AnyRequest, Start } from './demo.js';

const asked = (request: AnyRequest) => request.headers['x-ask'] as string;

/** What goes wrong in a user's function, by name. */
const ACCIDENTS: Record<string, () => unknown> = {
  throws: () => {
    throw new Error('no database');
  },
  rejects: () => Promise.reject(new Error('no database')),
  'throws nothing': () => {
    throw undefined;
  },
  'rejects with nothing': () => Promise.reject(),
  // What Express takes for "go on with the next route".
  'throws a word': () => {
    throw 'route';
  },
  'rejects with a word': () => Promise.reject('router'),
};

const NO_NUMBERS: Record<string, () => unknown> = {
  undefined: () => undefined,
  null: () => null,
  NaN: () => Number.NaN,
  'a text': () => '10',
  'a negative number': () => -1,
  'a fraction': () => 1.5,
  'minus infinity': () => -Infinity,
  'a BigInt': () => 3n,
  'more than can be counted': () => 2 ** 53,
  'a boolean': () => true,
  'an array': () => [],
  'a promise of undefined': async () => undefined,
  'a promise of NaN': async () => Number.NaN,
  'a promise of a text': async () => '10',
};

/** Options whose function `option` does what the request asks for, and is right if it asks for nothing. */
function treacherous(option: 'limit' | 'cost' | 'key' | 'skip', right: unknown): AnyOptions {
  const others = { infinity: () => Infinity, 'an empty object': () => ({}), 'a number': () => 42 };
  const accidents = { ...ACCIDENTS, ...NO_NUMBERS, ...others };
  return {
    limit: 5,
    window: '1h',
    [option]: (request: AnyRequest) => {
      const name = asked(request);
      return name === undefined ? right : accidents[name as keyof typeof accidents]();
    },
  };
}

export function functions(start: Start): void {
  const untouched = async (options: AnyOptions, accidents: readonly string[], message: RegExp) => {
    const app = await start({ limits: [options] });
    for (const [i, accident] of accidents.entries()) {
      const reply = await send(app, { 'x-ask': accident });
      expect([accident, reply.status]).toEqual([accident, 500]);
      expect(limitHeaders(reply)).toEqual({});
      expect([accident, app.errors.length]).toEqual([accident, i + 1]);
      expect([accident, String((app.errors[i] as Error).message)]).toEqual([
        accident,
        expect.stringMatching(message),
      ]);
      expect(app.errors[i]).toBeInstanceOf(Error);
    }
    expect(app.handled()).toBe(0);
    const reply = await send(app);
    expect(reply.status).toBe(200);
    expect(limitHeaders(reply)).toMatchObject({ 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '4' });
    expect(app.errors).toHaveLength(accidents.length);
  };

  it('judges each request by the limit that is right for it', async () => {
    for (const later of [false, true]) {
      const limit = (request: AnyRequest) => {
        const own = Number(request.headers['x-limit']);
        return later ? Promise.resolve(own) : own;
      };
      const app = await start({ limits: [{ limit, window: '1h' }] });
      const shown = async (own: number) => {
        const { status, headers } = await send(app, { 'x-limit': `${own}` });
        return [status, headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']];
      };
      expect(await shown(3)).toEqual([200, '3', '2']);
      expect(await shown(10)).toEqual([200, '10', '8']);
      expect(await shown(3)).toEqual([200, '3', '0']);
      expect(await shown(3)).toEqual([429, '3', '0']);
      expect(await shown(10)).toEqual([200, '10', '6']);
      expect(await shown(0)).toEqual([429, '0', '0']);
      expect(await shown(Infinity)).toEqual([200, undefined, undefined]);
      expect(await shown(10)).toEqual([200, '10', '5']);
    }
  });

  it('takes the limits of several policies by name', async () => {
    const limit = (request: AnyRequest) => ({ daily: 'x-paid' in request.headers ? 4 : 2 });
    const app = await start({
      limits: [
        {
          policies: [
            { name: 'burst', limit: 3, window: '1h' },
            { name: 'daily', limit: 100, window: '1d' },
          ],
          limit,
        },
      ],
    });
    expect(await statuses(app, 3)).toEqual([200, 200, 429]);
    // Four a day, of which two are used; and three an hour, of which one is left.
    expect(await statuses(app, 2, { 'x-paid': '1' })).toEqual([200, 429]);
  });

  it('takes what the function of a limiter says in place of the limiter’s limit', async () => {
    const limiter = createLimiter({ policies: [{ limit: 100, window: '1h' }] });
    const app = await start({ limits: [{ limiter, limit: async () => 1, key: () => 'k' }] });
    expect(await statuses(app, 2)).toEqual([200, 429]);
    expect(limiter.peek('k')).toMatchObject({ limit: 100, remaining: 99 });
  });

  it('fails, charges nothing and never means "unlimited" when `limit` goes wrong', async () => {
    await untouched(treacherous('limit', 5), Object.keys(ACCIDENTS), /no database|undefined|"rout/);
    const nonsense = [...Object.keys(NO_NUMBERS), 'an empty object'];
    await untouched(treacherous('limit', 5), nonsense, /^Expected `limit` to be .+, got .+\.$/);
  });

  it('takes the cost of a request, a number or a function', async () => {
    const seven = await start({ limits: [{ limit: 10, window: '1h', cost: 3 }] });
    expect((await send(seven)).headers['x-ratelimit-remaining']).toBe('7');
    expect(decisionIn(await send(seven))).toMatchObject({ cost: 3, remaining: 4 });

    for (const later of [false, true]) {
      const cost = (request: AnyRequest) => {
        const own = Number(request.headers['x-cost']);
        return later ? Promise.resolve(own) : own;
      };
      const app = await start({ limits: [{ limit: 10, window: '1h', cost }] });
      const shown = async (own: number) => {
        const { status, headers } = await send(app, { 'x-cost': `${own}` });
        return [status, headers['x-ratelimit-remaining']];
      };
      expect(await shown(4)).toEqual([200, '6']);
      expect(await shown(7)).toEqual([429, '6']);
      expect(await shown(6)).toEqual([200, '0']);
      expect(await shown(0)).toEqual([200, '0']);
      expect(await shown(1)).toEqual([429, '0']);
    }
  });

  it('fails and charges nothing when `cost` goes wrong', async () => {
    await untouched(treacherous('cost', 1), Object.keys(ACCIDENTS), /no database|undefined|"rout/);
    const nonsense = [...Object.keys(NO_NUMBERS), 'infinity', 'an empty object'];
    await untouched(treacherous('cost', 1), nonsense, /^Expected `cost` to be .+, got .+\.$/);
  });

  it('does not limit what is skipped', async () => {
    for (const later of [false, true]) {
      const skip = (request: AnyRequest) => {
        const skipped = 'x-skip' in request.headers;
        return later ? Promise.resolve(skipped) : skipped;
      };
      const app = await start({ limits: [{ limit: 1, window: '1h', skip }] });
      const skipped = await send(app, { 'x-skip': '1' });
      expect(skipped.status).toBe(200);
      expect(limitHeaders(skipped)).toEqual({});
      expect(decisionIn(skipped)).toBeNull();
      expect(await statuses(app, 2)).toEqual([200, 429]);
      expect(await statuses(app, 2, { 'x-skip': '1' })).toEqual([200, 200]);
    }
  });

  it('fails and charges nothing when `skip` goes wrong', async () => {
    await untouched(treacherous('skip', false), Object.keys(ACCIDENTS), /no database|undefined|"rout/);
    // Text is no yes, nor is a number: a header that says `false` would take the limit off.
    await untouched(
      treacherous('skip', false),
      ['a text', 'a number', 'an array'],
      /^Expected `skip` to be .+, got .+\.$/,
    );
  });

  it('fails and charges nothing when `key` goes wrong', async () => {
    await untouched(treacherous('key', 'k'), Object.keys(ACCIDENTS), /no database|undefined|"rout/);
    const nonsense = [
      'NaN',
      'a boolean',
      'a BigInt',
      'an array',
      'a promise of NaN',
      'an empty object',
      'a number',
    ];
    await untouched(treacherous('key', 'k'), nonsense, /^Expected `key` to be .+, got .+\.$/);
  });

  it('lets the handler answer who is denied', async () => {
    const limiter = createLimiter({ name: 'api', policies: [{ limit: 1, window: '1h' }] });
    for (const later of [false, true]) {
      const app = await start({
        limits: [
          {
            limiter,
            key: () => String(later),
            handler: (decision) => {
              const text = `${decision.policy}: ${decision.limit}, ${decision.allowed}, ${decision.remaining}`;
              return later ? Promise.resolve(text) : text;
            },
          },
        ],
      });
      expect((await send(app)).status).toBe(200);
      const reply = await send(app);
      expect(reply.status).toBe(429);
      expect(reply.text).toBe('default: 1, false, 0');
      expect(reply.headers).toMatchObject({
        'cache-control': 'no-store',
        'retry-after': expect.stringMatching(/^\d+$/),
        'x-ratelimit-remaining': '0',
      });
      // Its text is no problem document.
      expect(reply.headers['content-type']).toMatch(/^text\//);
      expect(app.handled()).toBe(1);
      expect(app.errors).toEqual([]);
    }
  });

  it('fails once, and lets nothing through, when the handler goes wrong', async () => {
    for (const [name, accident] of Object.entries(ACCIDENTS)) {
      const handler = accident as () => string;
      const app = await start({ limits: [{ limit: 0, window: '1h', handler }] });
      expect([name, (await send(app)).status]).toEqual([name, 500]);
      expect([name, app.handled(), app.errors.length]).toEqual([name, 0, 1]);
      expect(app.errors[0]).toBeInstanceOf(Error);
    }
  });
}
