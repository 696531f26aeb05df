/** Asynchronous verifications in the store. They outlive the process, and are compressed: a thousand results are megabytes of JSON. */
import { isSqliteError } from '../../sqlite/busy.ts';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { VerifyMode } from '../../verification/types.ts';
import { suppressedResult, type AddressResult } from '../records/suppressed-result.ts';
import { erasedSince, type ErasedSince } from '../store/identity/erased-since.ts';
import type { Journal, JournalWrite, JournalMember } from '../store/journal.ts';
import type { Store } from '../store/store.ts';

export interface VerificationRequest {
  /** Null in the place of a person who was erased. */
  readonly emails: readonly (string | null)[];
  readonly mode: VerifyMode;
  readonly maxAgeS: number | null;
  /** When what is not known by then is given up, milliseconds; null: when nothing more can be learnt. */
  readonly timeoutMs: number | null;
  /** Where its event goes too, besides the subscribed webhooks. */
  readonly webhookUrl: string | null;
}

export interface VerificationRow {
  readonly id: string;
  readonly keyId: string;
  /** Epoch milliseconds. */
  readonly startedAtMs: number;
  readonly request: VerificationRequest;
  /** Results so far; of a finished job in the order of the request. */
  readonly results: readonly AddressResult[];
  readonly done: boolean;
  readonly paid: boolean;
}

export class VerificationRows implements JournalMember {
  readonly where = 'verifications';
  readonly #put;
  readonly #select;
  readonly #selectOpen;
  readonly #drop;
  readonly #dropOld;
  readonly #journal: Journal;
  readonly #erased: ErasedSince;
  /** Null when the row is to be dropped. */
  readonly #unwritten = new Map<string, VerificationRow | null>();

  constructor(store: Store, journal: Journal) {
    this.#put = store.books.prepare(
      'INSERT INTO verifications (id, key_id, started_at, request, results, done, paid) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) ' +
        'DO UPDATE SET results = excluded.results, done = excluded.done, paid = excluded.paid',
    );
    this.#select = store.books.prepare('SELECT * FROM verifications WHERE id = ?');
    this.#selectOpen = store.books.prepare('SELECT * FROM verifications WHERE done = 0 AND started_at > ? ORDER BY seq LIMIT ?');
    this.#drop = store.books.prepare('DELETE FROM verifications WHERE id = ?');
    this.#dropOld = store.books.prepare(
      'DELETE FROM verifications WHERE started_at <= ? OR (done = 1 AND seq ' +
        '<= (SELECT seq FROM verifications ORDER BY seq DESC LIMIT 1 OFFSET ?))',
    );
    this.#journal = journal;
    this.#erased = erasedSince(store);
    journal.join(this);
  }

  put(row: VerificationRow): void {
    this.#unwritten.set(row.id, row);
    this.#journal.wake();
  }

  drop(id: string): void {
    this.#unwritten.set(id, null);
    this.#journal.wake();
  }

  find(id: string): VerificationRow | null {
    const unwritten = this.#unwritten.get(id);
    if (unwritten !== undefined) return unwritten === null ? null : this.withoutErased(unwritten);
    const row = this.#select.get(id);
    return row === undefined ? null : this.withoutErased(toRow(row));
  }

  /** As `cutVerification`. */
  withoutErased(row: VerificationRow): VerificationRow {
    return cutVerification(row, this.#erased);
  }

  /** Unfinished jobs of an earlier process, oldest first. */
  undone(startedAfterMs: number, limit: number): VerificationRow[] {
    return this.#selectOpen.all(startedAfterMs, limit).map((row) => this.withoutErased(toRow(row)));
  }

  /**
   * Drops what was started by then, and all that are done but the newest `most`. A store that is busy or full keeps them until the next
   * time.
   */
  dropOld(startedUpToMs: number, most: number): void {
    try {
      this.#dropOld.run(startedUpToMs, most);
    } catch (error) {
      if (!isSqliteError(error)) throw error;
    }
  }

  get size(): number {
    return this.#unwritten.size;
  }

  flushed(): void {
    this.#unwritten.clear();
  }

  /** A row that cannot be written cannot be read either, so it is dropped. */
  *parts(): Iterable<JournalWrite> {
    for (const [id, unwritten] of this.#unwritten)
      yield { write: () => this.#write(id, unwritten), giveUp: () => void this.#unwritten.delete(id) };
  }

  #write(id: string, unwritten: VerificationRow | null): void {
    if (unwritten === null) {
      this.#drop.run(id);
      return;
    }
    // Nobody else writes from here on: who is not erased by now is so after this was written.
    const row = this.withoutErased(unwritten);
    this.#put.run(id, row.keyId, row.startedAtMs, compressJson(row.request), compressJson(row.results), Number(row.done), Number(row.paid));
  }
}

/** A verification without people who were erased since it began; their places stay. Returns the same row when nobody was. */
export function cutVerification(row: VerificationRow, erased: ErasedSince): VerificationRow {
  const { request, startedAtMs } = row;
  if (!erased.anybody(startedAtMs)) return row;
  const isGone = (email: string | null): boolean => email !== null && erased.address(email, startedAtMs);
  // A look that was under way when they were taken out brings them back among the results alone.
  const gone = new Set([...request.emails, ...row.results.map(({ email }) => email)].filter(isGone));
  const suggests = row.results.some((result) => isGone(result.did_you_mean));
  if (gone.size === 0 && !suggests) return row;
  const emails = request.emails.map((email) => (gone.has(email) ? null : email));
  const results = row.results.map((result) =>
    gone.has(result.email) ? suppressedResult(null, startedAtMs) : isGone(result.did_you_mean) ? { ...result, did_you_mean: null } : result,
  );
  return { ...row, request: { ...request, emails }, results };
}

export function compressJson(value: unknown): Uint8Array {
  return zstdCompressSync(JSON.stringify(value));
}

export function toRow(row: Record<string, unknown>): VerificationRow {
  return {
    id: row['id'] as string,
    keyId: row['key_id'] as string,
    startedAtMs: row['started_at'] as number,
    // Until there were webhooks, there was no address of one.
    request: { webhookUrl: null, ...(unpack(row['request']) as Omit<VerificationRequest, 'webhookUrl'>) },
    results: unpack(row['results']) as AddressResult[],
    done: row['done'] === 1,
    paid: row['paid'] === 1,
  };
}

function unpack(packed: unknown): unknown {
  return JSON.parse(zstdDecompressSync(packed as Uint8Array).toString('utf8'));
}
