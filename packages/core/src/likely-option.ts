/**
 * What someone may have meant who wrote an option that there is not.
 *
 * @module
 */

/** What other limiters call it. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  max: 'limit',
  points: 'limit',
  windowms: 'window',
  timewindow: 'window',
  duration: 'window',
  interval: 'window',
  keygenerator: 'key',
  id: 'key',
  message: 'body',
  standardheaders: 'headers',
  legacyheaders: 'headers',
  skipfailedrequests: "countOnly: 'succeeded'",
  skipsuccessfulrequests: "countOnly: 'failed'",
  allowlist: 'skip',
  whitelist: 'skip',
  redis: 'client',
  db: 'client',
  keyprefix: 'prefix',
  namespace: 'name',
  groupid: 'name',
  identifier: 'name',
  ipv6subnet: 'ipv6Prefix',
  requestwassuccessful: 'countOnly',
  passonstoreerror: 'onStoreError',
  skiponerror: 'onStoreError',
  insurancelimiter: 'onStoreError',
  errorresponsebuilder: 'body',
  errormessage: 'body',
  enabledraftspec: 'headers',
  addheaders: 'headers',
  disableheader: 'headers',
};

/** Returns the one of the `known` options, with its value where that is clear, that someone who wrote `key` may have meant, if there is one. */
export function likelyOption(key: string, known: readonly string[]): string | undefined {
  const lower = key.toLowerCase();
  const meant = Object.hasOwn(ELSEWHERE, lower) ? ELSEWHERE[lower] : undefined;
  if (meant !== undefined && known.includes(meant.split(':')[0])) return meant;
  return known.find((option) => isSlip(lower, option.toLowerCase()));
}

/** Whether one letter is missing, too many, another, or changed places with the next. */
function isSlip(written: string, meant: string): boolean {
  let same = 0;
  while (same < written.length && written[same] === meant[same]) same += 1;
  const [a, b] = [written.slice(same), meant.slice(same)];
  if (a === '' && b === '') return true;
  const swapped = a.length > 1 && a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2);
  return swapped || a.slice(1) === b || a === b.slice(1) || a.slice(1) === b.slice(1);
}
