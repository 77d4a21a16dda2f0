import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { redisCommand, sharedServers, startRedis } from './redis-server.js';

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('startRedis', () => {
  it('starts a server that answers, and frees its port when it stops', async () => {
    const server = await startRedis();
    expect(await redisCommand(server.port, 'PING')).toBe('PONG');
    await server.stop();
    await server.stop();
    await expect(redisCommand(server.port, 'PING')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(isRunning(server.pid)).toBe(false);
  });

  it('keeps nothing on disk, and passes arguments on', async () => {
    const server = await startRedis({ args: ['--maxmemory', '2mb'] });
    expect(await redisCommand(server.port, 'INFO', 'memory')).toContain('maxmemory:2097152');
    expect(await redisCommand(server.port, 'INFO', 'persistence')).toContain('aof_enabled:0');
    await server.stop();
  });

  it('comes back on the port of a server that was killed', async () => {
    const first = await startRedis();
    process.kill(first.pid, 'SIGKILL');
    await first.exited;
    const second = await startRedis({ port: first.port });
    expect(await redisCommand(first.port, 'PING')).toBe('PONG');
    expect(second.pid).not.toBe(first.pid);
    await second.stop();
  });

  it('stops a server that is suspended', async () => {
    const server = await startRedis();
    process.kill(server.pid, 'SIGSTOP');
    await server.stop();
    expect(isRunning(server.pid)).toBe(false);
  });

  it('says why a server did not start', async () => {
    const { port } = sharedServers();
    await expect(startRedis({ port })).rejects.toThrow(/address already in use/i);
    await expect(startRedis({ args: ['--no-such-option', '1'] })).rejects.toThrow(/no-such-option/);
    await expect(startRedis({ command: ['no-such-program'] })).rejects.toThrow(/ENOENT/);
  });

  it('starts a Sentinel', async () => {
    const { port } = sharedServers();
    const sentinel = await startRedis({
      config: `sentinel monitor main 127.0.0.1 ${port} 1`,
      args: ['--sentinel'],
    });
    expect(await redisCommand(sentinel.port, 'INFO', 'sentinel')).toContain('sentinel_masters:1');
    await sentinel.stop();
  });

  it('leaves no server behind when the process that started it is killed', async () => {
    const code = `
      require(${JSON.stringify(join(__dirname, 'redis-server.ts'))})
        .startRedis()
        .then((server) => { console.log(server.pid); setInterval(() => {}, 1000); });`;
    const starter = spawn(process.execPath, ['-r', 'esbuild-register', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await once(starter.stdout, 'data');
    const pid = Number(line);
    expect(isRunning(pid)).toBe(true);
    starter.kill('SIGKILL');
    for (let waited = 0; isRunning(pid) && waited < 5000; waited += 20) await sleep(20);
    expect(isRunning(pid)).toBe(false);
  });
});

describe('the servers that all test files share', () => {
  it('are one that answers', async () => {
    expect(await redisCommand(sharedServers().port, 'PING')).toBe('PONG');
  });

  it('and a cluster of three whose slots are all served', async () => {
    const { clusterPorts } = sharedServers();
    expect(new Set(clusterPorts).size).toBe(3);
    for (const port of clusterPorts) {
      const info = await redisCommand(port, 'CLUSTER', 'INFO');
      expect(info).toContain('cluster_state:ok');
      expect(info).toContain('cluster_slots_ok:16384');
      expect(info).toContain('cluster_size:3');
    }
  });
});
