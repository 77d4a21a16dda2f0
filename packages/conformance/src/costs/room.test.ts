import { buildScript, message, type Script, stopScript } from '../scripts.js';
import type { Room } from './room-child.js';

/** Bytes that a key took when this was looked at last. A gain is written down here; so is a loss, if it is worth it. */
const recorded: Readonly<Record<string, number>> = {
  'sliding-window-counter': 68,
  gcra: 52,
  'sliding-window-log, one entry': 52,
  'sliding-window-log, 100 entries': 934,
};

/** As a part of what was recorded. */
const SLACK = 0.1;

let script: Script;
beforeAll(() => {
  script = buildScript('costs/room-child');
});
afterAll(() => script.dispose());

it('a key takes as much memory as is recorded, also when others take its place', async () => {
  const child = script.start();
  const rooms = await message<Record<string, Room>>(child);
  await stopScript(child);
  expect(Object.keys(rooms)).toEqual(Object.keys(recorded));
  const off = Object.entries(rooms).flatMap(([name, { bytes, again }]) => {
    const then = recorded[name];
    // What is forgotten makes room for others.
    return Object.entries({ bytes, again })
      .filter(([, now]) => !(Math.abs(now - then) <= then * SLACK))
      .map(([what, now]) => `${name}, ${what}: ${now} bytes, recorded ${then}`);
  });
  expect(off).toEqual([]);
}, 120_000);
