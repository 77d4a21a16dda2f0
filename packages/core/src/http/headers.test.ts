import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import fc from 'fast-check';
import { parseDictionary, parseList, serializeDictionary, serializeList } from 'structured-headers';
import type { Decision, PolicyDecision } from '../index.js';
import { createGuard, type Verdict } from './guard.js';
import { formatHeaders, type HeaderFormat, type HeaderItem, parseFormats } from './headers.js';
import type { ReadyLimiter } from './options.js';

declare global {
  /** Of the DOM, which is not here; the types of `structured-headers` name it. */
  type BufferSource = ArrayBufferView | ArrayBuffer;
}

type Headers = Record<string, string>;

interface Case {
  name: string;
  now: number;
  state: {
    name?: string;
    limit: number;
    remaining: number;
    windowMs: number;
    timeMs: number;
    rejected?: boolean;
    pk?: string;
  };
  headers: Record<HeaderFormat, Headers>;
}

interface Several {
  name: string;
  now: number;
  rejected?: boolean;
  policies: {
    name: string;
    limit: number;
    windowMs: number;
    remaining: number;
    timeMs: number;
    denies?: boolean;
  }[];
  violatedPolicies?: string[];
  headers: Partial<Record<HeaderFormat, Headers>>;
}

const file = join(__dirname, '../../../conformance/vectors/headers.json');
const vectors: { cases: Case[]; several: Several[] } = JSON.parse(readFileSync(file, 'utf8'));

const NOW = 1_796_055_360_123;

/** What a policy says that shows `timeMs`: its wait if it denies, unless that never ends; its reset otherwise. */
function answerOf({
  name = 'default',
  limit,
  remaining,
  windowMs,
  timeMs,
  denies = false,
}: Several['policies'][0] | (Case['state'] & { denies?: boolean })): PolicyDecision {
  const retryAfterMs = !denies ? 0 : limit === 0 ? Infinity : timeMs;
  return { name, limit, remaining, windowMs, retryAfterMs, resetMs: timeMs, allowed: !denies };
}

/** Lets a guard tell of a decision that is given. */
function tell(
  policies: PolicyDecision[],
  binding: PolicyDecision,
  now: number,
  format: HeaderFormat,
): Verdict {
  const decision: Decision = {
    ...binding,
    allowed: policies.every((policy) => policy.allowed),
    policy: binding.name,
    delayMs: 0,
    cost: 1,
    degraded: false,
    policies,
    settle: () => undefined,
  };
  const limiter = { name: 'default', policies, consume: () => decision };
  jest.spyOn(Date, 'now').mockReturnValue(now);
  const options = { limiter, headers: format, key: () => 'k' } as unknown as ReadyLimiter<IncomingMessage>;
  const guard = createGuard<IncomingMessage, never>(options, {
    raw: (request) => request,
    address: () => undefined,
  });
  return guard.check({} as IncomingMessage) as Verdict;
}

afterEach(() => jest.restoreAllMocks());

describe('the vectors', () => {
  it('are all there', () => {
    expect([vectors.cases.length, vectors.several.length]).toEqual([15, 3]);
    for (const { headers } of vectors.cases)
      expect(Object.keys(headers)).toEqual(['legacy', 'draft-6', 'draft-7', 'draft-8']);
  });

  it.each(vectors.cases)('$name', ({ now, state, headers }) => {
    const { name = 'default', pk, rejected = false } = state;
    // What can never fit has no time after which to come back.
    const denies = rejected && state.limit > 0;
    const item: HeaderItem = { ...state, name, denies, ...(pk === undefined ? {} : { partition: pk }) };
    for (const [format, right] of Object.entries(headers)) {
      const { 'Retry-After': retryAfter, ...told } = right;
      expect(Object.fromEntries(formatHeaders([format as HeaderFormat], [item], item, now))).toEqual(told);

      // The guard tells nobody who else is counted.
      if (pk !== undefined) continue;
      const answer = answerOf({ ...state, denies: rejected });
      const verdict = tell([answer], answer, now, format as HeaderFormat);
      expect(Object.fromEntries(verdict.headers)).toEqual(
        rejected
          ? { ...right, 'Cache-Control': 'no-store', 'Content-Type': 'application/problem+json' }
          : right,
      );
      expect(verdict.denial?.status).toBe(rejected ? 429 : undefined);
      if (!rejected) continue;
      expect(JSON.parse(String(verdict.denial!.body))).toMatchObject({
        status: 429,
        'violated-policies': [name],
        ...(retryAfter === undefined ? {} : { retryAfter: Number(retryAfter) }),
      });
    }
  });

  it.each(vectors.several)('$name', ({ now, policies, rejected = false, violatedPolicies, headers }) => {
    const answers = policies.map(answerOf);
    // Denied, the longest wait speaks; admitted, the fewest left.
    const binding = [...answers].sort((a, b) =>
      rejected ? b.retryAfterMs - a.retryAfterMs : a.remaining - b.remaining,
    )[0];
    const items = policies.map((policy) => ({ ...policy, denies: policy.denies ?? false }));
    const item = items.find(({ name }) => name === binding.name);
    for (const [format, right] of Object.entries(headers)) {
      const { 'Retry-After': retryAfter, ...told } = right;
      expect(Object.fromEntries(formatHeaders([format as HeaderFormat], items, item, now))).toEqual(told);

      const verdict = tell(answers, binding, now, format as HeaderFormat);
      expect(Object.fromEntries(verdict.headers)).toEqual(
        rejected
          ? { ...right, 'Cache-Control': 'no-store', 'Content-Type': 'application/problem+json' }
          : right,
      );
      if (!rejected) continue;
      expect(JSON.parse(String(verdict.denial!.body))).toMatchObject({
        'violated-policies': violatedPolicies,
        retryAfter: Number(retryAfter),
      });
    }
  });
});

