import type { Injected } from './injected-child.js';
import { buildScript, message, type Script, stopScript } from './scripts.js';

let script: Script;
let injected: Injected;
beforeAll(async () => {
  script = buildScript('injected-child');
  const child = script.start();
  injected = await message<Injected>(child);
  await stopScript(child);
});
afterAll(() => script.dispose());

describe('Requests that are injected into Fastify', () => {
  it('count by what came of them, as others do', () => {
    expect(injected.left).toEqual([
      ['/', 3],
      ['/raw', 3],
      ['/', 3],
      ['/fail', 2],
      ['/none', 1],
      ['/', 1],
    ]);
  });

  it('are held until their turn', () => {
    expect(injected.held).toEqual([
      [200, false, true],
      [200, true, true],
    ]);
  });
});
