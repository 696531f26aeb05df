/** The two files of a store, with a SIGKILL before every write: nobody erased comes back, and no event is lost or doubled. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { catchUp } from '../../src/service/erasure/catch-up.ts';
import { booksOf } from '../../src/service/store/owner/store-name.ts';
import type { Store } from '../../src/service/store/store.ts';
import type { Folder } from '../support/cli.ts';
import { sampleOf } from '../support/sample.ts';
import { copyStoreFiles, removeStoreFiles } from '../support/store-files.ts';
import { expectWhole, folderWithStore, killedAt, rowsOf, UNDIVIDED, using } from './killed-store.ts';

const ERASED = 'person3@acme.example';
const longTimeout = { timeout: 600_000 };

let folder: Folder;
beforeAll(async () => {
  folder = await folderWithStore();
  const people = Array.from({ length: 12 }, (_, n) =>
    JSON.stringify({
      id: `p${n}`,
      email: `person${n}@acme.example`,
      name: `First${n} Last${n}`,
      title: n === 5 || n === 6 ? 'Director' : 'Engineer',
      company_domain: 'acme.example',
      linkedin_url: `https://linkedin.com/in/person${n}`,
      updated_at: '2026-03-01',
    }),
  );
  writeFileSync(folder.at('people.jsonl'), people.map((line) => `${line}\n`).join(''));
});
afterAll(() => folder.remove());

function begin(store: string): string {
  const path = folder.at(store);
  removeStoreFiles(path);
  rmSync(`${path}.erased`, { force: true });
  copyStoreFiles(folder.at('divided.sqlite'), path);
  return path;
}

const contentOf = (path: string): unknown => using(path, (store) => ({ directory: rowsOf(store), books: rowsOf(store.books) }));

it('a store of version 1 is divided without a lost row, killed before any write', longTimeout, async () => {
  const path = folder.at('s.sqlite');
  const fresh = (): void => {
    removeStoreFiles(path);
    writeFileSync(path, UNDIVIDED);
  };
  fresh();
  const before = new DatabaseSync(path);
  const rows = rowsOf(before);
  before.close();
  const divide = ['keys', 'list', '--store', 's.sqlite'];
  const { writes } = await killedAt(folder, 0, divide);
  const whole = contentOf(path) as { directory: Record<string, unknown>; books: Record<string, unknown> };
  const { sqlite_sequence: last, ...tables } = rows;
  const { sqlite_sequence: lastOfDirectory, ...directory } = whole.directory;
  const { sqlite_sequence: lastOfBooks, ...books } = whole.books;
  expect({ ...directory, ...books }).toEqual(tables);
  const bySequence = (all: unknown): unknown => (all as { name: string }[]).toSorted((one, other) => (one.name < other.name ? -1 : 1));
  expect(bySequence([...(lastOfDirectory as unknown[]), ...(lastOfBooks as unknown[])])).toEqual(bySequence(last));
  expect(Object.keys(directory)).toEqual(expect.arrayContaining(['people', 'signals', 'job_changes', 'deliveries']));
  expect(Object.keys(books)).toEqual(expect.arrayContaining(['keys', 'answers', 'webhooks', 'batches', 'suppressions']));
  // Both files change, and the directory last.
  expect(writes.filter((write) => write.endsWith(' COMMIT'))).toEqual(['s.books.sqlite COMMIT', 's.sqlite COMMIT']);
  for (let nth = 1; nth <= writes.length; nth++) {
    fresh();
    await killedAt(folder, nth, divide);
    // A second kill at the same place, then a whole run.
    await killedAt(folder, nth, divide);
    expect(contentOf(path), `killed before ${writes[nth - 1] ?? ''}`).toEqual(whole);
    await expectWhole(path);
  }
});

const people = (store: Store): unknown[] =>
  store
    .prepare('SELECT id FROM people ORDER BY id')
    .all()
    .map(({ id }) => id);
/** The rows that name the erased person. */
const traces = (store: Store): unknown => ({
  people: people(store).filter((id) => id === 'p3'),
  signals: store.prepare("SELECT id FROM signals WHERE id = 's0'").all(),
  mail: store.prepare('SELECT email FROM deliveries WHERE email = ?').all(ERASED),
});

