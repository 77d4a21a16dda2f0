import type { Remains, Subject } from './leaks-child.js';
import { buildScript, message, type Script, stopScript } from './scripts.js';

let script: Script;
beforeAll(() => {
  script = buildScript('leaks-child');
});
afterAll(() => script.dispose());

async function remainsOf(subject: Subject): Promise<Remains> {
  const child = script.start([subject]);
  try {
    return await message<Remains>(child);
  } finally {
    await stopScript(child);
  }
}

describe('A limiter keeps in memory', () => {
  it.each(['Express', 'Fastify', 'Koa'] as const)(
    'nothing of a request that is over, however it ended: %s',
    async (framework) => {
      const { sent, alive } = await remainsOf(framework);
      expect(sent).toBeGreaterThan(10);
      expect(alive).toEqual({ ended: 0, left: 0, held: 0 });
    },
  );

  it('nothing of the request, and one listener, while a response goes on that is to be counted by its status', async () => {
    const { sent, open } = await remainsOf('none');
    expect(sent).toBeGreaterThan(10);
    expect(open).toEqual({ alive: 0, listeners: 1 });
  });
});
