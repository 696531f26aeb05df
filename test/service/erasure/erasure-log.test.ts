import { appendFileSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { erasureLogOf, logErasures, readErasures } from '../../../src/service/erasure/erasure-log.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { suppressionKey } from '../../../src/service/store/identity/suppressions.ts';
import { suppressCommand } from '../../../src/service/admin/suppress-command.ts';
import { printed } from '../../support/printed.ts';
import { makeStore, temporaryFolder } from '../harness.ts';

it('the erasure log is readable by its owner alone, and survives a line that a crash truncated', async () => {
  const path = join(await temporaryFolder(), 's.sqlite');
  expect(readErasures(path)).toBeNull();
  const [one, other] = [Buffer.from(suppressionKey('a@acme.example')), Buffer.from(suppressionKey('b@acme.example'))];
  logErasures(path, [one], 1);
  appendFileSync(erasureLogOf(path), '2 0123abcd');
  logErasures(path, [other], 3);
  expect(readErasures(path)).toEqual([
    { atMs: 1, digest: one },
    { atMs: 3, digest: other },
  ]);
  expect(statSync(erasureLogOf(path)).mode & 0o777).toBe(0o600);
});

it('the erasure log has every digest of an erasure that the store has', async () => {
  const path = await makeStore((store) => store.books.exec('DELETE FROM suppressions'));
  await printed(() =>
    suppressCommand(
      path,
      (async function* () {
        yield ['jane.doe@acme.example', 'nobody@acme.example'];
      })(),
    ),
  );
  const store = openStore(path);
  const kept = store.books
    .prepare('SELECT email_sha256 FROM suppressions')
    .all()
    .map((row) => Buffer.from(row['email_sha256'] as Uint8Array).toString('hex'));
  store.close();
  expect(new Set(readErasures(path)?.map(({ digest }) => Buffer.from(digest).toString('hex')))).toEqual(new Set(kept));
  expect(kept.length).toBeGreaterThan(2);
});

it('the erasure log is written before the commit: if that fails, nobody is erased', async () => {
  const path = await makeStore();
  mkdirSync(erasureLogOf(path));
  await expect(
    suppressCommand(
      path,
      (async function* () {
        yield ['jane.doe@acme.example'];
      })(),
    ),
  ).rejects.toMatchObject({ exitCode: 74 });
  const store = openStore(path);
  expect(store.prepare("SELECT 1 AS there FROM people WHERE id = 'pe_1'").get()).toEqual({ there: 1 });
  store.close();
});
