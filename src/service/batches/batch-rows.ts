/** The table of batch jobs. Writes run within the caller's transaction. */
import type { ResultSet } from './batch-operations.ts';
import type { Store } from '../store/store.ts';
import { BatchFiles } from './batch-files.ts';
import type { BatchRequest } from './batch-request.ts';
import { ACTIVE, hasEnded, mayFollow, STATES, type BatchState } from './states.ts';

/** Why a job is in its state. */
export interface Reason {
  readonly code:
    | 'insufficient_credits'
    | 'max_credits'
    | 'disk_full'
    | 'bad_header'
    | 'no_readable_line'
    | 'too_many_lines'
    | 'files_lost'
    | 'key_revoked'
    | 'paused_too_long';
  readonly detail: string;
  /** Credits that the next line needs; not in answers. */
  readonly needs?: number;
}

/** The next line to execute: its offset in bytes in a part, and the number of lines with a result before it. */
export interface InputPosition {
  readonly part: number;
  readonly offset: number;
  readonly line: number;
}

export interface BatchRow {
  readonly seq: number;
  readonly id: string;
  readonly keyId: string;
  readonly request: BatchRequest;
  readonly state: BatchState;
  readonly reason: Reason | null;
  /** When the job last entered each state, epoch milliseconds. */
  readonly times: Readonly<Partial<Record<BatchState, number>>>;
  /** The header of a CSV job. */
  readonly header: readonly string[] | null;
  readonly total: number;
  readonly counts: Readonly<Record<Exclude<ResultSet, 'unprocessed'>, number>>;
  readonly credits: number;
  readonly position: InputPosition;
  /** All parts that were sent, including removed ones. */
  readonly parts: { readonly count: number; readonly bytes: number };
  readonly createdMs: number;
}

/** The progress that one chunk adds. */
export interface Progress {
  readonly position: InputPosition;
  readonly counts: BatchRow['counts'];
  readonly credits: number;
}

const UNFINISHED = STATES.filter((state) => !hasEnded(state));
const list = (states: readonly BatchState[]): string => states.map((state) => `'${state}'`).join(', ');

export class BatchRows {
  readonly files: BatchFiles;
  readonly #store: Store;
  readonly #now: () => number;
  readonly #prepare = new Map<string, ReturnType<Store['prepare']>>();

  /** @param now epoch milliseconds */
  constructor(store: Store, now: () => number) {
    this.#store = store;
    this.#now = now;
    this.files = new BatchFiles(store);
  }

