/** The use cases of the Batch API, without HTTP. A key sees only its own jobs. */
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import type { RunSteps } from '../../util/steps.ts';
import { ServiceError } from '../http/problem.ts';
import type { BatchFormat, ResultSet } from './batch-operations.ts';
import { isUnreadable, isDiskFailure } from '../../sqlite/system-code.ts';
import type { StoreWrites } from '../calls/store-writes.ts';
import type { Announce } from '../webhooks/announcement.ts';
import { BatchRows, type BatchRow } from './batch-rows.ts';
import { redactorOf } from './redact-results.ts';
import { BatchFolder } from './batch-folder.ts';
import { MAX_STORED_PER_KEY, MAX_PART_BYTES, MAX_UNFINISHED, MAX_UNFINISHED_PER_KEY } from './batch-limits.ts';
import { newOwner } from './owner.ts';
import { Scheduler } from './scheduler.ts';
import { writePart } from './part-file.ts';
import { conflict, full, missing } from './refusals.ts';
import type { BatchRequest } from './batch-request.ts';
import { resultStream } from './result-stream.ts';
import { BatchRunner } from './runner.ts';
import { serialiseBatch, type SerialisedBatch } from './serialise.ts';
import { hasEnded, mayFollow, WITH_RESULTS, type BatchState } from './states.ts';
import { runJanitor } from './janitor.ts';
import { BatchWorker, type WorkerOptions } from './job-worker.ts';

const JANITOR_MS = 60_000;

export interface BatchesOptions extends Pick<WorkerOptions, 'store' | 'keys' | 'executeContext' | 'meter' | 'log' | 'journal' | 'health'> {
  /** The writes of requests. */
  readonly writes: Pick<StoreWrites, 'write'>;
  /** The path of the store. The files of jobs lie beside it. */
  readonly path: string;
  /** The number of requests so far: jobs yield to requests. */
  readonly arrived: () => number;
  /** Monotonic, milliseconds. */
  readonly clock: () => number;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Saves events of jobs; by default there are none. */
  readonly announce?: Announce;
}

/** A callback in the transaction of a change, with the changed job. */
export type WithinTransaction = (job: SerialisedBatch) => void;
const NOTHING: WithinTransaction = () => undefined;

export class Batches {
  readonly #options: BatchesOptions;
  readonly #rows: BatchRows;
  readonly #folder: BatchFolder;
  readonly #runner: BatchRunner;
  readonly #redactorOf;

