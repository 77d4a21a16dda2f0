// The child process of one contender: opens a workload and does its steps one by one, as it is told.
// argv: the workload's file, the contender's name, options as JSON.

const [file, name, options] = process.argv.slice(2);
const { open, collectsFirst = true } = await import(file);
const workload = await open(name, JSON.parse(options));

process.on('message', async ({ step, args }) => {
  try {
    // Nobody pays for the garbage of what came before, nor for moving to the old space what lives long.
    if (collectsFirst) globalThis.gc();
    const cpu = process.cpuUsage();
    const start = performance.now();
    const value = await workload[step](...args);
    const wallMs = performance.now() - start;
    const { user, system } = process.cpuUsage(cpu);
    process.send({ value, wallMs, cpuMs: (user + system) / 1000 });
  } catch (error) {
    process.send({ error: error.stack });
  }
});
process.on('disconnect', () => process.exit());
process.send({ ready: true });
