import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { releaseDead } from '../../../../src/service/batches/held-files.ts';
import { backupCommand } from '../../../../src/service/admin/export/backup.ts';
import { suppressCommand } from '../../../../src/service/admin/suppress-command.ts';
import { openStore } from '../../../../src/service/store/open-store.ts';
import { jobsOf, ndjson } from '../../batches/jobs.ts';
import { pagesOf, zeroPage } from '../check/damage.ts';
import { makeKey, makeStore, serveStore, temporaryFolder } from '../../harness.ts';
import { load } from '../../loading.ts';
import { printed } from '../../../support/printed.ts';

const JANE = 'jane.doe@acme.example';
const never = new AbortController().signal;

/** A service with a key from the store. */
async function served() {
  const store = await makeStore();
  const key = await makeKey(store, 'enterprise');
  const service = await serveStore({ store });
  return { service, key, jobs: jobsOf(service, key) };
}

it('a backup does not replace a store that another process opened meanwhile', async () => {
  const from = await makeStore();
  const folder = await temporaryFolder();
  const to = join(folder, 'b.sqlite');
  const made = backupCommand(from, to, never);
  const served = openStore(to);
  const [failure] = await Promise.all([made.catch((error: unknown) => error), load(served, [{ email: 'ada@acme.example' }])]);
  expect(failure).toMatchObject({ exitCode: 65, code: 'output_not_ours' });
  served.close();
  expect(await readFile(to, 'latin1')).toContain('ada@acme.example');
  expect(await readdir(folder)).toEqual(['b.books.sqlite', 'b.sqlite']);
});

it('a backup has the files of batch jobs: a paused job continues from it, and repeats no line', async () => {
  const { service, key, jobs } = await served();
  const done = await jobs.run({ operation: 'enrich' }, ndjson({ email: JANE }));
  const { id } = await jobs.create({ operation: 'enrich', max_credits: 1_000 });
  await jobs.put(id, 1, ndjson(...Array.from({ length: 1_500 }, (_, n) => ({ custom_id: `c${n}`, email: JANE }))));
  await jobs.complete(id);
  await jobs.until(id, 'paused');
  const to = join(await temporaryFolder(), 'b.sqlite');
  const { batches } = JSON.parse(await printed(() => backupCommand(service.store, to, never))) as { batches: { files: number } };
  expect(batches.files).toBe(3);
  expect([(await readdir(join(`${to}.batches`, id))).length, (await stat(`${to}.batches`)).mode & 0o777]).toEqual([2, 0o700]);
  // The backup has none of the store's writes after this.
  await jobs.send('DELETE', `/${done.id}`);
  await service.close();
  // Ends the ownership, because this process is still alive.
  const copy = openStore(to);
  copy.books.exec('DELETE FROM batch_lease');
  copy.close();

  const restored = jobsOf(await serveStore({ store: to }), key);
  expect(await restored.lines(done.id)).toMatchObject([{ line: 1, record: { email: JANE } }]);
  expect(await restored.get(id)).toMatchObject({ state: 'paused', credits_charged: 1_000 });
  await restored.send('PATCH', `/${id}`, { body: '{"max_credits":5000}', headers: { 'content-type': 'application/json' } });
  expect(await restored.until(id, 'completed')).toMatchObject({ counts: { succeeded: 1_500 }, credits_charged: 1_500 });
  expect((await restored.lines(id)).map(({ line }) => line)).toEqual(Array.from({ length: 1_500 }, (_, n) => n + 1));
});

