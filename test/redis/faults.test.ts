/** What real servers refuse, and with which words and exit codes that ends: once for all that ask Redis through `PatientRedis`. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { createServer as createHttp } from 'node:http';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { PatientRedis } from '../../src/redis/patient.ts';
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

function patient(uri: string, maxOutageMs = OUTAGE_MS): PatientRedis {
  const redis = new PatientRedis(uri, '~x:* +get', { maxOutageMs: () => maxOutageMs, wentDown: () => undefined, cameBack: () => undefined, signal: undefined });
  onTestFinished(() => redis.close());
  return redis;
}

const write = (uri: string, maxOutageMs = OUTAGE_MS): Promise<unknown> => patient(uri, maxOutageMs).ask((client) => client.set('x:1', 'a'));

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

  test('a server that is started again without the database is refused then, and database 0 stays untouched', async () => {
    const [large, small] = [await start(), await start(['--databases', '4'])];
    const proxy = await proxyTo(large.port);
    const redis = patient(`redis://127.0.0.1:${proxy.port}/9`);
    await redis.ask((client) => client.set('x:1', 'a'));
    proxy.leadTo(small.port, true);
    await expect(redis.ask((client) => client.set('x:2', 'b'))).rejects.toMatchObject({ exitCode: 78, code: 'redis_database' });
    expect(await admin(small, (client) => client.dbsize())).toBe(0);
  });

  test('a wrong password, and none where one is wanted, are 77', async () => {
    const server = await start(['--requirepass', 'right']);
    for (const user of ['', ':wrong@', 'nobody:right@']) await expect(write(`redis://${user}127.0.0.1:${server.port}/0`)).rejects.toMatchObject({ exitCode: 77, code: 'redis_credentials' });
    await write(`redis://:right@127.0.0.1:${server.port}/0`);
  });

  test('a missing right is 78 and the hint names the ACL rule, for a command, a key and a script', async () => {
    const server = await start();
    await admin(server, (client) => client.call('ACL', 'SETUSER', 'narrow', 'on', '>pw', '~x:*', '+info', '+set', '+eval'));
    const redis = patient(`redis://narrow:pw@127.0.0.1:${server.port}/0`);
    await redis.ask((client) => client.set('x:1', 'a'));
    const refused = { exitCode: 78, code: 'redis_rights', hint: expect.stringContaining('ACL SETUSER <user> ~x:* +get') };
    await expect(redis.ask((client) => client.get('x:1'))).rejects.toMatchObject(refused);
    await expect(redis.ask((client) => client.set('y:1', 'a'))).rejects.toMatchObject(refused);
    await expect(redis.ask((client) => client.eval("return redis.call('GET', KEYS[1])", 1, 'x:1'))).rejects.toMatchObject(refused);
    await expect(write(`redis://narrow:pw@127.0.0.1:${server.port}/1`)).rejects.toMatchObject({ ...refused, message: expect.stringContaining("'select'") });
  });

  test('a replica is 78 and names its primary, when it still is one after the time of an outage', async () => {
    const primary = await start();
    const replica = await start(['--replicaof', `127.0.0.1 ${primary.port}`]);
    await expect(write(replica.uri)).rejects.toMatchObject({ exitCode: 78, code: 'redis_replica', message: expect.stringContaining(`replica of 127.0.0.1:${primary.port}`) });
  });

  test('a failover is followed: the address leads to the new primary, and the command is done there', async () => {
    const old = await start();
    const next = await start(['--replicaof', `127.0.0.1 ${old.port}`]);
    const proxy = await proxyTo(old.port);
    const redis = patient(`redis://127.0.0.1:${proxy.port}/0`, 60_000);
    await redis.ask((client) => client.set('x:1', 'a'));
    await admin(next, (client) => client.replicaof('NO', 'ONE'));
    await admin(old, (client) => client.replicaof('127.0.0.1', next.port));
    const done = redis.ask((client) => client.set('x:2', 'b'));
    // It has been refused by the old primary, and come back to it, before the address follows.
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
    await patient(`redis://127.0.0.1:${proxy.port}/0`, 60_000).ask((client) => client.set('x:1', 'a'));
    expect(await admin(server, (client) => client.get('x:1'))).toBe('a');
  });

  test('a server that is gone is 74 after the time of an outage', async () => {
    await expect(write(`redis://127.0.0.1:${await freePort()}/0`)).rejects.toMatchObject({ exitCode: 74, code: 'redis_unavailable' });
  });

  test('what is no Redis is 78', async () => {
    const web = createHttp((_request, response) => response.end('hello')).listen(0, '127.0.0.1');
    onTestFinished(() => void web.close());
    await once(web, 'listening');
    await expect(write(`redis://127.0.0.1:${(web.address() as AddressInfo).port}/0`)).rejects.toMatchObject({ exitCode: 78, code: 'redis_failed', message: expect.stringContaining('no Redis server') });
  });

  test('TLS to a server without it is 78 with the right scheme; a server for TLS resets what is plain, and the hint of its 74 asks about the scheme', async () => {
    const server = await start();
    await expect(write(`rediss://127.0.0.1:${server.port}/0`, 2 * OUTAGE_MS)).rejects.toMatchObject({ exitCode: 78, code: 'redis_tls', hint: expect.stringContaining('redis:// instead') });
    const { server: encrypted } = await RedisServer.startEncrypted(PLAIN);
    onTestFinished(() => encrypted.end());
    await expect(write(encrypted.uri)).rejects.toMatchObject({ exitCode: 74, code: 'redis_unavailable', hint: expect.stringContaining('rediss://') });
  });

  test('certificates: the server’s must be trusted, the client’s is wanted, and both come from files', async () => {
    const { server, folder } = await RedisServer.startMutual();
    onTestFinished(() => server.end());
    const at = (parameters: string): string => `rediss://127.0.0.1:${server.port}/0${parameters.replaceAll('=', `=${folder}/`)}`;
    await expect(write(at(''))).rejects.toMatchObject({ exitCode: 78, code: 'redis_certificate', hint: expect.stringContaining('?cacert=') });
    await expect(write(at('?cacert=strangers.crt'))).rejects.toMatchObject({ exitCode: 78, code: 'redis_certificate' });
    await expect(write(at('?cacert=ca.crt'))).rejects.toMatchObject({ exitCode: 78, code: 'redis_client_certificate', hint: expect.stringContaining('?cert=') });
    await expect(write(at('?cacert=ca.crt&cert=stranger.crt&key=stranger.key'))).rejects.toMatchObject({ exitCode: 78, code: 'redis_client_certificate' });
    await expect(write(at('?cacert=ca.crt&cert=client.crt&key=stranger.key'))).rejects.toMatchObject({ exitCode: 78, code: 'redis_certificate_file' });
    await expect(write(at('?cacert=ca.crt&cert=gone.crt&key=client.key'))).rejects.toMatchObject({ exitCode: 78, code: 'redis_certificate_file', message: expect.stringContaining('gone.crt') });
    await write(at('?cacert=ca.crt&cert=client.crt&key=client.key'));
  });

  test('a cluster is found behind an address of one node, and has database 0 only', async () => {
    const cluster = await RedisCluster.start();
    onTestFinished(() => cluster.end());
    const redis = patient(cluster.uri);
    // Keys of three nodes.
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) await redis.ask((client) => client.set(key, key));
    expect([...(await cluster.keys()).values()].filter((keys) => keys.length > 0)).toHaveLength(3);
    expect(redis.masters).toHaveLength(3);
    await expect(write(cluster.uri.replace(/0$/, '1'))).rejects.toMatchObject({ exitCode: 78, code: 'redis_database' });
  });
});

interface TcpProxy {
  readonly port: number;
  /** @param cut whether connections that are open end */
  leadTo(port: number, cut?: boolean): void;
  /** Resolves when it has taken so many connections. */
  connections(count: number): Promise<void>;
}

/** Stands before a server as an address does that follows a failover. @param answer instead of the server: to what comes */
async function proxyTo(first: number, answer: () => string | null = () => null): Promise<TcpProxy> {
  let [target, count] = [first, 0];
  const sockets = new Set<Socket>();
  const server = createServer((from) => {
    count++;
    const to = connect(target, '127.0.0.1');
    for (const [one, other] of [[from, to], [to, from]] as const) {
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
