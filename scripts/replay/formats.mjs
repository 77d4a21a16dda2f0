// Reads a line of a log: who came, and when, in whole milliseconds since the epoch. Nothing if it makes no sense.

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Each makes a function from a line to `{ key, at }`, to `undefined` if it is malformed, or to `null` if it is no request. */
export const formats = {
  clf: () => ofCommonLog,
  combined: () => ofCommonLog,
  tsv: () => ofColumns({ key: ['host', 'client', 'key'], at: ['time', 'ts'] }),
  zeek: () => ofColumns({ key: ['id.orig_h'], at: ['ts'] }),
};

const COMMON =
  /^(\S+) \S+ \S+ \[(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60) ([+-])(\d\d)([0-5]\d)\] "/;

/** What comes after the time is the client's to choose, and not looked at. */
function ofCommonLog(line) {
  const match = COMMON.exec(line);
  if (match === null) return undefined;
  const [, key, day, name, year, hour, minute, second, sign, hours, minutes] = match;
  const month = MONTHS.indexOf(name);
  const date = new Date(Date.UTC(Number(year), month, Number(day)));
  if (month === -1 || date.getUTCMonth() !== month) return undefined;
  const offset = (sign === '+' ? 1 : -1) * (Number(hours) * 60 + Number(minutes));
  const seconds = (Number(hour) * 60 + Number(minute) - offset) * 60 + Number(second);
  return request(key, date.getTime() + seconds * 1000);
}

/** Columns between tabs, by the names in a first line or after `#fields`. */
function ofColumns(names) {
  let columns;
  return (line) => {
    if (line.startsWith('#fields\t')) columns = columnsOf(line.split('\t').slice(1), names);
    if (line.startsWith('#')) return null;
    const cells = line.split('\t');
    if (columns === undefined) {
      columns = columnsOf(cells, names);
      return null;
    }
    const [key, at] = columns.map((column) => cells[column]);
    return key ? request(key, msOf(at)) : undefined;
  };
}

function columnsOf(header, { key, at }) {
  return [key, at].map((names) => {
    const column = header.findIndex((name) => names.includes(name));
    if (column === -1)
      throw new Error(`Expected a column called ${names.join(' or ')}, got ${header.join(', ')}.`);
    return column;
  });
}

/** Seconds in decimals, cut to whole ms: as digits, because a double of epoch seconds is a little off. */
function msOf(seconds) {
  const match = /^(\d{1,12})(?:\.(\d+))?$/.exec(seconds ?? '');
  return match === null ? NaN : Number(match[1]) * 1000 + Number(`${match[2] ?? ''}000`.slice(0, 3));
}

function request(key, at) {
  return at >= 0 ? { key, at } : undefined;
}