it('a backup replaces an earlier one with its files, and leaves foreign files beside it', async () => {
  const service = await serveStore();
  const jobs = jobsOf(service);
  const first = await jobs.run({ operation: 'enrich' }, ndjson({ email: JANE }));
  const to = join(await temporaryFolder(), 'b.sqlite');
  await printed(() => backupCommand(service.store, to, never));
  await jobs.send('DELETE', `/${first.id}`);
  const second = await jobs.run({ operation: 'enrich' }, ndjson({ email: JANE }));
  // The part file is removed shortly after the job is completed.
  const kept = (await readdir(join(`${service.store}.batches`, second.id))).find((name) => name.startsWith('results'));
  await mkdir(join(`${to}.batches`, 'notes'));
  await writeFile(join(`${to}.batches`, 'notes', 'mine.txt'), 'x');
  await printed(() => backupCommand(service.store, to, never));
  expect((await readdir(`${to}.batches`)).toSorted()).toEqual([second.id, 'notes'].toSorted());
  expect(await readdir(join(`${to}.batches`, second.id))).toEqual([kept]);
  expect((await readdir(join(service.store, '..'))).filter((name) => name.includes('backup'))).toEqual([]);
});

it('a backup reports the files that a store has lost, and copies the rest', async () => {
  const service = await serveStore();
  const jobs = jobsOf(service);
  const [one, other] = [
    await jobs.run({ operation: 'enrich' }, ndjson({ email: JANE })),
    await jobs.run({ operation: 'enrich' }, ndjson({ email: JANE })),
  ];
  const results = (await readdir(join(`${service.store}.batches`, one.id))).find((name) => name.startsWith('results'));
  await writeFile(join(`${service.store}.batches`, one.id, results ?? ''), 'cut');
  const to = join(await temporaryFolder(), 'b.sqlite');
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  await printed(() => backupCommand(service.store, to, never));
  expect(said.mock.calls.join('')).toContain('1 file of batch jobs is missing or cut short');
  said.mockRestore();
  expect(await readdir(`${to}.batches`)).toEqual([other.id]);
});

it('a backup removes files that a killed backup had linked, because they may name a person who was erased since', async () => {
  const path = await makeStore();
  // No process has this id.
  const dead = `${path}.batches.backup-${hostname()}:4194999:abc`;
  await mkdir(dead);
  await releaseDead(path);
  expect(existsSync(dead)).toBe(false);
});

it('an erasure in a backup reaches the results of its batch jobs', async () => {
  const { service, key, jobs } = await served();
  const { id } = await jobs.run({ operation: 'enrich' }, ndjson({ email: JANE }));
  const to = join(await temporaryFolder(), 'b.sqlite');
  await printed(() => backupCommand(service.store, to, never));
  await printed(() =>
    suppressCommand(
      to,
      (async function* () {
        yield [JANE];
      })(),
    ),
  );
  const restored = await serveStore({ store: to });
  expect(await jobsOf(restored, key).lines(id)).toMatchObject([{ status: 'failed', record: null, error: { code: 'suppressed_person' } }]);
});

it('a backup does not replace a file that is not a backup', async () => {
  const from = await makeStore();
  const folder = await temporaryFolder();
  const [to, empty] = [join(folder, 'crm.csv'), join(folder, 'empty.sqlite')];
  await writeFile(to, 'email\nada@acme.example\n');
  await writeFile(empty, '');
  await expect(backupCommand(from, to, never)).rejects.toMatchObject({ exitCode: 65, code: 'output_not_ours' });
  expect(await readFile(to, 'latin1')).toBe('email\nada@acme.example\n');
  await printed(() => backupCommand(from, empty, never));
  expect((await stat(empty)).size).toBeGreaterThan(0);
});

it('a copy of a damaged store does not replace an earlier backup', async () => {
  const from = await makeStore();
  const folder = await temporaryFolder();
  const to = join(folder, 'b.sqlite');
  await printed(() => backupCommand(from, to, never));
  const before = await readFile(to);
  zeroPage(from, pagesOf(from, 'people').leaves[0] ?? 0);
  await expect(backupCommand(from, to, never)).rejects.toMatchObject({
    exitCode: 74,
    code: 'store_unreadable',
    hint: expect.stringContaining('millrace check'),
  });
  expect([await readdir(folder), before.equals(await readFile(to))]).toEqual([['b.books.sqlite', 'b.sqlite'], true]);
});
