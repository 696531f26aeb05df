/** Refusals of real servers, and the messages and exit codes that they lead to, for all users of `RetryingRedis`. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { createServer as createHttp } from 'node:http';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { RetryingRedis } from '../../src/redis/retry.ts';
import { freePort } from '../services/free-port.ts';
import { describeWith } from '../services/needed.ts';
import { RedisCluster } from '../services/redis-cluster.ts';
import { RedisServer } from '../services/redis.ts';

const PLAIN = ['--appendonly', 'no'];
const OUTAGE_MS = 1_500;

async function start(more: readonly string[] = []): Promise<RedisServer> {
  const server = await RedisServer.start([...PLAIN, ...more]);
  onTestFinished(() => server.end());
  return server;
}

function retryingRedis(uri: string, maxOutageMs = OUTAGE_MS): RetryingRedis {
  const redis = new RetryingRedis(uri, '~x:* +get', {
    maxOutageMs: () => maxOutageMs,
    wentDown: () => undefined,
    cameBack: () => undefined,
    signal: undefined,
  });
  onTestFinished(() => redis.close());
  return redis;
}

const write = (uri: string, maxOutageMs = OUTAGE_MS): Promise<unknown> =>
  retryingRedis(uri, maxOutageMs).ask((client) => client.set('x:1', 'a'));

async function admin<T>({ port }: RedisServer, work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(port, '127.0.0.1');
  try {
    return await work(client);
  } finally {
    client.disconnect();
  }
}

await describeWith('redis', 'what Redis refuses', () => {
  test('a database that the server does not have is 78, and database 0 stays untouched', async () => {
    const server = await start(['--databases', '4']);
    const at = (database: number): string => `redis://127.0.0.1:${server.port}/${database}`;
    await expect(write(at(4))).rejects.toMatchObject({ exitCode: 78, code: 'redis_database', hint: expect.stringContaining('databases') });
    expect(await admin(server, (client) => client.dbsize())).toBe(0);
    await write(at(3));
  });

  test('a server that restarts without the database is refused, and database 0 stays untouched', async () => {
    const [large, small] = [await start(), await start(['--databases', '4'])];
    const proxy = await proxyTo(large.port);
    const redis = retryingRedis(`redis://127.0.0.1:${proxy.port}/9`);
    await redis.ask((client) => client.set('x:1', 'a'));
    proxy.leadTo(small.port, true);
    await expect(redis.ask((client) => client.set('x:2', 'b'))).rejects.toMatchObject({ exitCode: 78, code: 'redis_database' });
    expect(await admin(small, (client) => client.dbsize())).toBe(0);
  });

  test('a wrong password, or a missing one, is 77', async () => {
    const server = await start(['--requirepass', 'right']);
    for (const user of ['', ':wrong@', 'nobody:right@'])
      await expect(write(`redis://${user}127.0.0.1:${server.port}/0`)).rejects.toMatchObject({ exitCode: 77, code: 'redis_credentials' });
    await write(`redis://:right@127.0.0.1:${server.port}/0`);
  });

  test('a missing right is 78 and the hint names the ACL rule, for a command, a key and a script', async () => {
    const server = await start();
    await admin(server, (client) => client.call('ACL', 'SETUSER', 'narrow', 'on', '>pw', '~x:*', '+info', '+set', '+eval'));
    const redis = retryingRedis(`redis://narrow:pw@127.0.0.1:${server.port}/0`);
    await redis.ask((client) => client.set('x:1', 'a'));
    const refused = { exitCode: 78, code: 'redis_rights', hint: expect.stringContaining('ACL SETUSER <user> ~x:* +get') };
    await expect(redis.ask((client) => client.get('x:1'))).rejects.toMatchObject(refused);
    await expect(redis.ask((client) => client.set('y:1', 'a'))).rejects.toMatchObject(refused);
    await expect(redis.ask((client) => client.eval("return redis.call('GET', KEYS[1])", 1, 'x:1'))).rejects.toMatchObject(refused);
    await expect(write(`redis://narrow:pw@127.0.0.1:${server.port}/1`)).rejects.toMatchObject({
      ...refused,
      message: expect.stringContaining("'select'"),
    });
  });

  test('a replica is 78 and names its primary when it is still a replica after the outage limit', async () => {
    const primary = await start();
    const replica = await start(['--replicaof', `127.0.0.1 ${primary.port}`]);
    await expect(write(replica.uri)).rejects.toMatchObject({
      exitCode: 78,
      code: 'redis_replica',
      message: expect.stringContaining(`replica of 127.0.0.1:${primary.port}`),
    });
  });

  test('a failover is followed: the address leads to the new primary, which executes the command', async () => {
    const old = await start();
    const next = await start(['--replicaof', `127.0.0.1 ${old.port}`]);
    const proxy = await proxyTo(old.port);
    const redis = retryingRedis(`redis://127.0.0.1:${proxy.port}/0`, 60_000);
    await redis.ask((client) => client.set('x:1', 'a'));
    await admin(next, (client) => client.replicaof('NO', 'ONE'));
    await admin(old, (client) => client.replicaof('127.0.0.1', next.port));
    const done = redis.ask((client) => client.set('x:2', 'b'));
    // The old primary has refused the command, and has been asked again, before the address changes.
    await proxy.connections(3);
    proxy.leadTo(next.port);
    await done;
    expect(await admin(next, (client) => client.get('x:2'))).toBe('b');
  });

  test('a server that loads its data is waited for', async () => {
    const server = await start();
    const LOADING = '-LOADING Redis is loading the dataset in memory\r\n';
    let refusals = 3;
    const proxy = await proxyTo(server.port, () => (refusals-- > 0 ? LOADING : null));
    await retryingRedis(`redis://127.0.0.1:${proxy.port}/0`, 60_000).ask((client) => client.set('x:1', 'a'));
    expect(await admin(server, (client) => client.get('x:1'))).toBe('a');
  });

  test('a server that is gone is 74 after the outage limit', async () => {
    await expect(write(`redis://127.0.0.1:${await freePort()}/0`)).rejects.toMatchObject({ exitCode: 74, code: 'redis_unavailable' });
  });

  test('a server that is not Redis is 78', async () => {
    const web = createHttp((_request, response) => response.end('hello')).listen(0, '127.0.0.1');
    onTestFinished(() => void web.close());
    await once(web, 'listening');
    await expect(write(`redis://127.0.0.1:${(web.address() as AddressInfo).port}/0`)).rejects.toMatchObject({
      exitCode: 78,
      code: 'redis_failed',
      message: expect.stringContaining('no Redis server'),
    });
  });

  test('TLS to a plain server is 78 with the right scheme; plain text to a TLS server is 74, and its hint names the scheme', async () => {
    const server = await start();
    await expect(write(`rediss://127.0.0.1:${server.port}/0`, 2 * OUTAGE_MS)).rejects.toMatchObject({
      exitCode: 78,
      code: 'redis_tls',
      hint: expect.stringContaining('redis:// instead'),
    });
    const { server: encrypted } = await RedisServer.startEncrypted(PLAIN);
    onTestFinished(() => encrypted.end());
    await expect(write(encrypted.uri)).rejects.toMatchObject({
      exitCode: 74,
      code: 'redis_unavailable',
      hint: expect.stringContaining('rediss://'),
    });
  });

  test('the server’s certificate must be trusted, the client’s is required, and both come from files', async () => {
    const { server, folder } = await RedisServer.startMutual();
    onTestFinished(() => server.end());
    const at = (parameters: string): string => `rediss://127.0.0.1:${server.port}/0${parameters.replaceAll('=', `=${folder}/`)}`;
    await expect(write(at(''))).rejects.toMatchObject({
      exitCode: 78,
      code: 'redis_certificate',
      hint: expect.stringContaining('?cacert='),
    });
    await expect(write(at('?cacert=strangers.crt'))).rejects.toMatchObject({ exitCode: 78, code: 'redis_certificate' });
    await expect(write(at('?cacert=ca.crt'))).rejects.toMatchObject({
      exitCode: 78,
      code: 'redis_client_certificate',
      hint: expect.stringContaining('?cert='),
    });
    await expect(write(at('?cacert=ca.crt&cert=stranger.crt&key=stranger.key'))).rejects.toMatchObject({
      exitCode: 78,
      code: 'redis_client_certificate',
    });
    await expect(write(at('?cacert=ca.crt&cert=client.crt&key=stranger.key'))).rejects.toMatchObject({
      exitCode: 78,
      code: 'redis_certificate_file',
    });
    await expect(write(at('?cacert=ca.crt&cert=gone.crt&key=client.key'))).rejects.toMatchObject({
      exitCode: 78,
      code: 'redis_certificate_file',
      message: expect.stringContaining('gone.crt'),
    });
    await write(at('?cacert=ca.crt&cert=client.crt&key=client.key'));
  });

  test('a cluster is found behind the address of one node, and has database 0 only', async () => {
    const cluster = await RedisCluster.start();
    onTestFinished(() => cluster.end());
    const redis = retryingRedis(cluster.uri);
    // These keys lie on three nodes.
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) await redis.ask((client) => client.set(key, key));
    expect([...(await cluster.keys()).values()].filter((keys) => keys.length > 0)).toHaveLength(3);
    expect(redis.masters).toHaveLength(3);
    await expect(write(cluster.uri.replace(/0$/, '1'))).rejects.toMatchObject({ exitCode: 78, code: 'redis_database' });
  });
});

interface TcpProxy {
  readonly port: number;
  /** @param cut true to end open connections */
  leadTo(port: number, cut?: boolean): void;
  /** Resolves when the proxy has accepted this many connections. */
  connections(count: number): Promise<void>;
}

/** A proxy in front of a server, as an address that follows a failover. @param answer replies instead of the server */
async function proxyTo(first: number, answer: () => string | null = () => null): Promise<TcpProxy> {
  let [target, count] = [first, 0];
  const sockets = new Set<Socket>();
  const server = createServer((from) => {
    count++;
    const to = connect(target, '127.0.0.1');
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(one);
      one.on('error', () => undefined);
      one.on('close', () => other.destroy());
    }
    from.on('data', (bytes) => {
      const instead = answer();
      if (instead === null) to.write(bytes);
      else from.write(instead);
    });
    to.pipe(from);
    server.emit('counted');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    leadTo: (port, cut = false) => {
      target = port;
      if (cut) for (const socket of sockets) socket.destroy();
    },
    connections: async (wanted) => {
      if (count >= wanted) return;
      await new Promise<void>((resolve) => server.on('counted', () => void (count >= wanted && resolve())));
    },
  };
}
