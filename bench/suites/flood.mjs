// Whoever is denied does not get free by requests under other keys, however many; nor does the store grow or slow down.

import { withContenders } from '../harness/contenders.mjs';
import { median, short, times } from '../harness/numbers.mjs';
import { KEEPING } from '../workloads/flood.mjs';

const workload = new URL('../workloads/flood.mjs', import.meta.url);

const MAX_KEYS = 100_000;
const BLOCK = 500_000;

const NAMES = ['sluice', KEEPING, '@fastify/rate-limit, local store'];

export async function flood({ rounds }) {
  // No window ends meanwhile.
  const options = { maxKeys: MAX_KEYS, limit: 1_000, windowMs: 3_600_000 };
  const rows = await withContenders(
    workload,
    Object.fromEntries(NAMES.map((name) => [name, options])),
    async (stores) => {
      const all = [];
      for (const store of stores) all.push(await rowOf(store, rounds));
      return all;
    },
  );
  const [ours, control, theirs] = rows;
  return {
    tables: [
      {
        title: `Flood: a store of ${MAX_KEYS.toLocaleString('en')} keys, ${(rounds * BLOCK).toLocaleString('en')} requests under new ones`,
        columns: [
          ['name', 'store'],
          ['quietNs', 'a key it knows: CPU ns', short],
          ['floodNs', 'a new one', short],
          ['ratio', 'new / known', times],
          ['heap', 'heap after / before', times],
          ['attacker', 'attacker'],
        ],
        rows,
      },
    ],
    goals: [
      {
        goal: 'a flood frees nobody who is denied (0: nobody)',
        seen: ours.attacker === 'denied' ? 0 : 1,
        most: 0,
      },
      {
        goal: 'a decision in a flood at most 2 x one in a quiet store',
        seen: ours.ratio,
        most: 2,
        kept: 2.5,
      },
      {
        goal: 'a decision in a quiet store, and a new key kept (control), at most 2 x one in a quiet store',
        seen: control.ratio,
        most: 2,
        control: true,
      },
      {
        goal: `a decision in a flood at most one of ${theirs.name}`,
        seen: ours.floodNs / theirs.floodNs,
        most: 1,
      },
      { goal: 'the heap after a flood at most 1.05 x before', seen: ours.heap, most: 1.05 },
    ],
  };
}

async function rowOf(store, rounds) {
  const value = async (...step) => (await store.does(...step)).value;
  const nanos = async (step) => ((await store.does(step, BLOCK)).cpuMs * 1e6) / BLOCK;
  if (await value('prepare')) throw new Error(`${store.name}: the attacker was not denied.`);
  await nanos('quiet');
  // The first flood finds the code as it is, and the store without any.
  await nanos('flood');
  const before = await value('bytes');
  const quiet = [];
  const flooded = [];
  for (let round = 0; round < rounds; round++) {
    flooded.push(await nanos('flood'));
    // The flood has driven them out: each comes once before it is known.
    await value('quiet', MAX_KEYS / 2);
    quiet.push(await nanos('quiet'));
  }
  return {
    name: store.name,
    quietNs: median(quiet),
    floodNs: median(flooded),
    ratio: median(flooded.map((ns, i) => ns / quiet[i])),
    heap: (await value('bytes')) / before,
    attacker: (await value('isFree')) ? 'FREE' : 'denied',
    quietNsByRound: quiet,
    floodNsByRound: flooded,
  };
}
