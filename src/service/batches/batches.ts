/** The Batch API without HTTP: jobs are begun, fed, followed, ended and read. Every job is its key's alone. */
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { ServiceError } from '../errors.ts';
import type { BatchFormat, ResultSet } from '../operations/batches.ts';
import { isDamage, isOfDisk } from '../../sqlite/system-code.ts';
import type { StoreWrites } from '../store-writes.ts';
import type { Announce } from '../webhooks/announcement.ts';
import { BatchRows, type BatchRow } from './batch-rows.ts';
import { cutter } from './erased.ts';
import { BatchFolder } from './folder.ts';
import { MAX_KEPT_PER_KEY, MAX_PART_BYTES, MAX_UNFINISHED, MAX_UNFINISHED_PER_KEY } from './limits.ts';
import { newOwner } from './owner.ts';
import { Pacer } from './pacer.ts';
import { writePart } from './part-file.ts';
import { conflict, full, missing } from './refusals.ts';
import type { BatchRequest } from './request.ts';
import { shownResults } from './results.ts';
import { BatchRunner } from './runner.ts';
import { shownBatch, type ShownBatch } from './shown.ts';
import { hasEnded, mayFollow, WITH_RESULTS, type BatchState } from './states.ts';
import { tidyUp } from './tidy.ts';
import { BatchWorker, type WorkerOptions } from './worker.ts';

const TIDY_MS = 60_000;

export interface BatchesOptions extends Pick<WorkerOptions, 'store' | 'keys' | 'performing' | 'meter' | 'log' | 'journal' | 'health'> {
  /** How requests write. */
  readonly writes: Pick<StoreWrites, 'write'>;
  /** The store's file: parts and results lie beside it. */
  readonly path: string;
  /** How many requests have come so far: jobs give way to them. */
  readonly arrived: () => number;
  /** Monotonic, milliseconds. */
  readonly clock: () => number;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Default: nobody is told. */
  readonly announce?: Announce;
}

/** What is to be written together with a change of a job, which it is given. */
export type Within = (job: ShownBatch) => void;
const NOTHING: Within = () => undefined;

export class Batches {
  readonly #options: BatchesOptions;
  readonly #rows: BatchRows;
  readonly #folder: BatchFolder;
  readonly #runner: BatchRunner;
  readonly #cutter;

  constructor(options: BatchesOptions) {
    const { store, path, clock, now, log, health, announce = () => undefined } = options;
    this.#options = options;
    this.#rows = new BatchRows(store, now);
    this.#folder = new BatchFolder(path);
    this.#cutter = cutter(store);
    const parts = { ...options, rows: this.#rows, folder: this.#folder, pacer: new Pacer(options.arrived, clock), owner: newOwner(), stopped: () => this.#runner.stopped };
    const worker = new BatchWorker({ ...parts, announce });
    const warn = (event: string) => (error: unknown): void => {
      if (isDamage(error)) health.damaged('batches', error);
      else log?.write('warn', { event, error: error instanceof Error ? error.message : String(error) });
    };
    const tidy = (): Promise<void> => tidyUp({ ...parts, waits: (row) => worker.waits(row) }).catch(warn('batches_not_tidied'));
    this.#runner = new BatchRunner({ ...parts, step: (id) => worker.step(id), tidy, tidyMs: TIDY_MS, onError: warn('batches_not_looked_for') });
  }

  /** Goes on with what an earlier process has left undone. */
  start(): void {
    this.#runner.start();
  }

  /** Nothing more is noted. */
  stop(): void {
    this.#runner.stop();
  }

  /** After `stop`: resolves when nothing uses the store any more. */
  ended(): Promise<void> {
    return this.#runner.ended();
  }

  /** How many jobs there are in each state. */
  byState(): ReadonlyMap<BatchState, number> {
    // The store may be closed by then.
    return this.#runner.stopped ? new Map() : this.#rows.byState();
  }

  /** Begins a job. @throws ServiceError when there are too many */
  create(keyId: string, request: BatchRequest, within: Within = NOTHING): Promise<ShownBatch> {
    return this.#write(() => {
      const { unfinished, ofKey, kept } = this.#rows.load(keyId);
      if (ofKey >= MAX_UNFINISHED_PER_KEY || unfinished >= MAX_UNFINISHED) throw full('too many batch jobs are not ended; end or cancel some');
      if (kept >= MAX_KEPT_PER_KEY) throw full('too many batch jobs are kept for this key; delete some that have ended');
      const id = newId();
      this.#rows.create(id, keyId, request);
      const job = shownBatch(this.#rows.find(id) as BatchRow);
      within(job);
      return job;
    });
  }