describe('formatHeaders', () => {
  const item = { name: 'default', limit: 10, remaining: 3, windowMs: 60_000, timeMs: 41_500, denies: false };
  const told = (format: HeaderFormat, items: readonly HeaderItem[], binding = items[0], now = NOW) =>
    Object.fromEntries(formatHeaders([format], items, binding, now)) as Headers;

  it('writes drafts 7 and 8 so that a parser reads what was meant, and would write the same', () => {
    const name = fc.string({ unit: fc.constantFrom(...' !#abcXYZ019-._~"\\'), minLength: 1, maxLength: 20 });
    const policy = fc.record({
      name,
      limit: fc.nat(Number.MAX_SAFE_INTEGER),
      remaining: fc.double({ min: -5, max: 1e16, noNaN: true }),
      windowMs: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
      timeMs: fc.integer({ min: -5000, max: Number.MAX_SAFE_INTEGER }),
      denies: fc.boolean(),
    });
    const most = 999_999_999_999_999;
    const count = (value: number) => Math.min(most, Math.max(0, Math.floor(value)));
    const seconds = (ms: number, least: number) => Math.min(most, Math.max(least, Math.ceil(ms / 1000)));
    fc.assert(
      fc.property(fc.array(policy, { minLength: 1, maxLength: 4 }), (items) => {
        const eight = told('draft-8', items);
        expect(parseList(eight['RateLimit-Policy'])).toEqual(
          items.map(({ name, limit, windowMs }) => [
            name,
            new Map([
              ['q', count(limit)],
              ['w', seconds(windowMs, 1)],
            ]),
          ]),
        );
        expect(parseList(eight.RateLimit)).toEqual(
          items.map(({ name, remaining, timeMs, denies }) => [
            name,
            new Map([
              ['r', count(remaining)],
              ['t', seconds(timeMs, denies ? 1 : 0)],
            ]),
          ]),
        );
        for (const value of Object.values(eight)) expect(serializeList(parseList(value))).toBe(value);

        const { RateLimit, 'RateLimit-Policy': policies } = told('draft-7', items);
        const dictionary = parseDictionary(RateLimit);
        expect([...dictionary.keys()]).toEqual(['limit', 'remaining', 'reset']);
        const least = Math.min(...items.map(({ remaining }) => count(remaining)));
        expect(dictionary.get('remaining')?.[0]).toBe(least);
        expect(serializeDictionary(dictionary)).toBe(RateLimit);
        // All quotas, each once: these drafts know a policy by nothing else.
        const quotas = parseList(policies).map(([quota]) => quota);
        expect(quotas).toEqual([...new Set(items.map(({ limit }) => count(limit)))]);
        expect(serializeList(parseList(policies))).toBe(policies);
      }),
    );
  });

  it('lists of policies with the same quota the one that is shown, else the first, in drafts 6 and 7', () => {
    const [a, b, c, d] = [1000, 2000, 3000, 4000].map((windowMs, i) => ({
      ...item,
      limit: i === 3 ? 20 : 10,
      remaining: [5, 2, 4, 9][i],
      windowMs,
    }));
    for (const format of ['draft-6', 'draft-7'] as const) {
      expect(told(format, [a, b, c, d])['RateLimit-Policy']).toBe('10;w=2, 20;w=4');
      expect(told(format, [d, a, c])['RateLimit-Policy']).toBe('20;w=4, 10;w=3');
      expect(told(format, [a, c, { ...d, remaining: 0 }])['RateLimit-Policy']).toBe('10;w=1, 20;w=4');
    }
    expect(told('draft-8', [a, b])['RateLimit-Policy']).toBe('"default";q=10;w=1, "default";q=10;w=2');
  });

  it('writes the reset as seconds from now where that is asked for, and the drafts as ever', () => {
    for (const { now, state, headers } of vectors.cases) {
      const { name = 'default', pk: _pk, rejected = false } = state;
      const only = { ...state, name, denies: rejected && state.limit > 0 };
      const sent = Object.fromEntries(formatHeaders(['legacy', 'draft-6'], [only], only, now, 'seconds'));
      // The wait of draft 6 is the same time in the same unit.
      expect(sent['X-RateLimit-Reset']).toBe(headers['draft-6']['RateLimit-Reset']);
      expect(sent).toMatchObject({ 'RateLimit-Reset': headers['draft-6']['RateLimit-Reset'] });
    }
  });

  it('writes a partition as bytes', () => {
    const parsed = parseList(told('draft-8', [{ ...item, partition: 'GET\u001falice' }]).RateLimit);
    const bytes = (parsed[0][1] as Map<string, unknown>).get('pk') as ArrayBuffer;
    expect(Buffer.from(bytes).toString()).toBe('GET\u001falice');
  });

  it('shows one policy in drafts 6 and 7: the least left, and of equals the one that binds', () => {
    const [a, b, c] = [
      { ...item, name: 'a', limit: 5, timeMs: 1000 },
      { ...item, name: 'b', limit: 6, timeMs: 2000 },
      { ...item, name: 'c', limit: 7, remaining: 4, timeMs: 3000 },
    ];
    expect(told('draft-7', [a, b, c], b).RateLimit).toBe('limit=6, remaining=3, reset=2');
    expect(told('draft-7', [a, b, c], a).RateLimit).toBe('limit=5, remaining=3, reset=1');
    expect(told('draft-6', [a, b, c], c)).toEqual({
      'RateLimit-Policy': '5;w=60, 6;w=60, 7;w=60',
      'RateLimit-Limit': '5',
      'RateLimit-Remaining': '3',
      'RateLimit-Reset': '1',
    });
  });

  it('never says "at once" to who was denied, nor a time before the wait is over', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 ** 12 }), fc.nat(10 ** 13), (timeMs, now) => {
        const denied = { ...item, remaining: 0, timeMs, denies: true };
        const wait = Number(told('draft-6', [denied], denied, now)['RateLimit-Reset']);
        expect(wait).toBeGreaterThanOrEqual(1);
        expect(wait * 1000 - timeMs).toBeGreaterThanOrEqual(0);
        expect(wait * 1000 - timeMs).toBeLessThan(1000);
        const instant = Number(told('legacy', [denied], denied, now)['X-RateLimit-Reset']);
        expect(instant * 1000 - (now + timeMs)).toBeGreaterThanOrEqual(0);
        expect(instant * 1000 - (now + timeMs)).toBeLessThan(1000);
      }),
    );
  });

  it('writes whole seconds at any time of the world', () => {
    expect(told('legacy', [item], item, 0)['X-RateLimit-Reset']).toBe('42');
    // In the year 2096.
    expect(told('legacy', [item], item, 3_976_214_400_000)['X-RateLimit-Reset']).toBe('3976214442');
    expect(told('draft-6', [{ ...item, timeMs: 0 }])['RateLimit-Reset']).toBe('0');
  });

  it('sends all fields of each format in a list, and a field that two have in common once', () => {
    const formats = ['legacy', 'draft-6', 'draft-7'] as const;
    for (const { now, state, headers } of vectors.cases) {
      const { name = 'default', pk: _pk, rejected = false } = state;
      const only = { ...state, name, denies: rejected && state.limit > 0 };
      const sent = formatHeaders(formats, [only], only, now);
      const { 'Retry-After': _wait, ...right } = Object.assign({}, ...formats.map((one) => headers[one]));
      expect(Object.fromEntries(sent)).toEqual(right);
      // Three of legacy, four of draft 6, and the one of draft 7 that draft 6 has not.
      expect(sent).toHaveLength(8);
    }
  });

  it('says nothing where there is nothing to say', () => {
    expect(formatHeaders(['legacy', 'draft-8'], [], undefined, NOW)).toEqual([]);
    expect(formatHeaders([], [item], item, NOW)).toEqual([]);
  });
});

