/** The report of `millrace check` for each kind of damage. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { checkCommand } from '../../../../src/service/admin/check/check-command.ts';
import { checkStore } from '../../../../src/service/admin/check/check-store.ts';
import { printed } from '../../../support/printed.ts';
import { jobsOf, ndjson } from '../../batches/jobs.ts';
import { serveStore, temporaryFolder } from '../../harness.ts';
import { openStore } from '../../../../src/service/store/open-store.ts';
import { cutShort, flip, pagesOf, zeroPage } from './damage.ts';
import { makeFullStore, PEOPLE } from './full-store.ts';
import { copyStoreFiles } from '../../../support/store-files.ts';

const never = new AbortController().signal;
const folder = mkdtempSync(join(tmpdir(), 'millrace-check-'));
const whole = makeFullStore(folder);
afterAll(() => rmSync(folder, { recursive: true }));

/** A damaged copy of the sample store. */
async function damaged(damage: (path: string) => void): Promise<string> {
  const path = join(await temporaryFolder(), 's.sqlite');
  copyStoreFiles(whole, path);
  damage(path);
  return path;
}

async function found(path: string) {
  const before = readFileSync(path);
  const { findings, needsBackup } = await checkStore(path, Date.now(), never);
  expect(readFileSync(path).equals(before), 'a check changes nothing').toBe(true);
  return { needsBackup, findings: findings.map(({ code, table, count, names }) => ({ code, table, count, names })) };
}

it('a check of an intact store reports nothing, and leaves no file beside it', async () => {
  const path = await damaged(() => undefined);
  expect(await found(path)).toEqual({ needsBackup: false, findings: [] });
  expect(readdirSync(join(path, '..'))).toEqual(['s.books.sqlite', 's.sqlite']);
});

it('a check names the people of a zeroed page by their ids', async () => {
  const path = await damaged((store) => zeroPage(store, pagesOf(store, 'people').leaves[3] as number));
  const { needsBackup, findings } = await found(path);
  expect(needsBackup).toBe(true);
  expect(findings).toEqual([{ code: 'records_damaged', table: 'people', count: expect.any(Number), names: expect.any(Array) }]);
  const [{ count, names } = expect.fail()] = findings;
  expect([names.length, count]).toEqual([Math.min(100, count ?? 0), expect.any(Number)]);
  expect(new Set(names).size).toBe(names.length);
  // They are adjacent, in the order of loading.
  const numbers = names.map((name) => Number(name.slice(3))).toSorted((one, other) => one - other);
  expect(numbers.at(-1)! - numbers[0]!).toBe(numbers.length - 1);
  expect(numbers[0]).toBeGreaterThan(0);
});

it('a check names a company whose text was flipped, though every page is well-formed', async () => {
  const path = await damaged((store) => {
    const [leaf = 0] = pagesOf(store, 'companies').leaves;
    const bytes = readFileSync(store);
    const at = bytes.indexOf('"name":"Company 7"', (leaf - 1) * 8_192) - (leaf - 1) * 8_192;
    flip(store, leaf, at, at + 3);
  });
  expect(await found(path)).toEqual({
    needsBackup: true,
    findings: [{ code: 'records_damaged', table: 'companies', count: 1, names: ['c7.example'] }],
  });
});

it.each([
  ['an index of people', 'people_by_name', { code: 'index_damaged', table: 'people', names: ['people_by_name'] }],
  ['search', 'person_postings', { code: 'search_damaged', table: null, names: ['person_postings'] }],
])('damage to %s is reported as repairable without a backup', async (_what, name, finding) => {
  const path = await damaged((store) => zeroPage(store, pagesOf(store, name).leaves[1] as number));
  const { needsBackup, findings } = await found(path);
  expect([needsBackup, findings]).toEqual([false, [{ ...finding, count: 1 }]]);
});

it('a check counts all people as damaged when an inner page is damaged, by the index with their ids', async () => {
  const path = await damaged((store) => zeroPage(store, pagesOf(store, 'people').root));
  expect((await found(path)).findings).toMatchObject([{ code: 'records_damaged', table: 'people', count: PEOPLE }]);
});

