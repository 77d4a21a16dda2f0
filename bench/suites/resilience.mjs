// What a deadline, a breaker and the ladder cost while Redis is well.

import { takeTurns, withContenders } from '../harness/contenders.mjs';
import { median, short } from '../harness/numbers.mjs';

const workload = new URL('../workloads/resilience.mjs', import.meta.url);

const ALONE = 'the client alone';
const CONTROL = 'sent by name, and in full where it is not known';
const GUARDED = 'the same + deadline and breaker';
const THROW = "a limiter, onStoreError: 'throw'";
const LOCAL = "a limiter, onStoreError: 'local'";

const DECISIONS = 200_000;

export async function resilience(budget) {
  const options = { inFlight: 64 };
  const names = [ALONE, CONTROL, GUARDED, THROW, LOCAL];
  const results = await withContenders(
    workload,
    Object.fromEntries(names.map((name) => [name, options])),
    (contenders) => takeTurns(contenders, budget, (contender) => contender.does('decide', DECISIONS)),
  );
  const perDecision = (name, time) => results[name].map((round) => (round[time] * 1e6) / DECISIONS);
  const rows = names.map((name) => {
    const cpu = perDecision(name, 'cpuMs');
    return {
      name,
      cpuNs: median(cpu),
      leastCpuNs: Math.min(...cpu),
      wallNs: median(perDecision(name, 'wallMs')),
      cpuNsByRound: cpu,
    };
  });
  /** What `name` takes more than `control`, in microseconds. */
  const goal = (text, name, control) => {
    const [ours, theirs] = [name, control].map((wanted) => rows.find((row) => row.name === wanted));
    return {
      goal: `${text}: at most 2.00 us`,
      seen: median(ours.cpuNsByRound.map((ns, round) => ns - theirs.cpuNsByRound[round])) / 1000,
      least: (ours.leastCpuNs - theirs.leastCpuNs) / 1000,
      most: 2,
    };
  };
  return {
    tables: [
      {
        title: 'Resilience: a decision on a client that answers at once, 64 in flight',
        columns: [
          ['name', 'contender'],
          ['cpuNs', 'CPU ns', short],
          ['leastCpuNs', 'least', short],
          ['wallNs', 'wall ns', short],
        ],
        rows,
      },
    ],
    goals: [
      goal('what the deadline and the breaker add', GUARDED, CONTROL),
      goal('what the ladder adds', LOCAL, THROW),
    ],
  };
}
