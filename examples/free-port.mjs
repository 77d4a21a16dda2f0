import { once } from 'node:events';
import { createServer } from 'node:net';

/** Returns PORT if it is set, else the first port from 3000 on that nobody listens on. */
export async function freePort(port = 3000) {
  if (process.env.PORT) return Number(process.env.PORT);
  const probe = createServer();
  try {
    await once(probe.listen(port, '127.0.0.1'), 'listening');
    return port;
  } catch (error) {
    if (error.code !== 'EADDRINUSE') throw error;
    return freePort(port + 1);
  } finally {
    probe.close();
  }
}
