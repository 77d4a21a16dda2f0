import { createHash } from 'node:crypto';
import { algorithms } from '../settings.js';
import { hostileIds } from './hostile-ids.js';
import { allowed, type Suite } from './suite.js';

export function keys(suite: Suite): void {
  describe.each(algorithms)('Keys, $title', ({ policy }) => {
    it('are independent: what one uses, no other lacks', async () => {
      const { limiter, times } = suite.open(policy(2, 1000), 250);
      expect(allowed(await times(5, 'a'))).toBe(2);
      expect(await limiter.peek('b')).toMatchObject({ remaining: 2, resetMs: 0 });
      expect(allowed(await times(5, 'b'))).toBe(2);
      await limiter.reset('a');
      expect(await limiter.peek('a')).toMatchObject({ remaining: 2 });
      expect(await limiter.peek('b')).toMatchObject({ remaining: 0 });
    });

    it('may be anything that a client sends, and no two of them meet', async () => {
      const { limiter } = suite.open(policy(3, 1000), 250);
      const costs = hostileIds.map((_, i) => (i % 3) + 1);
      for (const [i, id] of hostileIds.entries()) {
        expect(await limiter.consume(id, { cost: costs[i] })).toMatchObject({ remaining: 3 - costs[i] });
      }
      for (const [i, id] of hostileIds.entries()) {
        expect(await limiter.peek(id)).toMatchObject({ remaining: 3 - costs[i] });
        await limiter.reset(id);
        expect(await limiter.peek(id)).toMatchObject({ remaining: 3 });
      }
    });
  });

  describe('Keys', () => {
    it('that look like the digest of another are not the other', async () => {
      const { limiter } = suite.open({ limit: 3, window: 1000 });
      const long = 'x'.repeat(200);
      await limiter.consume(long);
      // The first 128 bits of the SHA-256 of its UTF-16 code units, as anyone can work out.
      const hash = createHash('sha256').update(Buffer.from(long, 'utf16le')).digest();
      const digest = `#${hash.toString('base64url', 0, 16)}`;
      expect(await limiter.peek(digest)).toMatchObject({ remaining: 3 });
      await limiter.consume(digest, { cost: 3 });
      expect(await limiter.peek(long)).toMatchObject({ remaining: 2 });
    });

    it('of one limiter are not those of another, whatever both are called', async () => {
      const one = suite.open({ limit: 2, window: 1000 });
      const other = suite.open([
        { name: 'default', limit: 2, window: 1000 },
        { limit: 2, window: 1000 },
      ]);
      await one.times(2);
      expect(await other.limiter.peek('key')).toMatchObject({ remaining: 2 });
    });
  });
}
