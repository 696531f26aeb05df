import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { checkVersion } from '../../../../src/service/admin/check/check-store.ts';
import { openStore } from '../../../../src/service/store/open-store.ts';
import { MIGRATIONS, type Migration } from '../../../../src/service/store/schema/schema.ts';
import { Store } from '../../../../src/service/store/store.ts';
import { EXIT } from '../../../../src/util/errors.ts';
import { temporaryFolder } from '../../harness.ts';

const NEXT: Migration = {
  version: 3,
  name: 'notes of sources',
  sql: 'ALTER TABLE sources ADD COLUMN note TEXT; CREATE TABLE runs (n INTEGER)',
  run: (store) => store.exec("UPDATE sources SET note = 'migrated'; INSERT INTO runs VALUES (1)"),
};

/** The path of a store of the newest version with one row. */
async function makeNewest(): Promise<string> {
  const path = join(await temporaryFolder(), 's.sqlite');
  const store = openStore(path);
  store.exec("INSERT INTO sources (name) VALUES ('crm.csv')");
  store.close();
  return path;
}

const open = (path: string, migrations: readonly Migration[] = MIGRATIONS): Store => openStore(path, undefined, false, migrations);

/** The version, the tables and the row, read without opening the file as a store. */
function stateOf(path: string): unknown {
  const db = new DatabaseSync(path);
  try {
    return {
      version: db.prepare('PRAGMA user_version').get()?.['user_version'],
      schema: db.prepare('SELECT name, sql FROM sqlite_schema ORDER BY name').all(),
      sources: db.prepare('SELECT * FROM sources').all(),
    };
  } finally {
    db.close();
  }
}

/** The result of `millrace check` for the version. */
function check(path: string): void {
  const db = new Store(path, { readOnly: true });
  try {
    checkVersion(db, path);
  } finally {
    db.close();
  }
}

function alter(path: string, sql: string): void {
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
}

describe('schema migrations', () => {
  it('migrations are numbered from 2 without a gap', () => {
    expect(MIGRATIONS.map(({ version }) => version)).toEqual(MIGRATIONS.map((_, at) => at + 2));
  });

  it('migrations run once when an older store is opened, and never again', async () => {
    const path = await makeNewest();
    for (let time = 0; time < 2; time++) {
      const store = open(path, [...MIGRATIONS, NEXT]);
      expect(store.prepare('SELECT name, note FROM sources').all()).toEqual([{ name: 'crm.csv', note: 'migrated' }]);
      expect(store.prepare('SELECT count(*) AS n FROM runs').get()).toEqual({ n: 1 });
      expect(store.prepare('PRAGMA user_version').get()).toEqual({ user_version: 3 });
      store.close();
    }
  });

  it('migrations also run for a new store, which gets the schema of a migrated one', async () => {
    const fresh = join(await temporaryFolder(), 's.sqlite');
    const migrated = await makeNewest();
    for (const path of [fresh, migrated]) open(path, [...MIGRATIONS, NEXT]).close();
    alter(migrated, 'DELETE FROM sources');
    expect(stateOf(fresh)).toEqual(stateOf(migrated));
  });

  it('migrations all roll back when a later one fails, and the error names it', async () => {
    const path = await makeNewest();
    const before = stateOf(path);
    const run = (): never => {
      throw new Error('no room');
    };
    expect(() => open(path, [...MIGRATIONS, NEXT, { version: 4, name: 'fails', sql: '', run }])).toThrow(
      expect.objectContaining({
        code: 'store_not_upgraded',
        exitCode: EXIT.storage,
        message: expect.stringContaining('version 4, fails') as string,
      }),
    );
    expect(stateOf(path)).toEqual(before);
  });

  it('the version before stays intact when the process is killed in the middle of a migration', async () => {
    const path = await makeNewest();
    const before = stateOf(path);
    const modules = new URL('../../../../src/service/store/', import.meta.url).href;
    const script = `
      const { openStore } = await import('${modules}open-store.ts');
      const { MIGRATIONS } = await import('${modules}schema/schema.ts');
      const kill = (store) => {
        store.exec('PRAGMA cache_size = 1; UPDATE sources SET name = hex(randomblob(500000))');
        process.kill(process.pid, 'SIGKILL');
      };
      const killed = { version: 3, name: 'killed', sql: 'CREATE TABLE runs (n INTEGER)', run: kill };
      openStore(${JSON.stringify(path)}, undefined, false, [...MIGRATIONS, killed]);`;
    const child = spawnSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
    expect(child).toMatchObject({ signal: 'SIGKILL', stdout: '', stderr: '' });
    expect(stateOf(path)).toEqual(before);
    open(path, [...MIGRATIONS, NEXT]).close();
    expect(stateOf(path)).toMatchObject({ version: 3 });
  });
});

describe('a file of another version', () => {
  it('a newer store is refused with both versions in the message, and is not changed', async () => {
    const path = await makeNewest();
    open(path, [...MIGRATIONS, NEXT]).close();
    const before = stateOf(path);
    const refusal = expect.objectContaining({
      code: 'store_too_new',
      exitCode: EXIT.storage,
      message: `the store ${path} has schema 3; this version of millrace knows up to 2`,
      hint: 'use the version of millrace that wrote it, or a newer one',
    }) as Error;
    expect(() => open(path)).toThrow(refusal);
    expect(() => check(path)).toThrow(refusal);
    expect(stateOf(path)).toEqual(before);
  });

  it.each([1, 25])('a store without the mark and with user_version %i is refused as unreleased', async (version) => {
    const path = await makeNewest();
    alter(path, `PRAGMA application_id = 0; PRAGMA user_version = ${version}`);
    const refusal = (exitCode: number): Error =>
      expect.objectContaining({
        code: 'store_too_old',
        exitCode,
        message: expect.stringContaining('from before the first release') as string,
        hint: expect.stringContaining('millrace export') as string,
      }) as Error;
    const before = stateOf(path);
    expect(() => open(path)).toThrow(refusal(EXIT.storage));
    expect(() => check(path)).toThrow(refusal(EXIT.input));
    expect(stateOf(path)).toEqual(before);
  });

  it('a database with other tables is refused as that of another program', async () => {
    const path = join(await temporaryFolder(), 's.sqlite');
    alter(path, 'CREATE TABLE sources (n INTEGER)');
    const before = stateOf(path);
    expect(() => open(path)).toThrow(
      expect.objectContaining({ code: 'store_unusable', message: `the file ${path} is a database of another program` }),
    );
    expect(() => check(path)).toThrow(`${path} is no store of millrace`);
    expect(stateOf(path)).toEqual(before);
  });
});
