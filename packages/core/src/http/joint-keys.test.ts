import type { IncomingMessage } from 'node:http';
import type { Decision } from '../index.js';
import { createGuard, createRouteGuards, type Host, type RateLimitOptions, type Verdict } from './index.js';

type Options = RateLimitOptions<IncomingMessage, () => unknown>;
type Request = IncomingMessage & { user?: string };

const host: Host<IncomingMessage> = {
  raw: (request) => request,
  address: (request) => request.socket.remoteAddress,
};
const from = (remoteAddress?: string, user?: string) =>
  ({ headers: {}, socket: { remoteAddress, localAddress: '127.0.0.1' }, user }) as Request;
const policies = [{ limit: 3, window: '1h' }] as const;
const limits = [
  { name: 'address', policies },
  { name: 'user', key: (request: IncomingMessage) => (request as Request).user, policies },
] as const;
const left = (verdict: Verdict) => (verdict.decision as Decision)?.policies.map(({ remaining }) => remaining);

describe('a guard by several keys', () => {
  it('answers at once where no key has to be waited for', async () => {
    const guard = createGuard({ limits } as Options, host);
    expect(left(guard.check(from('192.0.2.1', 'u')) as Verdict)).toEqual([2, 2]);
    const later = { name: 'user', key: async () => 'u', policies };
    const waiting = createGuard({ limits: [limits[0], later] } as Options, host);
    const verdict = waiting.check(from('192.0.2.1'));
    expect(verdict).toBeInstanceOf(Promise);
    expect(left(await verdict)).toEqual([2, 2]);
  });

  it('charges each key of a request once, and one that is known only later when it is known', async () => {
    const guard = createGuard({ limits } as Options, host);
    const request = from('192.0.2.1');
    expect(left(await guard.check(request))).toEqual([2, Infinity]);
    expect(await guard.check(request)).toEqual({ headers: [] });
    request.user = 'u';
    expect(left(await guard.check(request))).toEqual([Infinity, 2]);
    expect(await guard.check(request)).toEqual({ headers: [] });
    request.user = 'v';
    expect(left(await guard.check(request))).toEqual([Infinity, 2]);
    expect(left(await guard.check(from('192.0.2.1', 'u')))).toEqual([1, 1]);
  });

  it('has nothing to say of one that was denied, asked again', async () => {
    const guard = createGuard({ limits } as Options, host);
    for (let i = 0; i < 3; i++) await guard.check(from('192.0.2.1', 'u'));
    const request = from('192.0.2.2', 'u');
    expect(await guard.check(request)).toMatchObject({ denial: { status: 429 } });
    expect(await guard.check(request)).toEqual({ headers: [] });
  });

  it('knows the address of one who left while it was asked who it was', async () => {
    const request = from('192.0.2.1');
    const key = async () => {
      (request as { socket: object }).socket = { destroyed: true, localAddress: '127.0.0.1' };
      return 'u';
    };
    const guard = createGuard({ limits: [{ name: 'user', key, policies }, limits[0]] } as Options, host);
    expect(left(await guard.check(request))).toEqual([2, 2]);
  });

  it('lets go of one who had left before', async () => {
    const guard = createGuard({ limits } as Options, host);
    const request = from(undefined, 'u');
    (request as { socket: object }).socket = { destroyed: true, localAddress: '127.0.0.1' };
    expect(await guard.check(request)).toEqual({ headers: [], gone: true });
    expect(left(await guard.check(from('192.0.2.1', 'u')))).toEqual([2, 2]);
  });

  it.each([42, true, {}, ['u']])('refuses a key that is no text: %j', (key) => {
    const guard = createGuard({ limits: [{ name: 'user', key: () => key, policies }] } as never, host);
    expect(() => guard.check(from('192.0.2.1'))).toThrow('Expected `key` to be a string, undefined or null');
  });

  it('charges nothing where a key function fails', async () => {
    let broken = true;
    const key = () => {
      if (broken) throw new Error('no database');
      return 'u';
    };
    const guard = createGuard({ limits: [limits[0], { name: 'user', key, policies }] } as Options, host);
    expect(() => guard.check(from('192.0.2.1'))).toThrow('no database');
    broken = false;
    expect(left(await guard.check(from('192.0.2.1')))).toEqual([2, 2]);
  });

  it('is one for each route that chooses it, and closes its limiter', async () => {
    const guards = createRouteGuards({ limit: 9, window: '1h', key: () => 'all' } as Options, host);
    const own = guards.of({ limits } as Partial<Options>, { method: 'GET', url: '/' });
    expect(left(await own.check(from('192.0.2.1', 'u')))).toEqual([2, 2]);
    guards.close();
    expect(() => own.check(from('192.0.2.1', 'v'))).toThrow('is closed');
  });
});
