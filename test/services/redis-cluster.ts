/** A real Redis Cluster of three masters on the loopback interface. It starts in about a second. */
import { Cluster, Redis } from 'ioredis';
import { Daemons } from './daemons.ts';
import { freePort } from './free-port.ts';

const MASTERS = 3;
const SLOTS = 16_384;
/** Milliseconds without an answer after which a node counts as dead. */
const NODE_TIMEOUT_MS = 1_000;

interface Node {
  readonly name: string;
  readonly port: number;
  readonly busPort: number;
}

export class RedisCluster {
  readonly #daemons: Daemons;
  readonly #nodes: readonly Node[];

  private constructor(daemons: Daemons, nodes: readonly Node[]) {
    this.#daemons = daemons;
    this.#nodes = nodes;
  }

  static async start(): Promise<RedisCluster> {
    const nodes = await Promise.all(
      Array.from({ length: MASTERS + 1 }, async (_, i) => ({ name: `node${i}`, port: await freePort(), busPort: await freePort() })),
    );
    const cluster = new RedisCluster(await Daemons.make('redis-cluster'), nodes);
    for (const [i, node] of nodes.slice(0, MASTERS).entries()) {
      await cluster.#startNode(node);
      const [from, to] = [Math.ceil((i * SLOTS) / MASTERS), Math.ceil(((i + 1) * SLOTS) / MASTERS) - 1];
      await cluster.#on(node, async (client) => {
        await client.call('CLUSTER', 'ADDSLOTSRANGE', from, to);
        await client.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
        await cluster.#meet(client);
      });
    }
    for (const node of nodes.slice(0, MASTERS))
      await cluster.#until(
        node,
        async (client) => (await client.cluster('INFO')).includes('cluster_state:ok') && (await client.cluster('SLOTS')).length === MASTERS,
      );
    return cluster;
  }

  /** The address of its first node. */
  get uri(): string {
    return `redis://127.0.0.1:${this.#first.port}/0`;
  }

  get ports(): readonly number[] {
    return this.#nodes.slice(0, MASTERS).map(({ port }) => port);
  }

  /** The port of the master that owns a key. */
  masterOf(key: string): Promise<number> {
    return this.#on(this.#first, async (client) => {
      const slot = await client.cluster('KEYSLOT', key);
      return Number((await client.cluster('SLOTS')).find(([from, to]) => from <= slot && slot <= to)?.[2]?.[1]);
    });
  }

  /** Adds a replica, and resolves when it is in sync. */
  async addReplica(master: number): Promise<void> {
    const node = this.#nodes[MASTERS] as Node;
    await this.#startNode(node);
    const id = String(await this.#on(this.#at(master), (client) => client.call('CLUSTER', 'MYID')));
    await this.#on(node, (client) => this.#meet(client));
    await this.#until(node, async (client) => String(await client.call('CLUSTER', 'NODES')).includes(id));
    await this.#on(node, (client) => client.call('CLUSTER', 'REPLICATE', id));
    await this.#until(node, async (client) => (await client.info('replication')).includes('master_link_status:up'));
    // The other masters must know it too, so that they can vote for it.
    for (const other of this.#nodes.slice(0, MASTERS))
      await this.#until(other, async (client) =>
        new RegExp(`:${node.port}@\\d+ slave`).test(String(await client.call('CLUSTER', 'NODES'))),
      );
  }

  kill(port: number): Promise<void> {
    return this.#daemons.kill(this.#at(port).name);
  }

  /** Resolves when the node listens; the cluster may need a moment more. */
  startAgain(port: number): Promise<void> {
    return this.#startNode(this.#at(port));
  }

  async clear(): Promise<void> {
    for (const node of this.#nodes.slice(0, MASTERS)) await this.#on(node, (client) => client.flushall());
  }

  /** All keys of all masters, by the master's port. */
  async keys(): Promise<Map<number, string[]>> {
    return new Map(
      await Promise.all(
        this.#nodes.slice(0, MASTERS).map(async (node) => [node.port, await this.#on(node, (client) => client.keys('*'))] as const),
      ),
    );
  }

  client(): Cluster {
    return new Cluster([{ host: '127.0.0.1', port: this.#first.port }]);
  }

  end(): Promise<void> {
    return this.#daemons.end();
  }

  get #first(): Node {
    return this.#nodes[0] as Node;
  }

  #at(port: number): Node {
    const node = this.#nodes.find((one) => one.port === port);
    if (node === undefined) throw new Error(`no node at ${port}`);
    return node;
  }

  async #startNode({ name, port, busPort }: Node): Promise<void> {
    const ofCluster = [
      '--cluster-enabled',
      'yes',
      '--cluster-config-file',
      `${name}.conf`,
      '--cluster-node-timeout',
      String(NODE_TIMEOUT_MS),
      '--cluster-port',
      String(busPort),
      '--cluster-replica-validity-factor',
      '0',
    ];
    this.#daemons.start(name, 'redis-server', [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--dir',
      this.#daemons.folder,
      '--save',
      '',
      '--appendonly',
      'yes',
      '--appendfsync',
      'always',
      '--appenddirname',
      `${name}.aof`,
      ...ofCluster,
    ]);
    await this.#daemons.listens(name, port);
  }

  async #meet(client: Redis): Promise<void> {
    await client.call('CLUSTER', 'MEET', '127.0.0.1', this.#first.port, this.#first.busPort);
  }

  async #on<T>({ port }: Node, work: (client: Redis) => Promise<T>): Promise<T> {
    const client = new Redis(port, '127.0.0.1');
    try {
      return await work(client);
    } finally {
      client.disconnect();
    }
  }

  async #until(node: Node, holds: (client: Redis) => Promise<boolean>): Promise<void> {
    await this.#on(node, async (client) => {
      while (!(await holds(client))) await new Promise((resolve) => setTimeout(resolve, 50));
    });
  }
}
