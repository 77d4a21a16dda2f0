// What the page of results shows: for each table of a run its rows, by the names and in the order that it has them.

import { short } from '../harness/numbers.mjs';
import { bars, lines } from './charts.mjs';

const SIZES = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];

const barsOf = (key) => (title, unit, rows) =>
  bars(
    title,
    unit,
    rows.filter((row) => typeof row[key] === 'number').map((row) => ({ name: row.name, value: row[key] })),
    short,
  );

const linesOf = (title, unit, rows) =>
  lines(
    title,
    unit,
    SIZES,
    rows.map((row) => ({ name: row.name, values: SIZES.map((size) => row[`cpuNs${size}`]) })),
  );

const REDIS_COLUMNS = [
  ['redisCpuMicros', 'CPU µs'],
  ['toFlexible', 'to rate-limiter-flexible'],
];

/** `table`: how the title of the table begins. `columns`: [key of the row, heading]. */
export const sections = [
  {
    file: 'memory',
    table: 'Memory: a decision that admits',
    heading: 'In memory',
    unit: 'CPU ns per decision, 10,000 hot keys; less is better',
    says: 'Sluice returns every field of the decision; express-rate-limit counts and compares nothing with a limit. The controls are a map and an array of numbers; the same with the clock and a fresh object of nine fields; and the same with all the objects of which a decision consists.',
    columns: [
      ['cpuNs', 'CPU ns'],
      ['toObject', 'to the nine-field object'],
      ['toExpress', 'to express-rate-limit'],
    ],
    draw: barsOf('cpuNs'),
  },
  {
    file: 'memory-denied',
    table: 'Memory: a decision that denies',
    heading: 'In memory, denied',
    unit: 'CPU ns per denial, 10,000 hot keys; less is better',
    says: 'Sluice works out the exact wait. express-rate-limit goes on counting; rate-limiter-flexible rejects a promise.',
    columns: [
      ['cpuNs', 'CPU ns'],
      ['toExpress', 'to express-rate-limit'],
    ],
    draw: barsOf('cpuNs'),
  },
  {
    file: 'growth',
    table: 'Growth',
    heading: 'Many keys',
    unit: 'CPU ns per decision, by the number of keys; both axes logarithmic',
    says: 'No step of a decision depends on the number of keys. What grows is the cost of memory that is in no cache.',
    columns: SIZES.map((size) => [`cpuNs${size}`, `${size.toLocaleString('en')} keys`]),
    draw: linesOf,
  },
  {
    file: 'heap',
    table: 'Heap',
    heading: 'Room',
    unit: 'bytes per key beyond a bare map, at a million keys; less is better',
    says: 'Heap and buffers, the key itself not included. A log keeps every request that it admitted.',
    columns: [
      ['bytes1000000', 'at 1,000,000'],
      ['beyondMap', 'beyond the map'],
    ],
    draw: barsOf('beyondMap'),
  },
  {
    file: 'flood',
    table: 'Flood',
    heading: 'A flood of new keys',
    unit: 'CPU ns of a request under a new key, in a full store; less is better',
    says: 'Ten million requests under new keys meet a store of 100,000. Who was denied before stays denied in Sluice.',
    columns: [
      ['quietNs', 'a key it knows'],
      ['floodNs', 'a new key'],
      ['heap', 'heap after / before'],
      ['attacker', 'who was denied'],
    ],
    draw: barsOf('floodNs'),
  },
  {
    file: 'stall',
    table: 'Stall',
    heading: 'The longest call',
    unit: 'ms without the collector, while a million keys arrive and expire; less is better',
    says: 'What stops a process is a table that is copied when it grows; and the collector, which has the more to do the more is kept.',
    columns: [
      ['ownMs', 'longest call without the collector, ms'],
      ['longestMs', 'with it'],
      ['pauseMs', 'longest pause of the collector'],
    ],
    draw: barsOf('ownMs'),
  },
  {
    file: 'redis',
    table: 'Redis: a decision that admits, pipelined',
    heading: 'In Redis',
    unit: 'CPU µs of the server per decision, pipelined; less is better',
    says: 'One round trip per decision, for every algorithm. rate-limiter-flexible answers with two numbers and whole seconds, Sluice with five in exact milliseconds by the clock of the server.',
    columns: [
      ['redisCpuMicros', 'CPU µs'],
      ['toFlexible', 'to rate-limiter-flexible'],
      ['bytesPerId', 'bytes per id'],
    ],
    draw: barsOf('redisCpuMicros'),
  },
  {
    file: 'redis-one-per-packet',
    table: 'Redis: a decision that admits, one command per packet',
    heading: 'In Redis, one command per packet',
    unit: 'CPU µs of the server per decision, one command per packet; less is better',
    says: 'What a client does that does not pipeline by itself: most of what the server does then is to read and write sockets, which is the same for all.',
    columns: REDIS_COLUMNS,
    draw: barsOf('redisCpuMicros'),
  },
  {
    file: 'redis-denied',
    table: 'Redis: a decision that denies, pipelined',
    heading: 'In Redis, denied',
    unit: 'CPU µs of the server per denial, pipelined; less is better',
    says: 'Who is denied is told the exact wait, and nothing is written.',
    columns: REDIS_COLUMNS,
    draw: barsOf('redisCpuMicros'),
  },
  {
    file: 'http',
    table: 'HTTP',
    heading: 'In a server',
    unit: 'CPU µs per request above the bare framework; less is better',
    says: 'Headers that each sends by itself, in memory. Of the controls, one asks for the address and sets three headers, the other asks a limiter besides.',
    columns: [
      ['addedUs', 'above the bare framework'],
      ['leastAddedUs', 'by the least rounds'],
    ],
    draw: barsOf('addedUs'),
  },
];
