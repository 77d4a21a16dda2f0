// A decision in Redis: what it costs the server.

import { takeTurns, withContenders } from '../harness/contenders.mjs';
import { median, medianRatio, short, times } from '../harness/numbers.mjs';
import { commandStats, cpuMicros, withRedis } from '../harness/redis-server.mjs';

const workload = new URL('../workloads/redis.mjs', import.meta.url);

const NOOP = 'EVALSHA return 1';
const UNDECIDED = 'the same commands, nothing decided (control)';
const UNDECIDED_THREE = 'the commands of three policies, nothing decided (control)';
const FLEXIBLE = 'rate-limiter-flexible, fixed window';
const SORTED_SET = 'async-ratelimiter, sorted-set log';
const FIXED = 'fixed-window';
const DEFAULT = 'sliding-window-counter (default)';
const THREE = 'the default, three policies of one key';
const SEVERAL = 'the default by three keys at once';
const LOG = 'sliding-window-log';

const CONTENDERS = {
  [NOOP]: { kind: 'noop' },
  [UNDECIDED]: { kind: 'undecided' },
  [UNDECIDED_THREE]: { kind: 'undecidedThree' },
  [FLEXIBLE]: { kind: 'flexible' },
  [SORTED_SET]: { kind: 'sortedSet' },
  [DEFAULT]: { kind: 'sluice', policy: {} },
  [THREE]: { kind: 'threePolicies' },
  [SEVERAL]: { kind: 'severalKeys' },
  ...Object.fromEntries(
    [FIXED, 'gcra', 'token-bucket', 'leaky-bucket', LOG].map((algorithm) => [
      algorithm,
      { kind: 'sluice', policy: { algorithm } },
    ]),
  ),
};

const shared = { keys: 200, limit: 100, windowMs: 60_000 };
/**
 * How requests reach the server decides how much of its time goes to sockets, which is the same for all. One command
 * per packet is what ioredis does by itself; pipelined, sockets cost next to nothing and the script is laid bare.
 */
const ONE_BY_ONE = { inFlight: 64, pipelined: false };
const PIPELINED = { inFlight: 256, pipelined: true };

/** Per id: one request to make the key, then these, all within the limit. On the average a log is half full. */
const VISITS = 90;

async function measure({ port, admin }, prepare, transport, budget) {
  const options = Object.fromEntries(
    Object.entries(CONTENDERS).map(([name, own]) => [name, { ...shared, ...transport, port, ...own }]),
  );
  return withContenders(workload, options, (contenders) =>
    takeTurns(contenders, budget, async (contender) => {
      await admin.flushall();
      await contender.does(prepare);
      await admin.config('RESETSTAT');
      const before = await cpuMicros(admin);
      const result = await contender.does('decide', VISITS * shared.keys);
      const redisMicros = (await cpuMicros(admin)) - before;
      return {
        ...result,
        redisMicros,
        commands: await commandStats(admin),
        bytesPerId: await bytesPerId(admin),
      };
    }),
  );
}

/** The mean of MEMORY USAGE over some of the keys. */
async function bytesPerId(admin) {
  const [, keys] = await admin.scan('0', 'COUNT', 100);
  if (keys.length === 0) return 0;
  const sizes = await Promise.all(keys.map((key) => admin.call('MEMORY', 'USAGE', key)));
  return sizes.reduce((sum, size) => sum + size, 0) / keys.length;
}

/** The most CPU, as a part of what the peer takes, and the most bytes per id, of those that have goals of their own. */
const MOST_OF_PEER = { [LOG]: 1, [FIXED]: 1.4 };
const MOST_BYTES = { [LOG]: 1024, gcra: 88 };

/** Commands that no script here calls: each is a round trip. */
const FROM_CLIENT = new Set(['evalsha', 'eval', 'script|load', 'multi', 'exec']);
/** What the measuring itself sends. */
const FROM_HARNESS = new Set(['info', 'config|resetstat', 'scan', 'memory|usage', 'flushall']);

