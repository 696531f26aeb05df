/** The rights in the documentation are sufficient, and each is necessary: real users of a real server with an ACL. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { beforeAll, afterAll, expect, onTestFinished, test } from 'vitest';
import { LEDGER_RIGHTS } from '../../src/ledger/redis/redis-keys.ts';
import { RedisContents } from '../../src/ledger/redis/redis-contents.ts';
import { RedisReadOnlyLedger } from '../../src/ledger/redis/redis-read-only-ledger.ts';
import { silentTeller } from '../../src/ledger/options.ts';
import { openSharedQuota } from '../../src/limiter/rules/shared/open-shared-quota.ts';
import { QUOTA_RIGHTS, RedisQuotaStore } from '../../src/limiter/rules/shared/redis-store.ts';
import { redisSite, START, temporaryFolder } from '../ledger/shared.ts';
import { describeWith } from '../services/needed.ts';
import { RedisCluster } from '../services/redis-cluster.ts';
import { RedisServer } from '../services/redis.ts';

const docs = (name: string): string => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
const commandsOf = (rights: string): string[] => rights.split(' ').filter((right) => right.startsWith('+'));

let opened = 0;

/** Every use of a ledger, in order: runs, `plan`, `stats` and `purge`. */
async function useLedger(uri: string): Promise<void> {
  const site = redisSite(uri);
  const ledger = await site.open();
  // A missing right of a run shows here, before the run calls the service.
  opened++;
  const scope = ledger.scope('https://api.example', 'enrich', 'by email');
  await new Promise<void>((resolve, reject) => {
    ledger.listen({ moved: () => undefined, failed: reject });
    ledger.ask(scope, 'k', () => resolve());
  });
  ledger.put([{ scope, key: 'k', answer: { kind: 'miss' } }]);
  await ledger.keep();
  await ledger.close();
  const peek = RedisReadOnlyLedger.open(
    { uri, path: `${temporaryFolder()}/peek` },
    { job: 'nightly', run: 'run-1', maxAgeDays: 0, now: () => START, since: START, maxOutageMs: 1_000, keySeed: '', tell: silentTeller },
  );
  const contents = RedisContents.open(uri);
  try {
    const peeked = peek.scope('https://api.example', 'enrich', 'by email');
    await peek.fetch([{ scope: peeked, key: 'k' }]);
    expect(peek.look(peeked, 'k')).toEqual({ kind: 'miss' });
    expect(await contents.stats({ maxAgeDays: 0, now: START })).toMatchObject({ runs: 1 });
    expect(await contents.purge({ email: null, before: START + 1 })).toMatchObject({ answers: 1 });
  } finally {
    await peek.close();
    contents.close();
  }
}

/** Every use of a shared quota. */
async function useQuota(uri: string): Promise<void> {
  const quota = await openSharedQuota({
    uri,
    account: randomUUID(),
    rpm: 600,
    windows: [],
    workload: 'a',
    podsAtLeast: 1,
    onStateChange: () => undefined,
  });
  opened++;
  await quota.close();
  const store = new RedisQuotaStore(uri, randomUUID());
  try {
    const turn = { pod: 'a.1', token: 'a.1~0', want: 1, inFlight: 0, spent: 0, events: [{ kind: 'unsent', ids: ['x'] } as const] };
    await store.turn(turn);
    await store.lead({ token: turn.token, events: [{ kind: 'grant', pod: 'a.1', ids: ['1'] }], freeAtMs: 0, forget: ['b.1'] });
    await store.history();
    await store.leave('a.1', turn.token, turn.events);
  } finally {
    store.close();
  }
}

const USES = [
  { what: 'a ledger', rights: LEDGER_RIGHTS, page: 'ledger.md', use: useLedger, later: ['+mget', '+scan'] },
  { what: 'a shared quota', rights: QUOTA_RIGHTS, page: 'running.md', use: useQuota, later: [] as string[] },
];

await describeWith('redis', 'the rights of a user', () => {
  let server: RedisServer;
  let client: Redis;
  beforeAll(async () => {
    server = await RedisServer.start(['--appendonly', 'no']);
    client = new Redis(server.port, '127.0.0.1');
  });
  afterAll(async () => {
    client.disconnect();
    await server.end();
  });
  const asUser = async (rights: readonly string[], database = 1): Promise<string> => {
    const name = randomUUID();
    await client.call('ACL', 'SETUSER', name, 'on', '>pw', ...rights);
    return `redis://${name}:pw@127.0.0.1:${server.port}/${database}`;
  };

  test.each(USES)('$what: the ACL line in docs/$page is sufficient', async ({ rights, page, use }) => {
    expect(docs(page)).toContain(`${rights}\n`);
    await use(await asUser(rights.split(' ')));
  });

  test.each(USES)(
    '$what: without any one right a run is refused before its first call, and the remedy is the whole line',
    async ({ rights, use, later }) => {
      for (const missing of commandsOf(rights).filter((right) => right !== '+cluster|slots')) {
        const fewer = rights.split(' ').filter((right) => right !== missing);
        opened = 0;
        await client.flushall();
        await client.script('FLUSH');
        await expect(use(await asUser(fewer)), missing).rejects.toMatchObject({
          exitCode: 78,
          code: 'redis_rights',
          hint: expect.stringContaining(`ACL SETUSER <user> ${rights};`),
        });
        expect([missing, opened]).toEqual([missing, later.includes(missing) ? 1 : 0]);
      }
      const elsewhere = rights.replace(/~\S+/, '~other:*').split(' ');
      await expect(use(await asUser(elsewhere))).rejects.toMatchObject({ exitCode: 78, code: 'redis_rights' });
    },
  );

  test.each(USES)('$what: the same line is sufficient in a cluster', async ({ rights, use }) => {
    const cluster = await RedisCluster.start();
    onTestFinished(() => cluster.end());
    for (const port of cluster.ports) {
      const node = new Redis(port, '127.0.0.1');
      await node.call('ACL', 'SETUSER', 'whole', 'on', '>pw', ...rights.split(' '));
      await node.call('ACL', 'SETUSER', 'fewer', 'on', '>pw', ...rights.split(' ').filter((right) => right !== '+cluster|slots'));
      node.disconnect();
    }
    const as = (user: string): string => cluster.uri.replace('//', `//${user}:pw@`);
    await expect(use(as('fewer'))).rejects.toMatchObject({ exitCode: 78, code: 'redis_rights' });
    await use(as('whole'));
  });
});