it.each([
  ['the header', (store: string) => flip(store, 1, 0, 16), 'file_damaged'],
  ['the list of tables', (store: string) => flip(store, 1, 100, 200), 'file_damaged'],
  ['the end, which is missing,', (store: string) => cutShort(store, 0.3), 'file_cut'],
])('damage to %s is reported with the need for a backup', async (_what, damage, code) => {
  expect(await found(await damaged(damage))).toMatchObject({ needsBackup: true, findings: [{ code, count: null }] });
});

it('a check reports a search index that disagrees with the records', async () => {
  const path = await damaged((store) => {
    const open = openStore(store);
    open.exec(
      "UPDATE people SET doc = replace(doc, 'Person', 'Other') WHERE seq BETWEEN 1 AND 20; DELETE FROM person_term_lists WHERE person = 9",
    );
    open.close();
  });
  expect(await found(path)).toMatchObject({ needsBackup: false, findings: [{ code: 'search_damaged', table: null }] });
});

it('a check names batch-job files that are missing, truncated or flipped, and files of no job', async () => {
  const service = await serveStore();
  const jobs = jobsOf(service);
  const ids = [];
  for (let n = 0; n < 3; n++) ids.push((await jobs.run({ operation: 'enrich' }, ndjson({ email: 'jane.doe@acme.example' }))).id);
  const { id: open } = await jobs.create({ operation: 'enrich' });
  await jobs.put(open, 1, ndjson({ email: 'jane.doe@acme.example' }));
  await service.close();
  expect((await found(service.store)).findings).toEqual([]);
  const at = (id = '', name = ''): string => join(`${service.store}.batches`, id, name);
  const fileOf = (id = ''): string =>
    at(
      id,
      readdirSync(at(id)).find((name) => /^(results|part)/.test(name)),
    );
  rmSync(fileOf(ids[0]));
  truncateSync(fileOf(ids[1]), 10);
  const bytes = readFileSync(fileOf(ids[2]));
  bytes[2] = 0;
  writeFileSync(fileOf(ids[2]), bytes);
  truncateSync(fileOf(open), 1);
  writeFileSync(at(open, 'part-9-stray'), 'x');
  utimesSync(at(open, 'part-9-stray'), 1, 1);
  const { needsBackup, findings } = await found(service.store);
  expect(needsBackup).toBe(true);
  expect(findings).toEqual([
    {
      code: 'batch_files_damaged',
      table: 'batch_files',
      count: 4,
      names: [
        expect.stringMatching(/is missing$/),
        expect.stringMatching(/bytes are missing$/),
        expect.stringMatching(/line 1 cannot be read$/),
        expect.stringMatching(/bytes are missing$/),
      ],
    },
    { code: 'left_over', table: null, count: 1, names: [join(open, 'part-9-stray')] },
  ]);
});

it('a check works beside a running service, and reports no damage', async () => {
  const service = await serveStore();
  await service.post('/v1/enrich', { email: 'jane.doe@acme.example' });
  expect(JSON.parse(await printed(() => checkCommand(service.store, true, never)))).toEqual({
    store: service.store,
    damaged: false,
    findings: [],
    next: null,
  });
  expect(existsSync(`${service.store}-wal`)).toBe(true);
});

it('a check prints the damage and the next command, and ends with 65', async () => {
  const path = await damaged((store) => zeroPage(store, pagesOf(store, 'people').leaves[0] as number));
  let failure: unknown = null;
  const text = await printed(() => checkCommand(path, false, never).catch((error: unknown) => (failure = error)));
  const [, hit, left] = /cannot be read: (\d+); (\d+) can/.exec(text) ?? [];
  expect(Number(hit) + Number(left)).toBe(PEOPLE);
  expect(text).toMatch(
    /^\S+: damaged\n  people that cannot be read: \d+; \d+ can:\n    pe_\d+\n[^]*\nnext: millrace check --store \S+ --restore BACKUP\n$/,
  );
  expect(failure).toMatchObject({ exitCode: 65, code: 'store_damaged' });
});

it('a check refuses a file that is not a store', async () => {
  await expect(checkStore(join(await temporaryFolder(), 'none'), 0, never)).rejects.toMatchObject({ exitCode: 65, code: 'store_missing' });
});
