/**
 * Moving a slot of a cluster from one node to another, as an operator's tool does it: step by step.
 *
 * @module
 */

import { redisCommand } from '../../redis-server.js';

interface Node {
  readonly port: number;
  readonly id: string;
}

/** A slot on its way. */
export class Migration {
  readonly slot: number;
  readonly #from: Node;
  readonly #to: Node;
  readonly #ports: readonly number[];

  private constructor(slot: number, ports: readonly number[], from: Node, to: Node) {
    this.slot = slot;
    this.#ports = ports;
    this.#from = from;
    this.#to = to;
  }

  /** Finds the slot of `key`, its owner among the nodes, and another node for it. */
  static async of(key: string, ports: readonly number[]): Promise<Migration> {
    const slot = Number(await redisCommand(ports[0], 'CLUSTER', 'KEYSLOT', key));
    const owner = await ownerOf(slot, ports[0]);
    const nodes = await Promise.all(
      ports.map(async (port) => ({ port, id: await redisCommand(port, 'CLUSTER', 'MYID') })),
    );
    const from = nodes.find(({ id }) => id === owner);
    const to = nodes.find(({ id }) => id !== owner);
    if (from === undefined || to === undefined) throw new Error(`No node owns slot ${slot}.`);
    return new Migration(slot, ports, from, to);
  }

  /** The port of the node that owns the slot when it has moved. */
  get newOwner(): number {
    return this.#to.port;
  }

  /** From now on the slot is open: keys that are not at its owner are asked for at the other node. */
  async open(): Promise<void> {
    await demand(this.#to.port, 'CLUSTER', 'SETSLOT', this.slot, 'IMPORTING', this.#from.id);
    await demand(this.#from.port, 'CLUSTER', 'SETSLOT', this.slot, 'MIGRATING', this.#to.id);
  }

  /** Moves one key, if its owner has it. */
  async move(key: string): Promise<void> {
    const reply = await redisCommand(this.#from.port, 'MIGRATE', '127.0.0.1', this.#to.port, key, 0, 5000);
    if (reply !== 'OK' && reply !== 'NOKEY') throw new Error(`MIGRATE ${key}: ${reply}`);
  }

  /** Makes the other node the owner; all nodes are told, the new owner first. */
  async close(): Promise<void> {
    const others = this.#ports.filter((port) => port !== this.#to.port);
    for (const port of [this.#to.port, ...others]) {
      await demand(port, 'CLUSTER', 'SETSLOT', this.slot, 'NODE', this.#to.id);
    }
  }

  /** How many keys of the slot each of the two nodes has. */
  async keys(): Promise<{ from: number; to: number }> {
    const [from, to] = await Promise.all(
      [this.#from, this.#to].map(({ port }) => redisCommand(port, 'CLUSTER', 'COUNTKEYSINSLOT', this.slot)),
    );
    return { from: Number(from), to: Number(to) };
  }
}

async function ownerOf(slot: number, port: number): Promise<string | undefined> {
  const lines = (await redisCommand(port, 'CLUSTER', 'NODES')).split('\n');
  return lines.map((line) => line.split(' ')).find((fields) => fields.slice(8).some(has(slot)))?.[0];
}

function has(slot: number): (range: string) => boolean {
  return (range) => {
    const [first, last = first] = range.split('-').map(Number);
    return first <= slot && slot <= last;
  };
}

async function demand(port: number, ...parts: (string | number)[]): Promise<void> {
  const reply = await redisCommand(port, ...parts);
  if (reply !== 'OK') throw new Error(`${parts.join(' ')}: ${reply}`);
}
