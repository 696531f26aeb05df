/**
 * Restores stores with random damage: the new store is intact. It has every person of the backup, newer people whose rows were intact, and
 * no erased person.
 */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkStore } from '../../../../src/service/admin/check/check-store.ts';
import { backupCommand } from '../../../../src/service/admin/export/backup.ts';
import { restoreCommand } from '../../../../src/service/admin/restore/restore-command.ts';
import type { Restoration } from '../../../../src/service/admin/restore/restoration.ts';
import { loadPeople } from '../../../../src/service/store/rows/load.ts';
import { openStore } from '../../../../src/service/store/open-store.ts';
import { suppressCommand } from '../../../../src/service/admin/suppress-command.ts';
import { seeded } from '../../../support/leads.ts';
import { printed } from '../../../support/printed.ts';
import { casesOf } from '../../../support/sample.ts';
import { damagePage } from '../check/damage.ts';
import { emailOf, makeFullStore, PEOPLE } from '../check/full-store.ts';
import { SEED } from '../../../support/seed.ts';
import { copyStoreFiles } from '../../../support/store-files.ts';

const never = new AbortController().signal;
const folder = mkdtempSync(join(tmpdir(), 'millrace-random-damage-'));
afterAll(() => rmSync(folder, { recursive: true }));
const [path, backup, later] = [makeFullStore(folder), join(folder, 'b.sqlite'), join(folder, 'later.sqlite')];
/** The damage of the first seed leaves a number that JavaScript cannot hold. */
const SEEDS = [551_550, ...Array.from({ length: casesOf(1, 60) }, (_, n) => SEED + n)];

/** Overwrites, flips or swaps parts of a few pages. */
function damage(file: string, next: () => number): void {
  const pages = statSync(file).size / 8_192;
  for (let n = 1 + Math.floor(next() * 6); n > 0; n--) {
    const page = 1 + Math.floor(next() * pages);
    const kind = next();
    const from = Math.floor(next() * 8_192);
    const to = Math.min(8_192, from + Math.ceil(next() * 600));
    damagePage(file, page, (bytes) => {
      if (kind < 0.3) bytes.fill(0);
      else if (kind < 0.8) for (let at = from; at < to; at++) bytes[at] = Math.floor(next() * 256);
      else readFileSync(file).copy(bytes, 0, 8_192 * Math.floor(next() * pages));
    });
  }
}

const ERASED = 5;
beforeAll(async () => {
  await printed(() => backupCommand(path, backup, never));
  const store = openStore(path);
  loadPeople(
    store,
    Array.from({ length: 50 }, (_, n) => ({ id: `new_${n}`, email: `new${n}@c1.example`, name: `New N${n}` })),
    'later',
  );
  store.close();
  await printed(() =>
    suppressCommand(
      path,
      (async function* () {
        yield [emailOf(ERASED)];
      })(),
    ),
  );
  copyStoreFiles(path, later);
});

it.each(SEEDS)('a store with random damage of seed %i is restored completely', async (seed) => {
  copyStoreFiles(later, path);
  damage(path, seeded(seed));
  const checked = await checkStore(path, Date.now(), never);
  const report = JSON.parse(await printed(() => restoreCommand(path, backup, true, never))) as Partial<Restoration>;
  expect(checked.isDamaged).toBe(report.restored);
  expect((await checkStore(path, Date.now(), never)).findings).toEqual([]);
  const store = openStore(path);
  const ids = new Set(
    store
      .prepare('SELECT id FROM people')
      .all()
      .map(({ id }) => id as string),
  );
  store.close();
  expect(Array.from({ length: PEOPLE }, (_, n) => `pe_${n}`).filter((id) => !ids.has(id))).toEqual([`pe_${ERASED}`]);
  const people = report.tables?.find(({ table }) => table === 'people');
  // If no row of people was damaged, newer people are there too.
  if (people?.restored === 0 && people.lost === 0)
    expect(Array.from({ length: 50 }, (_, n) => `new_${n}`).filter((id) => !ids.has(id))).toEqual([]);
});
