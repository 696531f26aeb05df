/** The table of job files: parts and results on the disk. Writes run within the caller's transaction. */
import type { Store } from '../store/store.ts';
import { MAX_BYTES, MAX_BYTES_PER_KEY } from './batch-limits.ts';

export type FileKind = 'part' | 'results';

export interface BatchFile {
  readonly n: number;
  readonly file: string;
  readonly bytes: number;
}

interface Job {
  readonly seq: number;
  readonly keyId: string;
}

/** One row per file. Sums that are read often are stored, too: the parts and bytes of a job, and the bytes of a key on the disk. */
export class BatchFiles {
  readonly #all;
  readonly #next;
  readonly #find;
  readonly #put;
  readonly #countSent;
  readonly #count;
  readonly #sum;
  readonly #sumOf;
  readonly #retire;
  readonly #drop;

  constructor(store: Store) {
    this.#all = store.books.prepare('SELECT n, file, bytes FROM batch_files WHERE batch = ? AND kind = ? ORDER BY n');
    this.#next = store.books.prepare(
      "SELECT n, file, bytes FROM batch_files WHERE batch = ? AND kind = 'part' AND n >= ? ORDER BY n LIMIT 1",
    );
    this.#find = store.books.prepare('SELECT file, bytes FROM batch_files WHERE batch = ? AND kind = ? AND n = ?');
    this.#put = store.books.prepare(
      'INSERT INTO batch_files (batch, kind, n, file, bytes) VALUES (?, ?, ?, ?, ' +
        '?) ON CONFLICT DO UPDATE SET file = excluded.file, bytes = excluded.bytes',
    );
    this.#countSent = store.books.prepare('UPDATE batches SET parts = parts + ?, part_bytes = part_bytes + ? WHERE seq = ?');
    this.#count = store.books.prepare(
      'INSERT INTO batch_bytes (key_id, bytes) VALUES (?, ?) ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes',
    );
    this.#sum = store.books.prepare(
      'SELECT coalesce(sum(bytes), 0) AS n, coalesce(sum(bytes) FILTER (WHERE key_id = ?), 0) AS of_key FROM batch_bytes',
    );
    this.#sumOf = store.books.prepare('SELECT coalesce(sum(bytes), 0) AS n FROM batch_files WHERE batch = ?');
    this.#retire = store.books.prepare("DELETE FROM batch_files WHERE batch = ? AND kind = 'part'");
    this.#drop = store.books.prepare('DELETE FROM batch_files WHERE batch = ?');
  }

  all({ seq }: Pick<Job, 'seq'>, kind: FileKind): BatchFile[] {
    return this.#all.all(seq, kind) as unknown as BatchFile[];
  }

  /** The first part with this number or a higher one; null after the last part. */
  partFrom({ seq }: Pick<Job, 'seq'>, n: number): BatchFile | null {
    return (this.#next.get(seq, n) as unknown as BatchFile | undefined) ?? null;
  }

  /** Bytes on the disk: of all keys, and of one key. */
  bytes(keyId: string): { readonly all: number; readonly ofKey: number } {
    const row = this.#sum.get(keyId);
    return { all: Number(row?.['n']), ofKey: Number(row?.['of_key']) };
  }

  /** Whether `more` bytes would exceed the limit for all jobs or for the key. */
  isFull(keyId: string, more: number): boolean {
    const { all, ofKey } = this.bytes(keyId);
    return all + more > MAX_BYTES || ofKey + more > MAX_BYTES_PER_KEY;
  }

  /** Adds or replaces a file; returns the name of the replaced one. */
  put({ seq, keyId }: Job, kind: FileKind, { n, file, bytes }: BatchFile): string | null {
    const before = this.#find.get(seq, kind, n) as Pick<BatchFile, 'file' | 'bytes'> | undefined;
    this.#put.run(seq, kind, n, file, bytes);
    const more = bytes - (before?.bytes ?? 0);
    if (kind === 'part') this.#countSent.run(before === undefined ? 1 : 0, more, seq);
    this.#count.run(keyId, more);
    return before?.file ?? null;
  }

  /** Deletes the rows of the parts. Their number and bytes stay with the job. */
  retireParts(job: Job): void {
    this.#subtract(job, () => this.#retire.run(job.seq));
  }

  /** Deletes the rows of all files of a job. */
  drop(job: Job): void {
    this.#subtract(job, () => this.#drop.run(job.seq));
  }

  /** Runs `remove`, and subtracts the removed bytes from the sum of the key. */
  #subtract({ seq, keyId }: Job, remove: () => void): void {
    const bytes = (): number => Number(this.#sumOf.get(seq)?.['n']);
    const before = bytes();
    remove();
    this.#count.run(keyId, bytes() - before);
  }
}