  get(keyId: string, id: string): ShownBatch {
    return shownBatch(this.#find(keyId, id));
  }

  /** Newest first. @param before of the last one of the page before, or Infinity */
  page(keyId: string, before: number, limit: number): { readonly jobs: readonly ShownBatch[]; readonly last: number | null } {
    const rows = this.#rows.page(keyId, Math.min(before, Number.MAX_SAFE_INTEGER), limit + 1);
    const shown = rows.slice(0, limit);
    return { jobs: shown.map(shownBatch), last: rows.length > limit ? (shown.at(-1)?.seq ?? null) : null };
  }

  /** What a job takes parts of; to be asked before one is read. @throws ServiceError when it takes none now */
  formatOf(keyId: string, id: string): BatchFormat {
    const row = this.#find(keyId, id);
    if (row.state !== 'open') throw conflict(row, 'takes no parts any more');
    if (this.#rows.files.isFull(keyId, MAX_PART_BYTES)) throw full('there is no room for more parts; delete jobs that have ended');
    return row.request.format;
  }

  /** Writes a part to the disk as it comes. Returns its bytes. @throws ServiceError when it is too large, or has no place */
  putPart(keyId: string, id: string, n: number, body: Readable): Promise<number> {
    const row = this.#find(keyId, id);
    return writePart(this.#folder, id, n, body, (part) => this.#write(() => {
      const now = this.#find(keyId, id);
      if (now.state !== 'open') throw conflict(now, 'takes no parts any more');
      return this.#rows.files.put(row, 'part', part);
    }));
  }

  /** All parts are there. @throws ServiceError naming those that are missing */
  complete(keyId: string, id: string, within: Within = NOTHING): Promise<ShownBatch> {
    return this.#change(keyId, id, (row) => {
      if (row.state !== 'open') throw conflict(row, 'was completed before');
      const parts = this.#rows.files.all(row, 'part').map(({ n }) => n);
      const last = parts.at(-1);
      if (last === undefined) throw missing([1], 'no part was sent');
      const there = new Set(parts);
      const absent = Array.from({ length: last }, (_, at) => at + 1).filter((n) => !there.has(n));
      if (absent.length > 0) throw missing(absent, `of ${last} parts ${absent.length} ${absent.length === 1 ? 'is' : 'are'} missing: ${absent.slice(0, 10).join(', ')}${absent.length > 10 ? ' and more' : ''}`);
      return this.#rows.move(row, 'validating');
    }, within);
  }

  /** Has a job that may cost so much, and no less than before, go on: a round that is under way was begun with what it was. @throws ServiceError */
  raiseMaxCredits(keyId: string, id: string, maxCredits: number): Promise<ShownBatch> {
    return this.#change(keyId, id, (row) => {
      if (hasEnded(row.state) || row.state === 'cancelling') throw conflict(row, 'costs nothing more');
      const before = row.request.maxCredits;
      const detail = before === null ? 'this job has no max_credits, and may cost as much as the key has' : `max_credits can be raised only: it is ${before}`;
      if (before === null || maxCredits < before) throw new ServiceError('validation_failed', detail, { errors: [{ pointer: '/max_credits', code: 'range', detail }] });
      return this.#rows.setRequest(row, { ...row.request, maxCredits });
    });
  }

  /** Ends a job early; one that is cancelled stays so. */
  cancel(keyId: string, id: string, within: Within = NOTHING): Promise<ShownBatch> {
    return this.#change(keyId, id, (row) => {
      if (row.state === 'cancelling' || row.state === 'cancelled') return row;
      if (!mayFollow(row.state, 'cancelling')) throw conflict(row, 'cannot be cancelled any more');
      return this.#rows.move(row, 'cancelling');
    }, within);
  }

  /** Forgets a job that has ended: first its files, for what is left when it is killed in between can be asked for again. @throws ServiceError */
  async delete(keyId: string, id: string): Promise<void> {
    const row = this.#find(keyId, id);
    if (!hasEnded(row.state)) throw conflict(row, 'has not ended; cancel it first');
    await this.#folder.removeJob(id).catch((error: unknown) => {
      throw isOfDisk(error) ? full('the disk cannot be written') : error;
    });
    await this.#write(() => this.#rows.drop(row));
  }

  /** What a job's parts were in. @throws ServiceError when it has no results */
  resultsOf(keyId: string, id: string): { readonly format: BatchFormat; read(set: ResultSet | null, format: BatchFormat): AsyncGenerator<string> } {
    const row = this.#find(keyId, id);
    if (!WITH_RESULTS.includes(row.state)) throw conflict(row, 'has no results: those of a completed or cancelled job can be read');
    const files = this.#rows.files.all(row, 'results');
    if (files.some(({ file, bytes }) => (statSync(this.#folder.at(id, file), { throwIfNoEntry: false })?.size ?? -1) < bytes)) throw new ServiceError('not_found', 'the files of this job are gone');
    return { format: row.request.format, read: (set, format) => shownResults(() => this.#rows.files.all(row, 'results'), (file) => this.#folder.at(id, file), set, { format, escapesFormulas: row.request.options['escape_formulas'] === true }, () => this.#cutter(row.createdMs)) };
  }

  async #change(keyId: string, id: string, change: (row: BatchRow) => BatchRow, within: Within = NOTHING): Promise<ShownBatch> {
    const shown = await this.#write(() => {
      const job = shownBatch(change(this.#find(keyId, id)));
      within(job);
      return job;
    });
    this.#runner.wake(id);
    return shown;
  }

  #find(keyId: string, id: string): BatchRow {
    const row = this.#rows.find(id);
    if (row === null || row.keyId !== keyId) throw new ServiceError('not_found', 'there is no batch job of this id; those that have ended are kept for 30 days');
    return row;
  }

  #write<T>(work: () => T): Promise<T> {
    return this.#options.writes.write(work);
  }
}

function newId(): string {
  return `bat_${randomBytes(16).toString('hex')}`;
}
