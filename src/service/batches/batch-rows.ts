/** Jobs as the store has them. What writes is called within a transaction of the caller's. */
import type { ResultSet } from '../operations/batches.ts';
import type { Store } from '../store/store.ts';
import { BatchFiles } from './batch-files.ts';
import type { BatchRequest } from './request.ts';
import { ACTIVE, hasEnded, mayFollow, STATES, type BatchState } from './states.ts';

/** Why a job is in its state. */
export interface Reason {
  readonly code: 'insufficient_credits' | 'max_credits' | 'disk_full' | 'bad_header' | 'no_readable_line' | 'too_many_lines' | 'files_lost' | 'key_revoked' | 'paused_too_long';
  readonly detail: string;
  /** Credits that the key needs for the job to go on; not shown. */
  readonly needs?: number;
}

/** The next line to be worked on: bytes into a part, and how many lines have a result. */
export interface Place {
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
  /** When it came into each state last, epoch milliseconds. */
  readonly times: Readonly<Partial<Record<BatchState, number>>>;
  /** Of a table. */
  readonly header: readonly string[] | null;
  readonly total: number;
  readonly counts: Readonly<Record<Exclude<ResultSet, 'unprocessed'>, number>>;
  readonly credits: number;
  readonly place: Place;
  /** That were sent, be they still there or not. */
  readonly parts: { readonly count: number; readonly bytes: number };
  readonly createdMs: number;
}

