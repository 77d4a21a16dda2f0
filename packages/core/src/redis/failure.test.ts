import { failureOf, isNoScript, isOutage } from './failure.js';

/** An error as a client makes it. */
function errorOf(message: string, more: object = {}): Error {
  return Object.assign(new Error(message), more);
}

const reply = (message: string) => errorOf(message, { name: 'ReplyError' });

const SHA = 'f_0123456789abcdef0123456789abcdef01234567';

/** What servers say, as seen on Redis 6, 7 and 8, and Valkey 8. */
const REPLIES: readonly [text: string, code: string, outage: boolean][] = [
  ["READONLY You can't write against a read only replica.", 'READONLY', true],
  [
    `READONLY You can't write against a read only replica. script: ${SHA.slice(2)}, on @user_script:1.`,
    'READONLY',
    true,
  ],
  [
    `ERR Error running script (call to ${SHA}): @user_script:1: -READONLY You can't write against a read only replica.`,
    'READONLY',
    true,
  ],
  ['MISCONF Redis is configured to save RDB snapshots, but it is unable to persist.', 'READONLY', true],
  ['NOREPLICAS Not enough good replicas to write.', 'READONLY', true],
  ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", 'READONLY', true],
  ["OOM command not allowed when used memory > 'maxmemory'.", 'OOM', true],
  [
    `ERR Error running script (call to ${SHA}): @user_script:1: @user_script: 1: -OOM command not allowed when used memory > 'maxmemory'.`,
    'OOM',
    true,
  ],
  ["NOPERM User limiter has no permissions to run the 'evalsha' command", 'NOPERM', true],
  ['NOPERM No permissions to access a key', 'NOPERM', true],
  [
    `ERR The user executing the script can't run this command or subcommand script: ${SHA.slice(2)}, on @user_script:1.`,
    'NOPERM',
    true,
  ],
  [
    `ERR ACL failure in script: User limiter has no permissions to run the 'get' command script: ${SHA.slice(2)}, on @user_script:1.`,
    'NOPERM',
    true,
  ],
  ['NOAUTH Authentication required.', 'NOPERM', true],
  ['WRONGPASS invalid username-password pair or user is disabled.', 'NOPERM', true],
  ['BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.', 'BUSY', true],
  ['LOADING Redis is loading the dataset in memory', 'LOADING', true],
  ['CLUSTERDOWN The cluster is down', 'CLUSTERDOWN', true],
  ['CLUSTERDOWN Hash slot not served', 'CLUSTERDOWN', true],
  ['MOVED 3999 127.0.0.1:6381', 'MOVED', true],
  ['Too many Cluster redirections. Last error: ReplyError: MOVED 3999 127.0.0.1:6381', 'MOVED', true],
  ['ASK 3999 127.0.0.1:6381', 'ASK', true],
  ['TRYAGAIN Multiple keys request during rehashing of slot', 'ASK', true],
  ['NOSCRIPT No matching script. Please use EVAL.', 'NOSCRIPT', true],
  ["ERR unknown command 'evalsha', with args beginning with: ", '', true],
  ['WRONGTYPE Operation against a key holding the wrong kind of value', '', false],
  [
    `WRONGTYPE Operation against a key holding the wrong kind of value script: ${SHA.slice(2)}, on @user_script:1.`,
    '',
    false,
  ],
  ['ERR user_script:7: sluice: expected whole numbers up to 2^53 - 1', '', false],
  [`ERR Error running script (call to ${SHA}): @user_script:1: attempt to index a nil value`, '', false],
];

const codeFor = (kind: string) => (kind === '' ? 'ERR_SLUICE_STORE' : `ERR_SLUICE_STORE_${kind}`);

describe('An error of the server', () => {
  it.each(REPLIES)(
    'has its code, and has run nothing, but where a command of the script is not allowed: %s',
    (text, kind, outage) => {
      const outcome = kind === 'NOPERM' && text.includes(' script: ') ? 'unknown' : 'not-run';
      for (const error of [reply(text), errorOf(text), text, errorOf(`ReplyError: ${text}`)]) {
        // Without a word that is known, only a client that says so makes it certain that the server did.
        if (kind === '' && !(error instanceof Error && error.name === 'ReplyError')) continue;
        const failure = failureOf(error, false);
        expect(failure).toMatchObject({ name: 'StoreError', code: codeFor(kind), outcome });
        expect(failure.cause).toBe(error);
        expect(failure.message).toContain(text);
        expect(isOutage(failure)).toBe(outage);
      }
    },
  );

  it('of a word that is not known may be that of a proxy, which had sent the command on', () => {
    for (const name of ['ReplyError', 'ErrorReply', 'SimpleError', 'BlobError']) {
      const named = { [name]: class extends Error {} }[name];
      expect(failureOf(new named('FOOBAR strange'), false)).toMatchObject({
        code: 'ERR_SLUICE_STORE',
        outcome: 'unknown',
      });
    }
    expect(failureOf(reply('ERR upstream failure'), false).outcome).toBe('unknown');
  });

  it('has no word that is only part of another', () => {
    for (const text of ['ERR MYREADONLY thing', 'ERR BUSYKEY Target key name already exists.', 'ERR TASK']) {
      expect(failureOf(reply(text), false).code).toBe('ERR_SLUICE_STORE');
    }
  });
});

