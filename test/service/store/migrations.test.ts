import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { MIGRATIONS } from '../../../src/service/store/migrations.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { temporaryFolder } from '../harness.ts';
import { backTo } from '../older-stores.ts';

/** The version and the whole schema of a store, which is brought up to date by this. */
function schemaOf(path: string): unknown {
  const store = openStore(path);
  try {
    return [store.prepare('PRAGMA user_version').get(), ...store.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name').all()];
  } finally {
    store.close();
  }
}

/** A store with nothing in it, as that version made one. */
function makeOlder(path: string, version: number): void {
  const store = version === 1 ? new DatabaseSync(path) : openStore(path);
  if (version === 1) store.exec(`${MIGRATIONS[0]?.sql ?? ''}; PRAGMA user_version = 1`);
  else backTo(store, version);
  store.close();
}

describe('the steps of the schema', () => {
  it('are numbered from 1 without a gap', () => {
    expect(MIGRATIONS.map(({ version }) => version)).toEqual(MIGRATIONS.map((_, index) => index + 1));
  });

  it('give a store of any earlier version the schema of a new one', async () => {
    const folder = await temporaryFolder();
    const fresh = schemaOf(`${folder}/fresh.sqlite`);
    for (const { version } of MIGRATIONS) {
      const path = `${folder}/${version}.sqlite`;
      makeOlder(path, version);
      expect({ version, schema: schemaOf(path) }).toEqual({ version, schema: fresh });
    }
  });
});
