// Clients of JavaScript that come back by themselves, each with its own defaults as far as it has them. Each asks its
// path on the server of the first argument twice. Prints, by client, the texts that it got.

import { Octokit } from '@octokit/core';
import { throttling } from '@octokit/plugin-throttling';
import got from 'got';
import ky from 'ky';
import { Agent, RetryAgent, request } from 'undici';

const [, , server] = process.argv;

const agent = new RetryAgent(new Agent(), { statusCodes: [429] });
const yes = () => true;
const octokit = new (Octokit.plugin(throttling))({
  baseUrl: new URL(server).origin,
  throttle: { onRateLimit: yes, onSecondaryRateLimit: yes },
});

const clients = {
  ky: (url) => ky(url).text(),
  got: (url) => got(url).text(),
  undici: async (url) => (await request(url, { dispatcher: agent })).body.text(),
  octokit: async (url) => (await octokit.request(`GET ${new URL(url).pathname}`)).data,
};

async function twice(name, ask) {
  const url = new URL(name, server).href;
  return [name, [await ask(url), await ask(url)]];
}

const texts = await Promise.all(Object.entries(clients).map(([name, ask]) => twice(name, ask)));
process.stdout.write(JSON.stringify(Object.fromEntries(texts)));
await agent.close();