it('nobody who was erased comes back, after a kill before any write of the erasure', longTimeout, async () => {
  const path = begin('e.sqlite');
  const erase = ['suppress', '--store', 'e.sqlite', ERASED];
  const { writes } = await killedAt(folder, 0, erase);
  const gone = { people: [], signals: [], mail: [] };
  expect(using(path, traces)).toEqual(gone);
  const commits = writes.filter((write) => write.endsWith(' COMMIT'));
  // Digests, then the directory, then what the books have about the person.
  expect(commits.slice(0, 2)).toEqual(['e.books.sqlite COMMIT', 'e.sqlite COMMIT']);
  const before = using(begin('e.sqlite'), (store) => ({ people: people(store), suppressions: rowsOf(store.books)['suppressions'] }));
  for (let nth = 1; nth <= writes.length; nth++) {
    begin('e.sqlite');
    await killedAt(folder, nth, erase);
    const hasBegun = using(path, ({ books }) => books.prepare('SELECT erasures FROM books_state').get()?.['erasures'] !== 0);
    // The next command that writes.
    await folder.run(['import', '--store', 'e.sqlite', '--contacts', 'people.jsonl']);
    const after = using(path, (store) => ({ people: people(store), suppressions: rowsOf(store.books)['suppressions'] }));
    const what = `killed before ${writes[nth - 1] ?? ''}`;
    if (hasBegun) expect(using(path, traces), what).toEqual(gone);
    else expect(after, what).toEqual(before);
    expect(
      using(path, ({ books }) => books.prepare('SELECT open_since FROM books_state').get()),
      what,
    ).toEqual({ open_since: null });
    await expectWhole(path);
  }
});

it('every job change is recorded once, after a kill before any write of the import', longTimeout, async () => {
  const path = begin('i.sqlite');
  const load = ['import', '--store', 'i.sqlite', '--contacts', 'people.jsonl'];
  const { writes } = await killedAt(folder, 0, load);
  const changes = (): unknown => using(path, (store) => store.prepare('SELECT person, doc FROM job_changes ORDER BY seq').all());
  const whole = { changes: changes(), people: using(path, people) };
  expect((whole.changes as unknown[]).length).toBe(6);
  for (let nth = 1; nth <= writes.length; nth++) {
    begin('i.sqlite');
    await killedAt(folder, nth, load);
    await folder.run(load);
    expect({ changes: changes(), people: using(path, people) }, `killed before ${writes[nth - 1] ?? ''}`).toEqual(whole);
    await expectWhole(path);
  }
});

/** The events of the webhook, each as often as it was put into the outbox. */
const events = (path: string): Record<string, number> =>
  using(path, ({ books }) =>
    Object.fromEntries(
      books
        .prepare("SELECT type || ' ' || coalesce(signal, person) AS event, count(*) AS n FROM webhook_deliveries GROUP BY 1 ORDER BY 1")
        .all()
        .map(({ event, n }) => [String(event), Number(n)]),
    ),
  );

it('every event is put into the outbox once, after kills before commits of the service', longTimeout, async () => {
  const path = begin('w.sqlite');
  const serve = ['serve', '--store', 'w.sqlite', '--port', '0', '--development', '--no-smtp'];
  for (const nth of sampleOf([1, 2, 3, 4, 5, 6], 3)) await killedAt(folder, nth, serve, 'w.books.sqlite COMMIT');
  const ended = folder.start(serve);
  await expect.poll(() => Object.values(events(path)).length).toBe(10);
  ended.child.kill('SIGTERM');
  await ended.ended;
  expect(new Set(Object.values(events(path)))).toEqual(new Set([1]));
});

it('a directory that is older than its books erases again, and gives no number twice', async () => {
  const path = begin('o.sqlite');
  await folder.run(['suppress', '--store', 'o.sqlite', ERASED]);
  const books = readFileSync(booksOf(path));
  begin('o.sqlite');
  writeFileSync(booksOf(path), books);
  using(path, (store) => {
    store.books.exec('UPDATE webhooks SET signals_seq = 40, changes_seq = 50');
    catchUp(store, path);
    expect(traces(store)).toEqual({ people: [], signals: [], mail: [] });
    expect(store.prepare("SELECT name, seq FROM sqlite_sequence WHERE name IN ('signals', 'job_changes') ORDER BY name").all()).toEqual([
      { name: 'job_changes', seq: 50 },
      { name: 'signals', seq: 40 },
    ]);
  });
  await expectWhole(path);
});