describe('An error of the client', () => {
  const never: readonly [string, unknown][] = [
    ['ioredis, offline queue off', errorOf("Stream isn't writeable and enableOfflineQueue options is false")],
    [
      'ioredis Cluster, offline queue off',
      errorOf("Cluster isn't ready and enableOfflineQueue options is false"),
    ],
    ['node-redis, offline queue off', errorOf('The client is offline', { name: 'ClientOfflineError' })],
    ['node-redis, closed', errorOf('The client is closed', { name: 'ClientClosedError' })],
    ['node-redis, queue full', errorOf('The queue is full')],
    ['refused', errorOf('connect ECONNREFUSED 127.0.0.1:1', { code: 'ECONNREFUSED' })],
    ['no such host', errorOf('getaddrinfo ENOTFOUND redis', { code: 'ENOTFOUND' })],
    [
      'refused at two addresses',
      Object.assign(new AggregateError([errorOf('connect ECONNREFUSED ::1:1')]), { code: 'ECONNREFUSED' }),
    ],
  ];
  it.each(never)('has run nothing where there was no connection: %s', (_, error) => {
    const failure = failureOf(error, false);
    expect(failure).toMatchObject({ code: 'ERR_SLUICE_STORE_CONNECTION', outcome: 'not-run', cause: error });
    expect(isOutage(failure)).toBe(true);
  });

  const perhaps: readonly [string, unknown][] = [
    ['ioredis, lost', errorOf('Connection is closed.')],
    [
      'ioredis, retries over',
      errorOf('Reached the max retries per request limit (which is 20). Refer to …', {
        name: 'MaxRetriesPerRequestError',
      }),
    ],
    ['ioredis Cluster', errorOf('Failed to refresh slots cache.', { name: 'ClusterAllFailedError' })],
    ['node-redis, lost', errorOf('Socket closed unexpectedly', { name: 'SocketClosedUnexpectedlyError' })],
    ['node-redis, ended', errorOf('Disconnects client', { name: 'DisconnectsClientError' })],
    ['reset', errorOf('read ECONNRESET', { code: 'ECONNRESET' })],
    ['broken pipe', errorOf('write EPIPE', { code: 'EPIPE' })],
    ['lost, and then refused', errorOf('Connection lost: connect ECONNREFUSED 127.0.0.1:1')],
  ];
  it.each(perhaps)('may have run where the connection was lost: %s', (_, error) => {
    const failure = failureOf(error, false);
    expect(failure).toMatchObject({ code: 'ERR_SLUICE_STORE_CONNECTION', outcome: 'unknown' });
    expect(isOutage(failure)).toBe(true);
    expect(failureOf(error, true).outcome).toBe('not-run');
  });

  it('that ran out of time has the code of the deadline, and may have run', () => {
    for (const text of ['Command timed out', 'Socket timeout', 'connect ETIMEDOUT']) {
      const timeout = /^Comm/.test(text);
      expect(failureOf(errorOf(text), false)).toMatchObject({
        code: timeout ? 'ERR_SLUICE_STORE_TIMEOUT' : expect.stringMatching(/TIMEOUT|CONNECTION/),
        outcome: 'unknown',
      });
    }
  });

  it('that is of no kind, or no error, may have run', () => {
    for (const error of [errorOf('Whoops'), new TypeError('x is not a function'), undefined, null, 7, {}]) {
      expect(failureOf(error, false)).toMatchObject({ code: 'ERR_SLUICE_STORE', outcome: 'unknown' });
    }
  });

  it('is looked through for what the server said', () => {
    const inner = reply('LOADING Redis is loading the dataset in memory');
    const carriers = [
      errorOf('Connection is closed.', { cause: inner }),
      errorOf('Reached the max retries per request limit', { previousErrors: [errorOf('x'), inner] }),
      errorOf('Failed to refresh slots cache.', { lastNodeError: errorOf('down', { cause: inner }) }),
      new AggregateError([errorOf('Connection is closed.'), inner], 'All failed'),
    ];
    for (const error of carriers) {
      // Another attempt may have run.
      expect(failureOf(error, false)).toMatchObject({ code: 'ERR_SLUICE_STORE_LOADING', outcome: 'unknown' });
    }
  });

  it('may carry itself', () => {
    const error = errorOf('round');
    Object.assign(error, { cause: error, errors: [error] });
    expect(failureOf(error, false).code).toBe('ERR_SLUICE_STORE');
  });
});

describe('NOSCRIPT', () => {
  it('is known wherever it stands in the text, and not by what the error carries', () => {
    const text = 'NOSCRIPT No matching script. Please use EVAL.';
    expect(isNoScript(reply(text))).toBe(true);
    expect(isNoScript(errorOf(`ERR Error in pipeline: -${text}`))).toBe(true);
    expect(isNoScript(errorOf('Connection is closed.', { previousErrors: [reply(text)] }))).toBe(false);
    expect(isNoScript(reply('ERR NOSCRIPTS'))).toBe(false);
    expect(isNoScript(undefined)).toBe(false);
  });
});