  create(id: string, keyId: string, request: BatchRequest): void {
    const atMs = this.#now();
    this.#sql('INSERT INTO batches (id, key_id, state, request, times, created_at) VALUES (?, ?, ?, ?, ?, ?)').run(
      id,
      keyId,
      'open',
      JSON.stringify(request),
      JSON.stringify({ open: atMs }),
      atMs,
    );
  }

  find(id: string): BatchRow | null {
    const row = this.#sql('SELECT * FROM batches WHERE id = ?').get(id);
    return row === undefined ? null : toRow(row);
  }

  /** The jobs of a key, newest first. @param before the `seq` of the last job of the previous page */
  page(keyId: string, before: number, limit: number): BatchRow[] {
    return this.#sql('SELECT * FROM batches WHERE key_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?').all(keyId, before, limit).map(toRow);
  }

  /** The jobs in an active state, oldest first. */
  active(): { readonly id: string; readonly keyId: string; readonly state: BatchState }[] {
    return this.#sql(`SELECT id, key_id, state FROM batches WHERE state IN (${list(ACTIVE)}) ORDER BY seq`)
      .all()
      .map((row) => ({ id: row['id'] as string, keyId: row['key_id'] as string, state: row['state'] as BatchState }));
  }

  /** The number of jobs in each state. */
  byState(): Map<BatchState, number> {
    const found = new Map(
      this.#sql('SELECT state, count(*) AS n FROM batches GROUP BY state')
        .all()
        .map((row) => [row['state'] as BatchState, Number(row['n'])]),
    );
    return new Map(STATES.map((state) => [state, found.get(state) ?? 0]));
  }

  /** Counts of jobs: unfinished ones of all keys and of this key, and stored ones of this key. */
  load(keyId: string): { readonly unfinished: number; readonly ofKey: number; readonly stored: number } {
    const row = this.#sql(
      'SELECT count(*) AS unfinished, count(*) FILTER (WHERE key_id = ?1) AS of_key, (SELECT count(*) FROM batches WHERE key_id = ?1) ' +
        `AS stored FROM batches WHERE state IN (${list(UNFINISHED)})`,
    ).get(keyId);
    return { unfinished: Number(row?.['unfinished']), ofKey: Number(row?.['of_key']), stored: Number(row?.['stored']) };
  }

  /** Moves a job to another state: the only setter of states. @throws Error when `mayFollow` forbids it; callers check that first */
  move({ seq, id }: Pick<BatchRow, 'seq' | 'id'>, to: BatchState, reason: Reason | null = null): BatchRow {
    const row = this.find(id);
    if (row === null || !mayFollow(row.state, to)) throw new Error(`a job that is ${row?.state ?? 'gone'} cannot become ${to}`);
    const atMs = this.#now();
    this.#sql('UPDATE batches SET state = ?, reason = ?, times = ?, ended_at = ? WHERE seq = ?').run(
      to,
      reason === null ? null : JSON.stringify(reason),
      JSON.stringify({ ...row.times, [to]: atMs }),
      hasEnded(to) ? atMs : null,
      seq,
    );
    return { ...row, state: to, reason, times: { ...row.times, [to]: atMs } };
  }

  setRequest(row: BatchRow, request: BatchRequest): BatchRow {
    this.#sql('UPDATE batches SET request = ? WHERE seq = ?').run(JSON.stringify(request), row.seq);
    return { ...row, request };
  }

  /** Stores the results of validation. @param part the first part */
  setTotal({ seq }: BatchRow, total: number, header: readonly string[] | null, part: number): void {
    this.#sql('UPDATE batches SET total = ?, header = ?, part = ?, part_offset = 0 WHERE seq = ?').run(
      total,
      header === null ? null : JSON.stringify(header),
      part,
      seq,
    );
  }

  /** Adds the progress of a chunk. Returns false, and adds nothing, when the job is no longer where the chunk began. */
  addProgress({ seq, position: start }: Pick<BatchRow, 'seq' | 'position'>, { position, counts, credits }: Progress): boolean {
    const { changes } = this.#sql(
      'UPDATE batches SET part = ?, part_offset = ?, line = ?, succeeded = succeeded + ?, not_found = not_found + ?, failed = failed ' +
        '+ ?, credits = credits + ? WHERE seq = ? AND line = ? AND ended_at IS NULL',
    ).run(position.part, position.offset, position.line, counts.succeeded, counts.not_found, counts.failed, credits, seq, start.line);
    return changes === 1;
  }

  /** Changes the reason, and leaves the state. */
  setReason({ seq }: BatchRow, reason: Reason | null): void {
    this.#sql('UPDATE batches SET reason = ? WHERE seq = ?').run(reason === null ? null : JSON.stringify(reason), seq);
  }

  drop(row: BatchRow): void {
    this.files.drop(row);
    this.#sql('DELETE FROM batches WHERE seq = ?').run(row.seq);
  }

  /** Jobs that reached a time limit: `expired` are still open, `stuck` still paused, `old` ended long ago. Each limit is included. */
  overdue({
    openedUpToMs,
    pausedUpToMs,
    endedUpToMs,
  }: {
    readonly openedUpToMs: number;
    readonly pausedUpToMs: number;
    readonly endedUpToMs: number;
  }): { readonly expired: BatchRow[]; readonly stuck: BatchRow[]; readonly old: BatchRow[] } {
    return {
      stuck: this.#sql("SELECT * FROM batches WHERE state = 'paused' AND json_extract(times, '$.paused') <= ?")
        .all(pausedUpToMs)
        .map(toRow),
      expired: this.#sql("SELECT * FROM batches WHERE state = 'open' AND created_at <= ?").all(openedUpToMs).map(toRow),
      old: this.#sql('SELECT * FROM batches WHERE ended_at <= ?').all(endedUpToMs).map(toRow),
    };
  }

  /** Ended jobs whose results were not redacted since the last erasure. */
  toRedact(): BatchRow[] {
    return this.#sql(
      'SELECT * FROM batches WHERE ended_at IS NOT NULL AND line > 0 AND EXISTS ' +
        '(SELECT 1 FROM suppressions WHERE at >= coalesce(looked_at, created_at))',
    )
      .all()
      .map(toRow);
  }

  /** A time after every erasure so far, even if a clock was ahead. Epoch milliseconds. */
  afterErasures(): number {
    const newest = this.#sql('SELECT max(at) AS at FROM suppressions').get()?.['at'];
    return Math.max(this.#now(), Number(newest) + 1);
  }

  setRedacted({ seq }: BatchRow, atMs: number): void {
    this.#sql('UPDATE batches SET looked_at = ? WHERE seq = ?').run(atMs, seq);
  }

  /** Moves `erased` lines from `succeeded` to `failed`. */
  countErased({ seq }: BatchRow, erased: number): void {
    this.#sql('UPDATE batches SET succeeded = succeeded - ?1, failed = failed + ?1 WHERE seq = ?2').run(erased, seq);
  }

  /**
   * Acquires or renews the lease on the jobs of this store for `ms` milliseconds. Returns false when another process holds it.
   * @param isGone whether the holder is known to have ended
   */
  lease(owner: string, ms: number, isGone: (owner: string) => boolean): boolean {
    const nowMs = this.#now();
    const lease = this.#sql('SELECT owner, until FROM batch_lease').get();
    const until = Number(lease?.['until'] ?? 0);
    // An end later than any lease can have means that the clock was put back.
    const isExpired = until <= nowMs || until > nowMs + ms;
    const isFree = lease === undefined || lease['owner'] === owner || isExpired || isGone(lease['owner'] as string);
    if (isFree) this.#sql('INSERT OR REPLACE INTO batch_lease (one, owner, until) VALUES (1, ?, ?)').run(owner, nowMs + ms);
    return isFree;
  }

  isHeldBy(owner: string): boolean {
    return this.#sql('SELECT 1 FROM batch_lease WHERE owner = ?').get(owner) !== undefined;
  }

  giveUpLease(owner: string): void {
    this.#sql('DELETE FROM batch_lease WHERE owner = ?').run(owner);
  }

  #sql(text: string): ReturnType<Store['prepare']> {
    let statement = this.#prepare.get(text);
    if (statement === undefined) {
      statement = this.#store.books.prepare(text);
      this.#prepare.set(text, statement);
    }
    return statement;
  }
}

function toRow(row: Record<string, unknown>): BatchRow {
  const parsed = (name: string): unknown => (row[name] === null ? null : JSON.parse(row[name] as string));
  const number = (name: string): number => row[name] as number;
  return {
    seq: number('seq'),
    id: row['id'] as string,
    keyId: row['key_id'] as string,
    request: parsed('request') as BatchRequest,
    state: row['state'] as BatchState,
    reason: parsed('reason') as BatchRow['reason'],
    times: parsed('times') as BatchRow['times'],
    header: parsed('header') as BatchRow['header'],
    total: number('total'),
    counts: { succeeded: number('succeeded'), not_found: number('not_found'), failed: number('failed') },
    credits: number('credits'),
    position: { part: number('part'), offset: number('part_offset'), line: number('line') },
    parts: { count: number('parts'), bytes: number('part_bytes') },
    createdMs: number('created_at'),
  };
}