describe('parseFormats', () => {
  it.each([
    [undefined, ['legacy']],
    [false, []],
    [[], []],
    ['legacy', ['legacy']],
    ['draft-8', ['draft-8']],
    [['draft-7'], ['draft-7']],
    [
      ['legacy', 'draft-6'],
      ['legacy', 'draft-6'],
    ],
    [
      ['draft-8', 'legacy', 'draft-8'],
      ['draft-8', 'legacy'],
    ],
    [
      ['draft-6', 'draft-7'],
      ['draft-6', 'draft-7'],
    ],
    [
      ['draft-7', 'legacy', 'draft-6'],
      ['draft-7', 'legacy', 'draft-6'],
    ],
  ])('reads %j', (value, formats) => {
    expect(parseFormats(value)).toEqual(formats);
  });

  it.each([
    [true, 'true'],
    [null, 'null'],
    ['latest', '"latest"'],
    ['draft-9', '"draft-9"'],
    ['', '""'],
    [8, '8'],
    [['draft-6', 'draft-8'], '"draft-6, draft-8"'],
    [['draft-8', 'draft-7'], '"draft-8, draft-7"'],
    [['legacy', 'draft-6', 'draft-7', 'draft-8'], '"legacy, draft-6, draft-7, draft-8"'],
    [['legacy', 'no'], '"legacy, no"'],
    [{}, 'an object'],
  ])('refuses %j', (value, got) => {
    expect(() => parseFormats(value)).toThrow(
      `Expected \`headers\` to be 'legacy', 'draft-6', 'draft-7', 'draft-8', a list of them without 'draft-8' beside 'draft-6' or 'draft-7', or false, got ${got}.`,
    );
  });
});