function rowsOf(results) {
  const decisions = VISITS * shared.keys;
  const micros = (name) => results[name].map(({ redisMicros }) => redisMicros / decisions);
  return Object.keys(results).map((name) => {
    const rounds = results[name];
    const stats = Object.entries(rounds.at(-1).commands).filter(([command]) => !FROM_HARNESS.has(command));
    const perDecision = ([command, { calls }]) => [command, calls / decisions];
    const fromClient = stats.filter(([command]) => FROM_CLIENT.has(command)).map(perDecision);
    const inScript = stats.filter(([command]) => !FROM_CLIENT.has(command)).map(perDecision);
    return {
      name,
      redisCpuMicros: median(micros(name)),
      leastRedisCpuMicros: Math.min(...micros(name)),
      scriptMicros: median(rounds.map(({ commands }) => commands.evalsha.usec / decisions)),
      clientCpuMicros: median(rounds.map(({ cpuMs }) => (cpuMs * 1000) / decisions)),
      toNoop: medianRatio(micros(name), micros(NOOP)),
      toFlexible: medianRatio(micros(name), micros(FLEXIBLE)),
      toSortedSet: medianRatio(micros(name), micros(SORTED_SET)),
      roundTrips: fromClient.reduce((sum, [, calls]) => sum + calls, 0),
      commands: inScript.map(([command, calls]) => `${command} ${short(calls)}`).join(', '),
      bytesPerId: median(rounds.map((round) => round.bytesPerId)),
      admitted: median(rounds.map(({ value }) => value.admitted / decisions)),
      redisCpuMicrosByRound: micros(name),
    };
  });
}

/** Three policies are three reads and three writes, but one script and one round trip. `kept`: what was reached, and slack. */
function severalGoals(oneByOne, pipelined) {
  const goals = [
    [THREE, oneByOne, 'one command per packet', 1.8, 2.6],
    [THREE, pipelined, 'pipelined', 1.8, 3.2],
    [SEVERAL, pipelined, 'pipelined', 3, 3.45],
  ];
  return goals.map(([name, rows, transport, most, kept]) => {
    const [several, one] = [name, DEFAULT].map((which) => rows.find((row) => row.name === which));
    return {
      goal: `Redis CPU, ${name}, ${transport}: at most ${most.toFixed(2)} x one policy`,
      seen: medianRatio(several.redisCpuMicrosByRound, one.redisCpuMicrosByRound),
      least: several.leastRedisCpuMicros / one.leastRedisCpuMicros,
      ...{ most, kept },
    };
  });
}

export async function redis(budget) {
  const { version, oneByOne, pipelined, denying } = await withRedis(async (server) => {
    const info = await server.admin.info('server');
    return {
      version: info.match(/^redis_version:(\S+)/m)[1],
      oneByOne: rowsOf(await measure(server, 'visit', ONE_BY_ONE, budget)),
      pipelined: rowsOf(await measure(server, 'visit', PIPELINED, budget)),
      denying: rowsOf(await measure(server, 'exhaust', PIPELINED, budget)),
    };
  });
  const columns = [
    ['name', 'contender'],
    ['redisCpuMicros', 'Redis CPU us', short],
    ['leastRedisCpuMicros', 'least', short],
    ['toNoop', '/ noop', times],
    ['toFlexible', '/ flexible', times],
    ['toSortedSet', '/ sorted set', times],
    ['scriptMicros', 'in script us', short],
    ['roundTrips', 'round trips', short],
    ['commands', 'commands in the script'],
    ['bytesPerId', 'bytes per id', short],
    ['clientCpuMicros', 'client CPU us', short],
    ['admitted', 'admitted', (share) => share.toFixed(3)],
  ];
  const ours = pipelined.filter(({ name }) => CONTENDERS[name].kind === 'sluice');
  const goals = ours.map((row) => {
    const isLog = row.name === LOG;
    const [peer, seen] = isLog ? [SORTED_SET, row.toSortedSet] : [FLEXIBLE, row.toFlexible];
    const most = MOST_OF_PEER[row.name] ?? 1.6;
    const least = row.leastRedisCpuMicros / pipelined.find(({ name }) => name === peer).leastRedisCpuMicros;
    return {
      goal: `Redis CPU, ${row.name}, admitted, pipelined: at most ${most.toFixed(2)} x ${peer}`,
      // A run on a busy machine is off by as much.
      ...{ seen, least, most, kept: 1.15 * most },
    };
  });
  const bytes = ours.map(({ name, bytesPerId }) => {
    const most = MOST_BYTES[name] ?? 120;
    return { goal: `Redis memory, ${name}: at most ${most} bytes per id`, seen: bytesPerId, most };
  });
  const roundTrips = Math.max(...[...oneByOne, ...pipelined, ...denying].map((row) => row.roundTrips));
  return {
    versions: { redis: version },
    tables: [
      { title: 'Redis: a decision that admits, one command per packet', columns, rows: oneByOne },
      { title: 'Redis: a decision that admits, pipelined', columns, rows: pipelined },
      { title: 'Redis: a decision that denies, pipelined', columns, rows: denying },
    ],
    goals: [
      ...goals,
      ...severalGoals(oneByOne, pipelined),
      ...bytes,
      { goal: 'Redis, all algorithms: one round trip per decision', seen: roundTrips, most: 1 },
    ],
  };
}
