/** The state that a killed run leaves, and the number of lookups that the next one may repeat. */
import { readFileSync, watch } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Folder } from './cli.ts';
import type { Exchanged } from './scripted-service.ts';

/** The ledger after a kill. */
export interface LedgerSite {
  /** `enrich ana@works.example` */
  readonly names: ReadonlySet<string>;
  /** The number of the last answer. */
  readonly last: number;
  /** Start of the last durable write, milliseconds; -Infinity without one. */
  readonly lastWriteAt: number;
}

/** `enrich ana@works.example`, for each key of a request. */
export const namesOf = ({ path, keys }: Exchanged['asked']): string[] => keys.map((key) => `${path} ${key}`);

/** Statuses that settle a lookup. Lookups with another status are repeated by the run itself. */
const SETTLED = new Set([200, 404, 422, 451]);

/** A run's exchanges by lookup: the last of each, and lookups that were repeated although they were settled. */
export function lastWords(exchanges: readonly Exchanged[]): { last: Map<string, Exchanged>; again: string[] } {
  const last = new Map<string, Exchanged>();
  const again: string[] = [];
  for (const exchanged of exchanges) {
    for (const name of namesOf(exchanged.asked)) {
      if (isSettled(last.get(name))) again.push(name);
      last.set(name, exchanged);
    }
  }
  return { last, again };
}

/** True when an undisturbed run would not ask again. */
function isSettled(exchanged: Exchanged | undefined): boolean {
  return exchanged !== undefined && exchanged.status !== null && SETTLED.has(exchanged.status);
}

/** True when the service refused the request for now, or broke the connection, so that it is repeated anyway. */
export function isFault({ status, broken }: Exchanged): boolean {
  return broken || (status !== null && !SETTLED.has(status));
}

/**
 * Checks one killed run against the contract: "repeats at most the requests in flight and those answered since the last durable ledger
 * write began".
 * The ledger itself dates its writes (`at`). A checkpoint is written only after the ledger, so a ledger write began after the last
 * checkpoint but one. Late writes are therefore found without a clock, however slow the machine is.
 * An answer counts from when the run is known to have read it.
 */
export function afterKill(
  last: ReadonlyMap<string, Exchanged>,
  { names, lastWriteAt }: LedgerSite,
  checkpointAt: number,
): { mayRepeat: string[]; late: string[] } {
  const writeBegan = Math.max(lastWriteAt, checkpointAt);
  // Misses before the first other answer wait for it, because the service is not trusted until then.
  const trustedAt = Math.min(...[...last.values()].map(({ status, readBy }) => (status === 200 && readBy !== null ? readBy : Infinity)));
  const mayRepeat: string[] = [];
  const late: string[] = [];
  for (const [name, exchanged] of last) {
    if (isFault(exchanged)) continue;
    const { readBy } = exchanged;
    const inTime = readBy !== null && Math.max(readBy, trustedAt) < writeBegan;
    if (!inTime) mayRepeat.push(name);
    else if (!names.has(name)) late.push(name);
  }
  return { mayRepeat, late };
}

/** Records the times of a job's checkpoints. */
export class Checkpoints {
  readonly #path: string;
  readonly #watcher;
  /** Times of the checkpoints, milliseconds; some may be missed. */
  readonly #seen: number[] = [];

  constructor(folder: Folder, name: string) {
    this.#path = folder.at(name);
    this.#watcher = watch(folder.path, (_event, changed) => {
      if (changed === name) this.#seen.push(this.#madeAt());
    });
  }

  /** The time of the last checkpoint but one, as far as it was seen. */
  beforeLast(): number {
    const last = this.#madeAt();
    return Math.max(-Infinity, ...this.#seen.filter((at) => at < last));
  }

  state(): string | null {
    const { state } = this.#read();
    return typeof state === 'string' ? state : null;
  }

  stop(): void {
    this.#watcher.close();
  }

  #madeAt(): number {
    const { updatedAt } = this.#read();
    return typeof updatedAt === 'string' ? Date.parse(updatedAt) : -Infinity;
  }

  /** Checkpoints are replaced by a rename, so a read at any time gets a complete one. */
  #read(): Record<string, unknown> {
    try {
      return JSON.parse(readFileSync(this.#path, 'utf8')) as Record<string, unknown>;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
      throw error;
    }
  }
}

/** The `kind` of a lookup without an answer: see `src/ledger/answer.ts`. */
export const ASKING = 5;

/** Reads a copy, so that the crash site stays unchanged. @param after answers up to this one are left out */
export async function readLedger(ledger: string, after = 0): Promise<LedgerSite> {
  return inCopy(ledger, (db) => {
    const there = db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'answers'").get();
    const rows =
      Number(there?.['n']) === 0
        ? []
        : db
            .prepare(
              'SELECT a.id AS id, s.step AS step, a.key AS key, a.at AS at FROM answers a ' +
                'JOIN scopes s ON s.id = a.scope WHERE a.id > ? AND a.kind <> ? ORDER BY a.id',
            )
            .all(after, ASKING);
    return {
      names: new Set(rows.map((row) => `${String(row['step'])} ${String(row['key'])}`)),
      lastWriteAt: Number(rows.at(-1)?.['at'] ?? -Infinity),
      last: Number(rows.at(-1)?.['id'] ?? after),
    };
  });
}

/** All answers. The bytes of the file depend on its layout, so they are not compared. */
export async function ledgerContent(ledger: string): Promise<unknown> {
  return inCopy(ledger, (db) =>
    db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
      .all()
      .map(({ name }) => [name, db.prepare(`SELECT * FROM "${String(name)}"`).all()]),
  );
}

export async function durableLookups(ledger: string): Promise<ReadonlySet<string>> {
  return (await readLedger(ledger)).names;
}

/** Reads a copy of a ledger, so that the crash site stays unchanged. */
export async function inCopy<T>(ledger: string, look: (db: DatabaseSync) => T): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-ledger-'));
  try {
    for (const suffix of ['', '-wal']) await copyFile(ledger + suffix, join(folder, `ledger${suffix}`)).catch(() => undefined);
    const db = new DatabaseSync(join(folder, 'ledger'));
    try {
      return look(db);
    } finally {
      db.close();
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}
