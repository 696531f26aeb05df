/** The sample set: a few thousand generated people and companies, so that everything can be tried without an account. */
import { createHash, randomBytes } from 'node:crypto';
import { chmod, constants, copyFile, lstat, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StorageError } from '../errors.ts';
import { makeFolders } from '../storage/make-folders.ts';
import type { MailWorld } from './mail-world/world.ts';
import { StoreOwner } from './owner/store-owner.ts';
import { loadCompanies, loadPeople, loadSignals, parseJsonLines } from './store/load.ts';
import { MIGRATIONS, type Migration } from './store/migrations.ts';
import { openStore } from './store/open-store.ts';
import { suppress } from './store/suppress.ts';
import { transaction } from '../sqlite/transaction.ts';
import type { Store } from './store/store.ts';

/** The files of the package; as far from `src/service` as from `dist/service`. */
const FOLDER = new URL('../../fixtures/sample/', import.meta.url);
const FILES = ['companies.jsonl', 'contacts.jsonl', 'signals.jsonl', 'suppressed.jsonl'] as const;

/** What the store says its records are from. */
const SOURCE = 'sample';

/** Accepted by a service that serves the sample set, on the enterprise plan. */
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

/** The mail hosts, domains and mailboxes of the sample. @throws StorageError when the package has lost them. */
export async function readSampleWorld(): Promise<MailWorld> {
  return JSON.parse(await read('mail-world.json')) as MailWorld;
}

type Sample = Readonly<Record<(typeof FILES)[number], string>>;

async function readSample(): Promise<Sample> {
  return Object.fromEntries(await Promise.all(FILES.map(async (name) => [name, await read(name)] as const))) as Sample;
}

/** Loads the sample set into a store that holds no people and no companies yet; leaves any other as it is. */
export async function loadSample(store: Store): Promise<void> {
  if (!isEmpty(store)) return;
  const sample = await readSample();
  transaction(store, () => {
    // Somebody else may have filled it between the look and the lock.
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
 * Takes a sample store for this process: the first of this user's that nobody else serves, so that several runs have the sample at once and what one of them
 * makes in it is there the next time. They lie below the temporary directory, in a folder only the user may enter, named after the digest of the sample files and the schema.
 * @throws StorageError when the folder cannot be made, or is somebody else's.
 */
export async function claimSampleStore(): Promise<StoreOwner> {
  const template = await makeTemplate();
  for (let n = 1; ; n++) {
    const owner = await StoreOwner.tryClaim(template.replace(/\.sqlite$/, `.${n}.sqlite`));
    if (owner === null) continue;
    try {
      if (!(await exists(owner.path))) await appear(owner.path, (unfinished) => copyFile(template, unfinished, constants.COPYFILE_FICLONE));
      return owner;
    } catch (error) {
      await owner.release();
      throw error;
    }
  }
}

/** A sample store that nobody serves: those that are served are copies, for loading the sample takes a second. */
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

/** Makes a file beside its place and renames it into it, so that several processes may do so at once. */
async function appear(path: string, make: (unfinished: string) => Promise<void>): Promise<void> {
  const unfinished = `${path}.${process.pid}.${randomBytes(4).toString('hex')}.new`;
  try {
    await make(unfinished);
    await rename(unfinished, path);
  } finally {
    await Promise.all(['', '-wal', '-shm'].map((suffix) => rm(unfinished + suffix, { force: true })));
  }
}

/** Another name for each schema, also where a step changes records and no table: a store that a newer version has brought up to date is refused by an older one. */
export function sampleStoreName(sample: Sample, migrations: readonly Migration[]): string {
  const digest = createHash('sha256');
  for (const name of FILES) digest.update(sample[name]);
  for (const { version, name, sql } of migrations) digest.update(JSON.stringify([version, name, sql]));
  return `sample-${digest.digest('hex').slice(0, 16)}.sqlite`;
}

/** The temporary directory is everybody's: a folder that is not ours alone is not trusted. */
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
    throw new StorageError('no_temporary_folder', `cannot use ${folder} for the sample store: ${error instanceof Error ? error.message : String(error)}`, {
      hint: 'set TMPDIR to a folder that you may write to, or pass --store FILE',
      cause: error,
    });
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isFile();
  } catch {
    return false;
  }
}
