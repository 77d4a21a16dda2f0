import { likelyOption } from './likely-option.js';

const known = ['limit', 'window', 'key', 'headers', 'countOnly'];

it.each([
  ['max', 'limit'],
  ['windowMs', 'window'],
  ['keyGenerator', 'key'],
  ['skipFailedRequests', "countOnly: 'succeeded'"],
  ['skipSuccessfulRequests', "countOnly: 'failed'"],
  ['requestWasSuccessful', 'countOnly'],
  ['limt', 'limit'],
  ['limitt', 'limit'],
  ['lmiit', 'limit'],
  ['limot', 'limit'],
  ['header', 'headers'],
  ['countonly', 'countOnly'],
])('Who wrote %s may have meant %s', (written, meant) => {
  expect(likelyOption(written, known)).toBe(meant);
});

it.each(['burst', 'lt', '', 'toString', '__proto__', 'message', 'limits!'])(
  'Nobody knows what %j means',
  (written) => {
    expect(likelyOption(written, known)).toBeUndefined();
  },
);
