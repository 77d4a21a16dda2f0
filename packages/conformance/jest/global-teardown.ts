import { servers } from './servers.ts';

export default async function teardown(): Promise<void> {
  await Promise.all(servers.sluiceServers?.map((server) => server.stop()) ?? []);
}