  constructor(options: BatchesOptions) {
    const { store, path, clock, now, log, health, announce = () => undefined } = options;
    this.#options = options;
    this.#rows = new BatchRows(store, now);
    this.#folder = new BatchFolder(path);
    this.#redactorOf = redactorOf(store);
    const parts = {
      ...options,
      rows: this.#rows,
      folder: this.#folder,
      scheduler: new Scheduler(options.arrived, clock),
      owner: newOwner(),
      stopped: () => this.#runner.stopped,
    };
    const worker = new BatchWorker({ ...parts, announce });
    const warn =
      (event: string) =>
      (error: unknown): void => {
        if (isUnreadable(error)) health.damaged('batches', error);
        else log?.write('warn', { event, error: error instanceof Error ? error.message : String(error) });
      };
    const janitor = (): Promise<void> => runJanitor({ ...parts, waits: (row) => worker.waits(row) }).catch(warn('batches_not_tidied'));
    this.#runner = new BatchRunner({
      ...parts,
      step: (id) => worker.step(id),
      janitor,
      janitorMs: JANITOR_MS,
      onError: warn('batches_not_looked_for'),
    });
  }

  /** Starts polling, and continues the jobs of an earlier process. */
  start(): void {
    this.#runner.start();
  }

  /** Stops all work. Steps that still run commit nothing. */
  stop(): void {
    this.#runner.stop();
  }

  /** Resolves after `stop`, when no job uses the store. */
  ended(): Promise<void> {
    return this.#runner.ended();
  }

  /** The number of jobs by state. */
  byState(): ReadonlyMap<BatchState, number> {
    // The store may be closed after `stop`.
    return this.#runner.stopped ? new Map() : this.#rows.byState();
  }

  /** Creates a job. @throws ServiceError when there are too many */
  create(keyId: string, request: BatchRequest, within: WithinTransaction = NOTHING): Promise<SerialisedBatch> {
    return this.#write(() => {
      const { unfinished, ofKey, stored } = this.#rows.load(keyId);
      if (ofKey >= MAX_UNFINISHED_PER_KEY || unfinished >= MAX_UNFINISHED)
        throw full('too many batch jobs are not ended; end or cancel some');
      if (stored >= MAX_STORED_PER_KEY) throw full('too many batch jobs are kept for this key; delete some that have ended');
      const id = newId();
      this.#rows.create(id, keyId, request);
      const job = serialiseBatch(this.#rows.find(id) as BatchRow);
      within(job);
      return job;
    });
  }

  get(keyId: string, id: string): SerialisedBatch {
    return serialiseBatch(this.#find(keyId, id));
  }

  /** The jobs of a key, newest first. @param before the `seq` of the previous page's last job, or Infinity */
  page(keyId: string, before: number, limit: number): { readonly jobs: readonly SerialisedBatch[]; readonly last: number | null } {
    const rows = this.#rows.page(keyId, Math.min(before, Number.MAX_SAFE_INTEGER), limit + 1);
    const shown = rows.slice(0, limit);
    return { jobs: shown.map(serialiseBatch), last: rows.length > limit ? (shown.at(-1)?.seq ?? null) : null };
  }

  /** The format of a job's parts. Call it before reading a part. @throws ServiceError when the job accepts no parts */
  formatOf(keyId: string, id: string): BatchFormat {
    const row = this.#find(keyId, id);
    if (row.state !== 'open') throw conflict(row, 'takes no parts any more');
    if (this.#rows.files.isFull(keyId, MAX_PART_BYTES)) throw full('there is no room for more parts; delete jobs that have ended');
    return row.request.format;
  }

  /** Streams a part to the disk. Returns its size in bytes. @throws ServiceError when it is too large, or the disk is full */
  putPart(keyId: string, id: string, n: number, body: Readable): Promise<number> {
    const row = this.#find(keyId, id);
    return writePart(this.#folder, id, n, body, (part) =>
      this.#write(() => {
        const current = this.#find(keyId, id);
        if (current.state !== 'open') throw conflict(current, 'takes no parts any more');
        return this.#rows.files.put(row, 'part', part);
      }),
    );
  }

  /** Completes the input of a job. @throws ServiceError naming missing parts */
  complete(keyId: string, id: string, within: WithinTransaction = NOTHING): Promise<SerialisedBatch> {
    return this.#change(
      keyId,
      id,
      (row) => {
        if (row.state !== 'open') throw conflict(row, 'was completed before');
        const parts = this.#rows.files.all(row, 'part').map(({ n }) => n);
        const last = parts.at(-1);
        if (last === undefined) throw missing([1], 'no part was sent');
        const sent = new Set(parts);
        const absent = Array.from({ length: last }, (_, at) => at + 1).filter((n) => !sent.has(n));
        if (absent.length > 0)
          throw missing(
            absent,
            `of ${last} parts ${absent.length} ${absent.length === 1 ? 'is' : 'are'} missing: ` +
              `${absent.slice(0, 10).join(', ')}${absent.length > 10 ? ' and more' : ''}`,
          );
        return this.#rows.move(row, 'validating');
      },
      within,
    );
  }

  /**
   * Raises `max_credits`, so that a paused job can continue. It cannot be lowered, because a running chunk was started with the old value.
   * @throws ServiceError
   */
  raiseMaxCredits(keyId: string, id: string, maxCredits: number): Promise<SerialisedBatch> {
    return this.#change(keyId, id, (row) => {
      if (hasEnded(row.state) || row.state === 'cancelling') throw conflict(row, 'costs nothing more');
      const before = row.request.maxCredits;
      const detail =
        before === null
          ? 'this job has no max_credits, and may cost as much as the key has'
          : `max_credits can be raised only: it is ${before}`;
      if (before === null || maxCredits < before)
        throw new ServiceError('validation_failed', detail, { errors: [{ pointer: '/max_credits', code: 'range', detail }] });
      return this.#rows.setRequest(row, { ...row.request, maxCredits });
    });
  }

  /** Cancels a job. A second call changes nothing. @throws ServiceError when the job has ended otherwise */
  cancel(keyId: string, id: string, within: WithinTransaction = NOTHING): Promise<SerialisedBatch> {
    return this.#change(
      keyId,
      id,
      (row) => {
        if (row.state === 'cancelling' || row.state === 'cancelled') return row;
        if (!mayFollow(row.state, 'cancelling')) throw conflict(row, 'cannot be cancelled any more');
        return this.#rows.move(row, 'cancelling');
      },
      within,
    );
  }

  /**
   * Deletes an ended job: the files first, so that the call can be repeated after a crash.
   * @throws ServiceError when the job has not ended, or the disk cannot be written
   */
  async delete(keyId: string, id: string): Promise<void> {
    const row = this.#find(keyId, id);
    if (!hasEnded(row.state)) throw conflict(row, 'has not ended; cancel it first');
    await this.#folder.removeJob(id).catch((error: unknown) => {
      throw isDiskFailure(error) ? full('the disk cannot be written') : error;
    });
    await this.#write(() => this.#rows.drop(row));
  }

  /** The format of a job, and a reader of its results. @throws ServiceError when it has no results */
  resultsOf(
    keyId: string,
    id: string,
  ): { readonly format: BatchFormat; read(set: ResultSet | null, format: BatchFormat, run: RunSteps): AsyncGenerator<string> } {
    const row = this.#find(keyId, id);
    if (!WITH_RESULTS.includes(row.state)) throw conflict(row, 'has no results: those of a completed or cancelled job can be read');
    const files = this.#rows.files.all(row, 'results');
    if (files.some(({ file, bytes }) => (statSync(this.#folder.at(id, file), { throwIfNoEntry: false })?.size ?? -1) < bytes))
      throw new ServiceError('not_found', 'the files of this job are gone');
    return {
      format: row.request.format,
      read: (set, format, run) =>
        resultStream(
          () => this.#rows.files.all(row, 'results'),
          (file) => this.#folder.at(id, file),
          set,
          { format, escapesFormulas: row.request.options['escape_formulas'] === true },
          () => this.#redactorOf(row.createdMs),
          run,
        ),
    };
  }

  async #change(
    keyId: string,
    id: string,
    change: (row: BatchRow) => BatchRow,
    within: WithinTransaction = NOTHING,
  ): Promise<SerialisedBatch> {
    const changed = await this.#write(() => {
      const job = serialiseBatch(change(this.#find(keyId, id)));
      within(job);
      return job;
    });
    this.#runner.wake(id);
    return changed;
  }

  #find(keyId: string, id: string): BatchRow {
    const row = this.#rows.find(id);
    if (row === null || row.keyId !== keyId)
      throw new ServiceError('not_found', 'there is no batch job of this id; those that have ended are kept for 30 days');
    return row;
  }

  #write<T>(work: () => T): Promise<T> {
    return this.#options.writes.write(work);
  }
}

function newId(): string {
  return `bat_${randomBytes(16).toString('hex')}`;
}
