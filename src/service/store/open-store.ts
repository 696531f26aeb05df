/** Opens the service's store: creates its files when they are missing, and migrates their schema. */
import { existsSync } from 'node:fs';
import { InputError, MillraceError, StorageError, storageHint } from '../../util/errors.ts';
import { nameOfStore } from './owner/store-name.ts';
import { openBooks } from './books-file.ts';
import { damagedStore } from './failure.ts';
import { prepareSchema } from './schema/prepare-schema.ts';
import { MIGRATIONS, type Migration } from './schema/schema.ts';
import { diskCodeOf } from './store-disk.ts';
import { isUnreadable, isForeign, isMoved, isDiskFailure } from '../../sqlite/system-code.ts';
import { openFile } from './store-file.ts';
import { Store } from './store.ts';

/** How long a write waits for another process. The event loop waits too, so this is short. */
const BUSY_TIMEOUT_MS = 2_000;

/** Page size of the directory. Records have one to three kilobytes, and with SQLite's default of 4 KiB more of them would span pages. */
const PAGE_BYTES = 8_192;

/**
 * Opens the directory `path` and the books beside it. Both are created when the directory is missing.
 * @param timeoutMs how long a write waits for another process's
 * @param isOwner this process serves the store
 * @throws InputError when its folder is missing, or it has a hard link elsewhere; StorageError when the file cannot be opened, is no store,
 * or is newer than this program
 */
export function openStore(
  path: string,
  timeoutMs: number = BUSY_TIMEOUT_MS,
  isOwner = false,
  migrations: readonly Migration[] = MIGRATIONS,
): Store {
  const file = nameOfStore(path);
  let store: Store | undefined;
  try {
    store = openFile(file, () => new Store(file, { timeout: timeoutMs }), PAGE_BYTES);
    prepareSchema(store, { path, file, isOwner }, migrations);
    openBooks(store, file, timeoutMs);
    return store;
  } catch (error) {
    store?.close();
    // Another process has removed this empty store meanwhile (`remove-empty.ts`).
    if (isMoved(error)) return openStore(path, timeoutMs, isOwner, migrations);
    if (error instanceof MillraceError) throw error;
    if (isUnreadable(error) && !isForeign(error)) throw damagedStore(error, path);
    const code = isDiskFailure(error) ? diskCodeOf(error, file) : undefined;
    throw new StorageError('store_unusable', `cannot open the store ${path}: ${reason(error)}${code === undefined ? '' : ` (${code})`}`, {
      hint: isDiskFailure(error)
        ? storageHint({ code }, 'what is in the store is whole')
        : `pass --store with a file that millrace made, or a name in a folder where one may be made; if it was a store, \`millrace ` +
          `check --store ${path}\` says what is damaged`,
      cause: error,
    });
  }
}

/**
 * Opens a store that must exist, for commands that need its data.
 * @throws InputError when it is missing
 */
export function openExistingStore(path: string, timeoutMs?: number): Store {
  if (!existsSync(path))
    throw new InputError('store_missing', `There is no store ${path}`, {
      hint: 'Check the name given with --store. millrace import, keys create and serve make one.',
    });
  return openStore(path, timeoutMs);
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
