/**
 * What scripts of other origins may read, next to the frameworks' own CORS middleware.
 *
 * @module
 */

import { send } from './client.js';
import type { AnyOptions, Start } from './demo.js';

const EXPOSE = 'access-control-expose-headers';
const QUOTA = 'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset';

export function origins(start: Start): void {
  const hour: AnyOptions = { limit: 2, window: '1h' };
  const foreign = { origin: 'https://shop.example' };
  /** With a space behind each comma: some middleware write none. */
  const spaced = (value: string | undefined) => value?.replace(/, */g, ', ');

  it('exposes all that it sends and no more, wherever the CORS middleware stands', async () => {
    for (const place of ['before', 'after'] as const) {
      const app = await start({ limits: [hour], cors: { place } });
      const reply = await send(app, foreign);
      expect(reply.headers).toHaveProperty('access-control-allow-origin');
      expect([place, reply.headers[EXPOSE]]).toEqual([place, QUOTA]);
    }
  });

  it('appends to what the application exposes, before the limit or after it, each name once', async () => {
    const exposed = ['X-Total', 'x-ratelimit-limit'];
    for (const place of ['before', 'after'] as const) {
      const app = await start({ limits: [hour], cors: { place, exposed } });
      const told = spaced((await send(app, foreign)).headers[EXPOSE]);
      expect([place, told]).toEqual([
        place,
        'X-Total, x-ratelimit-limit, X-RateLimit-Remaining, X-RateLimit-Reset',
      ]);
    }
  });

  it('exposes the wait of a denied request', async () => {
    const cors = { place: 'before', exposed: ['X-Total'] } as const;
    for (const own of [{}, { throw: true }, { body: 'slow' }, { handler: () => 'slow' }]) {
      const app = await start({ limits: [{ ...hour, limit: 1, ...own }], cors, plainErrors: true });
      await send(app, foreign);
      const reply = await send(app, foreign);
      expect([own, reply.status]).toEqual([own, 429]);
      expect([own, spaced(reply.headers[EXPOSE])]).toEqual([own, `X-Total, ${QUOTA}, Retry-After`]);
    }
  });

  it('exposes on the answer to an error what is still there', async () => {
    for (const plainErrors of [false, true]) {
      const app = await start({
        limits: [hour],
        cors: { place: 'before', exposed: ['X-Total'] },
        plainErrors,
      });
      const reply = await send(app, { ...foreign, 'x-fail': '1' });
      expect(reply.status).toBe(500);
      expect(spaced(reply.headers[EXPOSE])).toBe(`X-Total, ${QUOTA}`);
    }
  });

  it('exposes each field of two limiters once', async () => {
    const limits: AnyOptions[] = [{ ...hour, headers: ['legacy', 'draft-8'] }, hour];
    const app = await start({ limits, cors: { place: 'before' } });
    const told = (await send(app, foreign)).headers[EXPOSE];
    expect(told).toBe(`${QUOTA}, RateLimit-Policy, RateLimit`);
  });

  it('exposes nothing to the same origin, nor where no other origin may read the response', async () => {
    const app = await start({ limits: [hour], cors: { place: 'before', exposed: ['X-Total'] } });
    const same = await send(app);
    // Some middleware name theirs to everybody; never more than theirs.
    expect(same.headers[EXPOSE] ?? 'X-Total').toBe('X-Total');
    const closed = await start({ limits: [hour] });
    expect((await send(closed, foreign)).headers).not.toHaveProperty(EXPOSE);
    const silent = await start({ limits: [{ ...hour, headers: false }], cors: { place: 'before' } });
    expect((await send(silent, foreign)).headers).not.toHaveProperty(EXPOSE);
  });
}
