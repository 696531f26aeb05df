/** One store has one owner, although processes compete for it, pause, are killed and are replaced. */
import { copyFile, link, rename, rm, symlink } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createKey } from '../../src/service/accounts/keys.ts';
import { loadPeople } from '../../src/service/store/rows/load.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import { Folder, type Ended, type Started } from '../support/cli.ts';
import { serve, type ServedProcess } from '../support/served.ts';

const SERVE = ['serve', '--store', 's.sqlite', '--no-smtp', '--port'];

let folder: Folder;
let key = '';
beforeAll(async () => {
  folder = await Folder.make();
  const store = openStore(folder.at('s.sqlite'));
  loadPeople(store, [{ id: 'pe_1', email: 'ada@acme.example', name: 'Ada Example' }], 'test');
  key = createKey(store, { plan: 'enterprise', credits: 100 }).key;
  store.close();
});
afterAll(() => folder.remove());

const start = (...args: string[]): Promise<ServedProcess> => serve(folder, ['--store', 's.sqlite', '--no-smtp', ...args]);

function heldBy(pid: number | undefined, url: string): Partial<Ended> {
  return {
    code: 75,
    stdout: '',
    stderr: expect.stringMatching(
      new RegExp(`^millrace: another process has the store .*: process ${pid} on \\S+, since 20\\S+Z, at ${url}\\n  .*--take-over`, 'm'),
    ) as string,
  };
}

async function enrich(url: string): Promise<number> {
  const reply = await fetch(`${url}/v1/enrich`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: '{"email":"ada@acme.example"}',
  });
  return reply.status;
}

/** Resolves with the line that a service prints, or null when it ends without one. */
async function answers(started: Started): Promise<{ readonly url: string; readonly pid: number } | null> {
  return started.says(/^\{"url":.*\}$/m).then(
    () => JSON.parse(started.stdout()) as { url: string; pid: number },
    () => null,
  );
}

it('two services started at once on one store: one serves, the other ends with 75 and names it', async () => {
  const both = [folder.start([...SERVE, '0']), folder.start([...SERVE, '0'])];
  const lines = await Promise.all(both.map(answers));
  const [served, ...more] = lines.filter((line) => line !== null);
  expect(more).toEqual([]);
  const { url, pid } = served as { url: string; pid: number };
  const [winner, loser] = lines[0] === null ? [both[1], both[0]] : both;
  expect(await loser?.ended).toMatchObject(heldBy(pid, url));
  expect(await enrich(url)).toBe(200);
  winner?.kill('SIGTERM');
  expect((await winner?.ended)?.code).toBe(0);
  expect((await folder.files()).filter((name) => name.startsWith('s.sqlite'))).toEqual(['s.sqlite', 's.sqlite.lock']);
});

it('a paused service keeps its store under any path, a killed one frees it at once, and one whose store is replaced ends', async () => {
  const first = await start();
  first.kill('SIGSTOP');
  await symlink('s.sqlite', folder.at('link.sqlite'));
  await link(folder.at('s.sqlite'), folder.at('hard.sqlite'));
  const others = await Promise.all(['link', 'hard'].map((name) => folder.run(['serve', '--store', `${name}.sqlite`, '--port', '0'])));
  for (const other of others) expect(other).toMatchObject(heldBy(first.child.pid, first.url));
  await rm(folder.at('hard.sqlite'));
  first.kill('SIGCONT');
  expect(await enrich(first.url)).toBe(200);
  first.kill('SIGKILL');
  await first.ended;
  const next = await start();
  expect(await enrich(next.url)).toBe(200);

  // The next service takes its store and its address.
  const { port } = new URL(next.url);
  const third = folder.start([...SERVE, port, '--take-over']);
  expect(await answers(third)).toEqual({ url: next.url, pid: third.child.pid });
  expect((await next.ended).code).toBe(0);
  expect(await enrich(next.url)).toBe(200);

  await copyFile(folder.at('s.sqlite'), folder.at('restored.sqlite'));
  await rename(folder.at('restored.sqlite'), folder.at('s.sqlite'));
  expect(await third.ended).toMatchObject({
    code: 74,
    stderr: expect.stringMatching(/the store \S+s\.sqlite was replaced by another file while it was served\n/) as string,
  });
});
