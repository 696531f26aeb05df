/** Restores batch jobs with their files. */
import { readdirSync, rmSync, symlinkSync, truncateSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { checkStore } from '../../../../src/service/admin/check/check-store.ts';
import { backupCommand } from '../../../../src/service/admin/export/backup.ts';
import { restoreCommand } from '../../../../src/service/admin/restore/restore-command.ts';
import { restorationText, type Restoration } from '../../../../src/service/admin/restore/restoration.ts';
import { booksOf } from '../../../../src/service/store/owner/store-name.ts';
import { openStore } from '../../../../src/service/store/open-store.ts';
import { suppressCommand } from '../../../../src/service/admin/suppress-command.ts';
import { printed } from '../../../support/printed.ts';
import { jobsOf, ndjson } from '../../batches/jobs.ts';
import { pagesOf, zeroPage } from '../check/damage.ts';
import { makeKey, makeStore, serveStore, temporaryFolder } from '../../harness.ts';

const JANE = 'jane.doe@acme.example';
const never = new AbortController().signal;

async function served(store: string, key: string) {
  const service = await serveStore({ store });
  return { service, jobs: jobsOf(service, key) };
}

async function restored(path: string, backup: string | null): Promise<Restoration> {
  const report = JSON.parse(await printed(() => restoreCommand(path, backup, true, never))) as Restoration;
  expect((await checkStore(path, Date.now(), never)).isDamaged).toBe(report.batches.lost.length > 0);
  return report;
}

const resultsOf = (store: string, id: string): string =>
  join(`${store}.batches`, id, readdirSync(join(`${store}.batches`, id)).find((name) => name.startsWith('results')) ?? '');

it('a completed job gets its results from the backup, without people who were erased since', async () => {
  const path = await makeStore();
  const key = await makeKey(path, 'enterprise', { credits: 5_000 });
  const { service, jobs } = await served(path, key);
  const { id } = await jobs.run({ operation: 'enrich' }, ndjson({ email: JANE }, { id: 'pe_3' }));
  const lines = await jobs.lines(id);
  const backup = join(dirname(path), 'b.sqlite');
  await printed(() => backupCommand(path, backup, never));
  await service.close();
  rmSync(resultsOf(path, id));
  const report = await restored(path, backup);
  expect(report.batches).toEqual({ files: 1, setBack: [], lost: [] });
  expect(restorationText(report)).toContain('\n  files of batch jobs that were missing or damaged: 1 from the backup\n');
  const again = await served(path, key);
  expect(await again.jobs.lines(id)).toEqual(lines);
  await again.service.close();
  await printed(() =>
    suppressCommand(
      path,
      (async function* () {
        yield [JANE];
      })(),
    ),
  );
  rmSync(resultsOf(path, id));
  await restored(path, backup);
  expect(await (await served(path, key)).jobs.lines(id)).toMatchObject([
    { status: 'failed', error: { code: 'suppressed_person' } },
    { status: 'succeeded' },
  ]);
});

it('a job with lost results continues from the backup, and gets back what they cost', async () => {
  const path = await makeStore();
  const key = await makeKey(path, 'enterprise', { credits: 5_000 });
  const { service, jobs } = await served(path, key);
  const { id } = await jobs.create({ operation: 'enrich', max_credits: 1_000 });
  await jobs.put(id, 1, ndjson(...Array.from({ length: 1_200 }, () => ({ email: JANE }))));
  await jobs.complete(id);
  await jobs.until(id, 'paused');
  const backup = join(dirname(path), 'b.sqlite');
  await printed(() => backupCommand(path, backup, never));
  const goOn = { body: '{"max_credits":5000}', headers: { 'content-type': 'application/json' } };
  await jobs.send('PATCH', `/${id}`, goOn);
  await jobs.until(id, 'completed');
  await service.close();
  truncateSync(resultsOf(path, id), 10);
  expect((await restored(path, backup)).batches).toEqual({
    files: 2,
    setBack: [{ id, fromLine: 1_001, lines: 200, credits: 200 }],
    lost: [],
  });
  expect(books(path).credits).toBe(1_000);
  const again = await served(path, key);
  await again.jobs.send('PATCH', `/${id}`, goOn);
  await again.jobs.until(id, 'completed');
  expect((await again.jobs.lines(id)).map(({ line }) => line)).toEqual(Array.from({ length: 1_200 }, (_, n) => n + 1));
  await again.service.close();
  expect(books(path).credits).toBe(1_200);
});

it('files and erasures are found beside the store, and files beside the backup, when both are named by links', async () => {
  const path = await makeStore();
  const key = await makeKey(path, 'enterprise');
  const { service, jobs } = await served(path, key);
  const { id } = await jobs.run({ operation: 'enrich' }, ndjson({ id: 'pe_3' }));
  const backup = join(dirname(path), 'b.sqlite');
  await printed(() => backupCommand(path, backup, never));
  await service.close();
  const elsewhere = await temporaryFolder();
  const [link, backupLink] = [join(elsewhere, 'store'), join(elsewhere, 'backup')];
  symlinkSync(path, link);
  symlinkSync(backup, backupLink);
  expect((await checkStore(link, Date.now(), never)).findings).toEqual([]);
  rmSync(resultsOf(path, id));
  expect((await restored(link, backupLink)).batches).toEqual({ files: 1, setBack: [], lost: [] });
  await printed(() =>
    suppressCommand(
      link,
      (async function* () {
        yield [JANE];
      })(),
    ),
  );
  rmSync(path);
  expect(await restored(path, backupLink)).toMatchObject({ erasures_known: true, people_erased: 1 });
  expect(readdirSync(elsewhere).toSorted()).toEqual(['backup', 'store']);
});

it.each([
  ['a trial key gets back its calls too', () => undefined, 2],
  [
    'a key that was restored from the backup gets no refund, because its books lack the repeated lines',
    (path: string) => zeroPage(booksOf(path), pagesOf(booksOf(path), 'keys').root),
    0,
  ],
])('%s', async (_what, damage, again) => {
  const path = await makeStore();
  const key = await makeKey(path, 'trial', { credits: 100 });
  const { service, jobs } = await served(path, key);
  const { id } = await jobs.create({ operation: 'enrich', max_credits: 1 });
  await jobs.put(id, 1, ndjson({ email: JANE }, { email: JANE }, { email: JANE }));
  await jobs.complete(id);
  await jobs.until(id, 'paused');
  const backup = join(dirname(path), 'b.sqlite');
  await printed(() => backupCommand(path, backup, never));
  const atBackup = books(path);
  await jobs.send('PATCH', `/${id}`, { body: '{"max_credits":100}', headers: { 'content-type': 'application/json' } });
  await jobs.until(id, 'completed');
  await service.close();
  const { credits, calls } = books(path);
  truncateSync(resultsOf(path, id), 10);
  damage(path);
  expect((await restored(path, backup)).batches.setBack).toEqual([{ id, fromLine: 2, lines: 2, credits: again }]);
  expect(books(path)).toEqual(again === 0 ? atBackup : { credits: credits - 2, calls: calls - 2 });
});

it.each([2, 3])('a job that lost its row after %i lines reports no line twice, and costs nothing twice', async (done) => {
  const path = await makeStore();
  const key = await makeKey(path, 'enterprise', { credits: 100 });
  const { service, jobs } = await served(path, key);
  const { id } = await jobs.create({ operation: 'enrich', max_credits: 1 });
  await jobs.put(id, 1, ndjson({ email: JANE }, { email: JANE }, { email: JANE }));
  await jobs.complete(id);
  await jobs.until(id, 'paused');
  const backup = join(dirname(path), 'b.sqlite');
  await printed(() => backupCommand(path, backup, never));
  const raise = (most: number) => ({ body: `{"max_credits":${most}}`, headers: { 'content-type': 'application/json' } });
  await jobs.send('PATCH', `/${id}`, raise(done));
  await vi.waitFor(() => expect(books(path).credits).toBe(done), { timeout: 20_000 });
  await service.close();
  zeroPage(booksOf(path), pagesOf(booksOf(path), 'batches').root);
  expect((await restored(path, backup)).batches).toMatchObject({
    setBack: [{ id, fromLine: 2, lines: done - 1, credits: done - 1 }],
    lost: [],
  });
  expect(books(path).credits).toBe(1);
  const again = await served(path, key);
  await again.jobs.send('PATCH', `/${id}`, raise(100));
  await again.jobs.until(id, 'completed');
  expect((await again.jobs.lines(id)).map(({ line }) => line)).toEqual([1, 2, 3]);
  await again.service.close();
  expect(books(path).credits).toBe(3);
});

it('a job with lost results in store and backup is reported', async () => {
  const path = await makeStore();
  const key = await makeKey(path, 'enterprise');
  const { service, jobs } = await served(path, key);
  const { id } = await jobs.run({ operation: 'enrich' }, ndjson({ email: JANE }));
  await service.close();
  truncateSync(resultsOf(path, id), 10);
  expect((await restored(path, null)).batches).toEqual({ files: 0, setBack: [], lost: [id] });
});

function books(path: string): { readonly credits: number; readonly calls: number } {
  const store = openStore(path);
  try {
    return { ...store.books.prepare('SELECT credits_used AS credits, calls_used AS calls FROM keys').get() } as {
      credits: number;
      calls: number;
    };
  } finally {
    store.close();
  }
}
