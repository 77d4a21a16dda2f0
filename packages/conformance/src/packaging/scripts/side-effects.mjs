// Prints what of the process was changed by loading each package, as JSON.

import { hasSubscribers } from 'node:diagnostics_channel';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const packages = ['core', 'core/redis', 'core/http', 'express', 'fastify', 'koa'].map(
  (path) => `@sluice/${path}`,
);

const kept = {
  global: globalThis,
  ...Object.fromEntries(
    [Object, Function, Array, Map, Set, WeakMap, Promise, Error, String, Number, Symbol].flatMap(
      (builtIn) => [
        [builtIn.name, builtIn],
        [`${builtIn.name}.prototype`, builtIn.prototype],
      ],
    ),
  ),
  process,
  env: process.env,
  console,
};

/** What code far away could notice. */
function seen() {
  const listeners = process.eventNames().map((name) => `${String(name)} ${process.listenerCount(name)}`);
  return {
    ...Object.fromEntries(Object.entries(kept).map(([name, what]) => [name, propertiesOf(what)])),
    listeners,
    // Timers, sockets and files that are open.
    resources: process.getActiveResourcesInfo(),
    channel: [hasSubscribers('fastify.initialization')],
  };
}

/** Names and values: a function that was replaced is a change too. */
function propertiesOf(what) {
  return Reflect.ownKeys(what).map((key) => [key, Object.getOwnPropertyDescriptor(what, key)?.value]);
}

function differences(before, after) {
  return Object.keys(before).filter((place) => {
    const [one, other] = [before[place].flat(), after[place].flat()];
    return one.length !== other.length || one.some((value, i) => !Object.is(value, other[i]));
  });
}

// Node makes some of its own things when somebody first looks at them.
seen();
const changes = {};
for (const name of packages) {
  const before = seen();
  require(name);
  await import(name);
  changes[name] = differences(before, seen());
}
console.log(JSON.stringify(changes));