/** What one round adds. */
export interface Progress {
  readonly place: Place;
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
    this.#sql('INSERT INTO batches (id, key_id, state, request, times, created_at) VALUES (?, ?, ?, ?, ?, ?)').run(id, keyId, 'open', JSON.stringify(request), JSON.stringify({ open: atMs }), atMs);
  }

  find(id: string): BatchRow | null {
    const row = this.#sql('SELECT * FROM batches WHERE id = ?').get(id);
    return row === undefined ? null : toRow(row);
  }

  /** Newest first. @param before of the last one of the page before */
  page(keyId: string, before: number, limit: number): BatchRow[] {
    return this.#sql('SELECT * FROM batches WHERE key_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?').all(keyId, before, limit).map(toRow);
  }

  /** Those with something to be done, oldest first. */
  active(): { readonly id: string; readonly keyId: string; readonly state: BatchState }[] {
    return this.#sql(`SELECT id, key_id, state FROM batches WHERE state IN (${list(ACTIVE)}) ORDER BY seq`).all().map((row) => ({ id: row['id'] as string, keyId: row['key_id'] as string, state: row['state'] as BatchState }));
  }

  byState(): Map<BatchState, number> {
    const found = new Map(this.#sql('SELECT state, count(*) AS n FROM batches GROUP BY state').all().map((row) => [row['state'] as BatchState, Number(row['n'])]));
    return new Map(STATES.map((state) => [state, found.get(state) ?? 0]));
  }

  /** Jobs that have not ended, of all and of a key, and those of the key that are kept. */
  load(keyId: string): { readonly unfinished: number; readonly ofKey: number; readonly kept: number } {
    const row = this.#sql(`SELECT count(*) AS unfinished, count(*) FILTER (WHERE key_id = ?1) AS of_key, (SELECT count(*) FROM batches WHERE key_id = ?1) AS kept FROM batches WHERE state IN (${list(UNFINISHED)})`).get(keyId);
    return { unfinished: Number(row?.['unfinished']), ofKey: Number(row?.['of_key']), kept: Number(row?.['kept']) };
  }

  /** The one place where a job gets another state. @throws Error where that state cannot follow: whoever asks has looked first */
  move({ seq, id }: Pick<BatchRow, 'seq' | 'id'>, to: BatchState, reason: Reason | null = null): BatchRow {
    const row = this.find(id);
    if (row === null || !mayFollow(row.state, to)) throw new Error(`a job that is ${row?.state ?? 'gone'} cannot become ${to}`);
    const atMs = this.#now();
    this.#sql('UPDATE batches SET state = ?, reason = ?, times = ?, ended_at = ? WHERE seq = ?').run(to, reason === null ? null : JSON.stringify(reason), JSON.stringify({ ...row.times, [to]: atMs }), hasEnded(to) ? atMs : null, seq);
    return { ...row, state: to, reason, times: { ...row.times, [to]: atMs } };
  }

  setRequest(row: BatchRow, request: BatchRequest): BatchRow {
    this.#sql('UPDATE batches SET request = ? WHERE seq = ?').run(JSON.stringify(request), row.seq);
    return { ...row, request };
  }

  /** What validation has found, and where the first line is. */
  setTotal({ seq }: BatchRow, total: number, header: readonly string[] | null, part: number): void {
    this.#sql('UPDATE batches SET total = ?, header = ?, part = ?, part_offset = 0 WHERE seq = ?').run(total, header === null ? null : JSON.stringify(header), part, seq);
  }

  /** Adds a round to a job that is where the round began; false: it is not, and nothing was added. */
  addProgress({ seq, place: from }: Pick<BatchRow, 'seq' | 'place'>, { place, counts, credits }: Progress): boolean {
    const { changes } = this.#sql('UPDATE batches SET part = ?, part_offset = ?, line = ?, succeeded = succeeded + ?, not_found = not_found + ?, failed = failed + ?, credits = credits + ? WHERE seq = ? AND line = ? AND ended_at IS NULL')
      .run(place.part, place.offset, place.line, counts.succeeded, counts.not_found, counts.failed, credits, seq, from.line);
    return changes === 1;
  }

  /** Keeps what is said of the state without another state. */
  setReason({ seq }: BatchRow, reason: Reason | null): void {
    this.#sql('UPDATE batches SET reason = ? WHERE seq = ?').run(reason === null ? null : JSON.stringify(reason), seq);
  }

  drop(row: BatchRow): void {
    this.files.drop(row);
    this.#sql('DELETE FROM batches WHERE seq = ?').run(row.seq);
  }

  /** Open ones that were begun by then, paused ones that have been so since then, and ended ones that ended by then. */
  overdue({ openedUpToMs, pausedUpToMs, endedUpToMs }: { readonly openedUpToMs: number; readonly pausedUpToMs: number; readonly endedUpToMs: number }): { readonly expired: BatchRow[]; readonly stuck: BatchRow[]; readonly old: BatchRow[] } {
    return {
      stuck: this.#sql("SELECT * FROM batches WHERE state = 'paused' AND json_extract(times, '$.paused') <= ?").all(pausedUpToMs).map(toRow),
      expired: this.#sql("SELECT * FROM batches WHERE state = 'open' AND created_at <= ?").all(openedUpToMs).map(toRow),
      old: this.#sql('SELECT * FROM batches WHERE ended_at <= ?').all(endedUpToMs).map(toRow),
    };
  }

  /** Ended ones whose results were not looked through since somebody was erased. */
  toLookThrough(): BatchRow[] {
    return this.#sql('SELECT * FROM batches WHERE ended_at IS NOT NULL AND line > 0 AND EXISTS (SELECT 1 FROM suppressions WHERE at >= coalesce(looked_at, created_at))').all().map(toRow);
  }

  /** A time after all erasures so far, whatever the clocks of those were, and before all that come. */
  afterErasures(): number {
    const newest = this.#sql('SELECT max(at) AS at FROM suppressions').get()?.['at'];
    return Math.max(this.#now(), Number(newest) + 1);
  }

  lookedThrough({ seq }: BatchRow, atMs: number): void {
    this.#sql('UPDATE batches SET looked_at = ? WHERE seq = ?').run(atMs, seq);
  }

  /** So many who were found are not in the results any more. */
  countErased({ seq }: BatchRow, erased: number): void {
    this.#sql('UPDATE batches SET succeeded = succeeded - ?1, failed = failed + ?1 WHERE seq = ?2').run(erased, seq);
  }

  /** Takes or keeps the right to work on the jobs of this store for so many milliseconds, which one process has. False: another one has it. @param isGone whether the process that had it is known to have ended */
  lease(owner: string, ms: number, isGone: (owner: string) => boolean): boolean {
    const nowMs = this.#now();
    const held = this.#sql('SELECT owner, until FROM batch_lease').get();
    const until = Number(held?.['until'] ?? 0);
    // One that ends later than any does is of a clock that was put back since.
    const isFree = held === undefined || held['owner'] === owner || until <= nowMs || until > nowMs + ms || isGone(held['owner'] as string);
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
      statement = this.#store.prepare(text);
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
    place: { part: number('part'), offset: number('part_offset'), line: number('line') },
    parts: { count: number('parts'), bytes: number('part_bytes') },
    createdMs: number('created_at'),
  };
}
