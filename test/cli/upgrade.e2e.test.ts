/** A new version takes over from the serving one: under load, and when the new one fails. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, symlink, writeFile } from 'node:fs/promises';
import { Agent, request, type IncomingMessage } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createKey, listKeys } from '../../src/service/accounts/keys.ts';
import { loadPeople } from '../../src/service/store/rows/load.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import type { Store } from '../../src/service/store/store.ts';
import { cleanUp } from '../support/clean-up.ts';
import { CLI, Folder, type Started } from '../support/cli.ts';

const BODY = '{"email":"ada@acme.example"}';
const LINES = 2_000;
const RPM = 1_000;

let folder: Folder;
beforeAll(async () => {
  folder = await Folder.make();
  fill((store) => loadPeople(store, [{ id: 'pe_1', email: 'ada@acme.example', name: 'Ada Example' }], 'test'));
});
afterAll(() => folder.remove());

function fill<T>(work: (store: Store) => T): T {
  const store = openStore(folder.at('s.sqlite'));
  try {
    return work(store);
  } finally {
    store.close();
  }
}

interface Line {
  readonly url: string;
  readonly pid: number;
}

/** The standard output of the service, and of each successor. */
function lines(served: Started): Line[] {
  return served
    .stdout()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

/** Starts a service through a symlink, which an upgrade points to another version. */
async function start(): Promise<Started> {
  await rm(folder.at('current.js'), { force: true });
  await symlink(CLI, folder.at('current.js'));
  const served = folder.start(['serve', '--store', 's.sqlite', '--no-smtp', '--port', '0'], {
    program: [process.execPath, folder.at('current.js')],
  });
  // A successor is not a child process of the test.
  cleanUp(() => {
    for (const { pid } of lines(served)) tryToKill(pid);
  });
  await served.says(/^\{"url":.*\}$/m);
  return served;
}

function tryToKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has ended.
  }
}

interface Reply {
  /** The status, or the code of a connection error. */
  readonly status: number | string;
  readonly charged: number;
  readonly json: Record<string, unknown>;
}

