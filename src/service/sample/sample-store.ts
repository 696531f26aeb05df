/** The sample set: a few thousand generated people and companies, so that Millrace can be tried without an account. */
import { createHash, randomBytes } from 'node:crypto';
import { chmod, constants, copyFile, lstat, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StorageError } from '../../util/errors.ts';
import { makeFolders } from '../../util/files/make-folders.ts';
import type { MailWorld } from './mail-world/world.ts';
import { booksOf } from '../store/owner/store-name.ts';
import { StoreOwner } from '../store/owner/store-owner.ts';
import { loadCompanies, loadPeople, loadSignals, parseJsonLines } from '../store/rows/load.ts';
import { BOOKS_TABLES } from '../store/schema/books-tables.ts';
import { MIGRATIONS, SCHEMA_SQL, type Migration } from '../store/schema/schema.ts';
import { openStore } from '../store/open-store.ts';
import { suppress } from '../erasure/suppress.ts';
import { transaction } from '../../sqlite/transaction.ts';
import type { Store } from '../store/store.ts';

/** The package's sample files, relative to this file in `src` and in `dist`. */
const FOLDER = new URL('../../../fixtures/sample/', import.meta.url);
const FILES = ['companies.jsonl', 'contacts.jsonl', 'signals.jsonl', 'suppressed.jsonl'] as const;

/** The source name of the sample's records. */
const SOURCE = 'sample';

/** The API key of a service with the sample set, on the enterprise plan. */
export const SAMPLE_KEY = 'sample-key';

async function read(name: string): Promise<string> {
  try {
    return await readFile(new URL(name, FOLDER), 'utf8');
  } catch (error) {
    throw new StorageError('sample_missing', `cannot read the sample set's ${name} in ${fileURLToPath(FOLDER)}`, {
      hint: 'reinstall the package; in a checkout: node fixtures/generate/sample.ts',
      cause: error,
    });
  }
}

/** The mail hosts, domains and mailboxes of the sample. @throws StorageError when the package lacks the file */
export async function readSampleWorld(): Promise<MailWorld> {
  return JSON.parse(await read('mail-world.json')) as MailWorld;
}

type Sample = Readonly<Record<(typeof FILES)[number], string>>;

async function readSample(): Promise<Sample> {
  return Object.fromEntries(await Promise.all(FILES.map(async (name) => [name, await read(name)] as const))) as Sample;
}

/** Loads the sample set into a store without people and companies. Leaves any other store unchanged. */
export async function loadSample(store: Store): Promise<void> {
  if (!isEmpty(store)) return;
  const sample = await readSample();
  transaction(store, () => {
    // Another process may have filled the store before the lock was taken.
    if (!isEmpty(store)) return;
    const suppressed = [...parseJsonLines(sample['suppressed.jsonl'], 'suppressed.jsonl')].map(({ email }) => String(email));
    suppress(store, suppressed, 0);
    loadCompanies(store, parseJsonLines(sample['companies.jsonl'], 'companies.jsonl'), SOURCE);
    loadPeople(store, parseJsonLines(sample['contacts.jsonl'], 'contacts.jsonl'), SOURCE);
    loadSignals(store, parseJsonLines(sample['signals.jsonl'], 'signals.jsonl'), SOURCE);
  });
}

function isEmpty(store: Store): boolean {
  return store.prepare('SELECT 1 FROM people UNION ALL SELECT 1 FROM companies LIMIT 1').get() === undefined;
}

/**
 * Takes a sample store for this process: the first of this user's stores that no process serves. So several runs can use the sample at
 * once, and changes are still there the next time. The stores are in a folder below the temporary directory that only the user may enter.
 * The folder's name has the digest of the sample files and the schema.
 * @throws StorageError when the folder cannot be created, or belongs to another user
 */
export async function claimSampleStore(): Promise<StoreOwner> {
  const template = await makeTemplate();
  for (let n = 1; ; n++) {
    const owner = await StoreOwner.tryClaim(template.replace(/\.sqlite$/, `.${n}.sqlite`));
    if (owner === null) continue;
    try {
      if (!(await exists(owner.path)))
        await appear(owner.path, async (unfinished) => {
          for (const fileOf of FILES_OF_STORE) await copyFile(fileOf(template), fileOf(unfinished), constants.COPYFILE_FICLONE);
        });
      return owner;
    } catch (error) {
      await owner.release();
      throw error;
    }
  }
}

/** A sample store that no process serves. Others are copies of the first, because loading the sample takes a second. */
async function makeTemplate(): Promise<string> {
  const sample = await readSample();
  const path = join(await privateFolder(), sampleStoreName(sample, MIGRATIONS));
  if (await exists(path)) return path;
  await appear(path, async (unfinished) => {
    const store = openStore(unfinished);
    try {
      await loadSample(store);
    } finally {
      store.close();
    }
  });
  return path;
}

/** The paths of a store's files. The directory comes last: it counts on its books. */
const FILES_OF_STORE = [booksOf, (store: string) => store];

/** Writes a store beside its final path and renames it, so that several processes may do so at once. */
async function appear(path: string, make: (unfinished: string) => Promise<void>): Promise<void> {
  const unfinished = `${path}.${process.pid}.${randomBytes(4).toString('hex')}.new`;
  try {
    await make(unfinished);
    for (const fileOf of FILES_OF_STORE) await rename(fileOf(unfinished), fileOf(path));
  } finally {
    await Promise.all(
      FILES_OF_STORE.flatMap((fileOf) => ['', '-wal', '-shm'].map((suffix) => rm(fileOf(unfinished) + suffix, { force: true }))),
    );
  }
}

/**
 * A name for each schema version, also for versions that change only records: an older Millrace refuses a store that a newer one upgraded.
 */
export function sampleStoreName(sample: Sample, migrations: readonly Migration[]): string {
  const digest = createHash('sha256');
  for (const name of FILES) digest.update(sample[name]);
  digest.update(SCHEMA_SQL + BOOKS_TABLES);
  for (const { version, name, sql } of migrations) digest.update(JSON.stringify([version, name, sql]));
  return `sample-${digest.digest('hex').slice(0, 16)}.sqlite`;
}

/** All users share the temporary directory, so a folder that other users can enter is not trusted. */
async function privateFolder(): Promise<string> {
  const uid = process.getuid?.();
  const folder = join(tmpdir(), `millrace-${uid ?? 'user'}`);
  try {
    makeFolders(folder, 0o700);
    const found = await lstat(folder);
    if (!found.isDirectory() || (uid !== undefined && found.uid !== uid)) throw new Error('it belongs to somebody else');
    if (uid !== undefined && (found.mode & 0o077) !== 0) await chmod(folder, 0o700);
    return folder;
  } catch (error) {
    throw new StorageError(
      'no_temporary_folder',
      `cannot use ${folder} for the sample store: ${error instanceof Error ? error.message : String(error)}`,
      {
        hint: 'set TMPDIR to a folder that you may write to, or pass --store FILE',
        cause: error,
      },
    );
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isFile();
  } catch {
    return false;
  }
}
