// Uses a RedisStore on clients that answer, fail, or say nothing, and prints how each call ended, as JSON. Nothing is closed:
// if the process does not end by itself, something keeps it alive.

import { createLimiter } from '@sluice/core';
import { RedisStore } from '@sluice/core/redis';

const answers = {
  // Such as Redis never gives, but an answer.
  answers: async () => [],
  fails: async () => {
    throw new Error('Connection is closed.');
  },
  hangs: () => new Promise(() => {}),
};

async function endOf(how, timeout, onStoreError) {
  const client = { evalsha: answers[how], eval: answers[how] };
  const store = new RedisStore({ client, timeout, onStateChange: () => {} });
  const limiter = createLimiter({ policies: [{ limit: 10, window: '1h' }], store, onStoreError });
  const ends = [];
  // So many that it is not asked any more.
  for (let i = 0; i < 4; i++) {
    ends.push(
      await limiter.consume('a').then(
        ({ allowed }) => allowed,
        ({ code }) => code,
      ),
    );
  }
  return ends;
}

const ends = {
  answers: { throw: await endOf('answers', '1h', 'throw') },
  fails: { throw: await endOf('fails', '1h', 'throw'), local: await endOf('fails', '1h', 'local') },
  hangs: { throw: await endOf('hangs', '20ms', 'throw'), local: await endOf('hangs', '20ms', 'local') },
};
console.log(JSON.stringify(ends));