async function send(
  url: string,
  key: string,
  {
    agent = false,
    method = 'POST',
    path = '/v1/enrich',
    type = 'application/json',
    body = BODY,
  }: { agent?: Agent | false; method?: string; path?: string; type?: string; body?: string } = {},
): Promise<Reply> {
  try {
    const sent = request(url + path, {
      agent,
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(method === 'GET' ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
      },
    });
    sent.setTimeout(20_000, () => sent.destroy(Object.assign(new Error('no answer'), { code: 'no answer' })));
    sent.end(method === 'GET' ? undefined : body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const json = JSON.parse(await text(response)) as Record<string, unknown>;
    return { status: response.statusCode ?? 0, charged: Number(response.headers['x-credits-charged']), json };
  } catch (error) {
    return { status: String((error as NodeJS.ErrnoException).code), charged: 0, json: {} };
  }
}

it('a successor takes over under load without a refused, lost, free or twice charged call, and each job is done once', async () => {
  const { free, narrow } = fill((store) => ({
    free: createKey(store, { plan: 'enterprise', credits: 1_000_000 }),
    narrow: createKey(store, { plan: 'growth', credits: 1_000_000 }),
  }));
  const served = await start();
  const [{ url }] = lines(served) as [Line];
  const {
    json: { id },
  } = await send(url, free.key, { path: '/v1/batches', body: '{"operation":"enrich"}' });
  const job = `/v1/batches/${String(id)}`;
  await send(url, free.key, { method: 'PUT', path: `${job}/parts/1`, type: 'application/x-ndjson', body: `${BODY}\n`.repeat(LINES) });

  const begunMs = performance.now();
  const told = { free: new Map<number | string, number>(), narrow: new Map<number | string, number>() };
  const charged = { free: 0, narrow: 0 };
  const over = new AbortController();
  const worker = async (name: 'free' | 'narrow', keepAlive: boolean): Promise<void> => {
    const agent = keepAlive ? new Agent({ keepAlive: true, maxSockets: 1 }) : false;
    while (!over.signal.aborted) {
      const reply = await send(url, name === 'free' ? free.key : narrow.key, { agent });
      told[name].set(reply.status, (told[name].get(reply.status) ?? 0) + 1);
      charged[name] += reply.charged;
    }
    if (agent !== false) agent.destroy();
  };
  const load = [worker('free', true), worker('free', true), worker('free', false), worker('narrow', true), worker('narrow', false)];
  await send(url, free.key, { path: `${job}/complete`, body: '' });
  served.kill('SIGUSR2');
  await served.says(/^\{"url":.*\}\n\{"url":.*\}$/m);
  if (served.child.exitCode === null) await once(served.child, 'exit');
  expect(served.child.exitCode).toBe(0);
  over.abort();
  await Promise.all(load);
  const minutes = (performance.now() - begunMs) / 60_000;

  expect([...told.free.keys()]).toEqual([200]);
  expect([...told.narrow.keys()].filter((status) => status !== 200 && status !== 429)).toEqual([]);
  expect(charged).toEqual({ free: told.free.get(200), narrow: told.narrow.get(200) });
  expect(charged.narrow).toBeLessThanOrEqual(RPM + Math.ceil(RPM * minutes));
  await expect
    .poll(async () => (await send(url, free.key, { method: 'GET', path: job })).json)
    .toMatchObject({ state: 'completed', counts: { succeeded: LINES }, credits_charged: LINES });
  const [, second] = lines(served) as [Line, Line];
  expect(second).toEqual({ url, pid: expect.any(Number) as number });
  process.kill(second.pid, 'SIGTERM');
  await expect.poll(() => fetch(url).catch(() => null)).toBeNull();
  const used = fill((store) => new Map(listKeys(store).map((one) => [one.id, one.creditsUsed])));
  expect([used.get(free.id), used.get(narrow.id)]).toEqual([charged.free + LINES, charged.narrow]);
});

it('a successor that fails takes nothing over, whether it ends at once or after it opened the store', async () => {
  const served = await start();
  const [{ url, pid }] = lines(served) as [Line];
  await rm(folder.at('current.js'));
  await writeFile(folder.at('current.js'), 'process.exit(1);');
  served.kill('SIGUSR2');
  await served.says(/"event":"successor_failed".*this process goes on/);
  await writeFile(
    folder.at('current.js'),
    `
    const { existsSync } = require('node:fs');
    process.send('ready');
    setInterval(() => existsSync('s.sqlite.owner') || process.exit(1), 5);`,
  );
  served.kill('SIGUSR2');
  await served.says(/"event":"successor_failed".*takes the store again/);
  await served.says(/^\{"url":.*\}\n\{"url":.*\}$/m);
  expect(lines(served)).toEqual([
    { url, pid },
    { url, pid },
  ]);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  served.kill('SIGTERM');
  expect((await served.ended).code).toBe(0);
});

it('a service restarted on a socket that systemd keeps refuses no connection', async () => {
  const { key } = fill((store) => createKey(store, { plan: 'enterprise' }));
  const made = createServer().listen(0, '127.0.0.1');
  await once(made, 'listening');
  const { port } = made.address() as AddressInfo;
  const { fd } = (made as unknown as { readonly _handle: { readonly fd: number } })._handle;
  // Like systemd: holds the socket, starts the service on it, and starts it again when it has ended.
  const script = 'serve() { sh -c \'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@"\' "$@"; }; serve "$@"; serve "$@"';
  const systemd = spawn(
    'sh',
    ['-c', script, 'sh', process.execPath, CLI, 'serve', '--store', 's.sqlite', '--no-smtp', '--log-level', 'error'],
    { cwd: folder.path, stdio: ['ignore', 'pipe', 'inherit', fd] },
  );
  made.close();
  const printed = createInterface({ input: systemd.stdout as Readable })[Symbol.asyncIterator]();
  const next = async (): Promise<Line> => JSON.parse((await printed.next()).value as string) as Line;
  const pids: number[] = [];
  cleanUp(() => {
    systemd.kill('SIGKILL');
    pids.forEach(tryToKill);
  });
  const first = await next();
  pids.push(first.pid);
  const statuses = new Set<number | string>();
  const over = new AbortController();
  const worker = async (agent: Agent | false): Promise<void> => {
    while (!over.signal.aborted) statuses.add((await send(first.url, key, { agent })).status);
  };
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const load = [worker(false), worker(agent)];
  process.kill(first.pid, 'SIGTERM');
  const second = await next();
  pids.push(second.pid);
  over.abort();
  await Promise.all(load);
  agent.destroy();
  expect([first.url, second.url, [...statuses]]).toEqual([`http://127.0.0.1:${port}`, first.url, [200]]);
  process.kill(second.pid, 'SIGTERM');
  await once(systemd, 'exit');
});
