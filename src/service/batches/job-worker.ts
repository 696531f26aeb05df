/** Runs the next step of a job, chosen by its state. A step is committed in one transaction, or has no effect. */
import { isBusy } from '../../sqlite/busy.ts';
import { isUnreadable, isDiskFailure } from '../../sqlite/system-code.ts';
import { ServiceError } from '../http/problem.ts';
import type { Journal } from '../store/journal.ts';
import type { BatchRow, Reason } from './batch-rows.ts';
import { Budget } from './budget.ts';
import { FileTruncated } from './batch-folder.ts';
import { CHUNK_RESULT_BYTES } from './batch-limits.ts';
import { batchParts } from './next-lines.ts';
import { LeaseLost, Committer } from './commit.ts';
import type { Announce } from '../webhooks/announcement.ts';
import { ChunkRunner, type ChunkRunnerOptions } from './chunk-runner.ts';
import { serialiseBatch } from './serialise.ts';
import type { BatchState } from './states.ts';
import { validateJob } from './validate-job.ts';

/** Milliseconds until the next step: after credits were missing, after a lack of room or capacity, and after a bug. */
const CREDITS_AGAIN_MS = 1_000;
const NO_ROOM_MS = 5_000;
const AFTER_BUG_MS = 60_000;
/** Milliseconds until the next step after the lease was lost: then it is clear which process holds it. */
const LEASE_LOST_MS = 1_000;

const DISK_FULL: Reason = { code: 'disk_full', detail: 'there is no room on the disk for results; the job goes on when there is' };
const TOO_MANY_RESULTS: Reason = {
  code: 'disk_full',
  detail: 'there is no room for more results; the job goes on when jobs that have ended are deleted',
};
const NO_CALLS = new ServiceError('insufficient_credits', 'this key has no calls left for this line');

export interface WorkerOptions extends ChunkRunnerOptions {
  readonly announce: Announce;
  readonly journal: Pick<Journal, 'isDiskUnusable'>;
}

export class BatchWorker {
  readonly #options: WorkerOptions;
  readonly #committer: Committer;
  readonly #budget: Budget;
  readonly #chunks: ChunkRunner;
  /** Jobs for which the disk had no room. */
  readonly #roomless = new Set<string>();

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#committer = new Committer(options);
    this.#budget = new Budget(options.keys);
    this.#chunks = new ChunkRunner(options, this.#committer, this.#budget);
  }

  /** Runs one step. Returns the milliseconds to wait before the next one. Never rejects. */
  async step(id: string): Promise<number> {
    let row: BatchRow | null = null;
    try {
      row = this.#options.rows.find(id);
      return row === null ? 0 : (await this.#waitsForRoom(row)) ? NO_ROOM_MS : await this.#stepOf(row);
    } catch (error) {
      return row === null ? NO_ROOM_MS : this.#recover(row, error);
    }
  }

  /** Without room no lines are executed, or mail servers would be asked again every few seconds. A cancelled job frees room, so it runs. */
  async #waitsForRoom({ id, state }: BatchRow): Promise<boolean> {
    if (this.#options.journal.isDiskUnusable) return true;
    if (!this.#roomless.has(id)) return false;
    if (state !== 'cancelling' && !(await this.#options.folder.hasRoom(id, CHUNK_RESULT_BYTES))) return true;
    this.#roomless.delete(id);
    return false;
  }

  async #stepOf(row: BatchRow): Promise<number> {
    switch (row.state) {
      case 'validating':
        return this.#validate(row);
      case 'queued':
        return this.#move(row, 'in_progress');
      case 'in_progress':
        return this.#work(row);
      case 'paused':
        return this.#resume(row);
      case 'finalizing':
        return this.#end(row, 'completed', row.reason);
      case 'cancelling':
        return row.position.line < row.total ? this.#skip(row, null) : this.#end(row, 'cancelled', row.reason);
      case 'open':
      case 'completed':
      case 'failed':
      case 'cancelled':
      case 'expired':
        return 0;
      default:
        return row.state satisfies never;
    }
  }

  async #recover(row: BatchRow, error: unknown): Promise<number> {
    const { log, health, stopped } = this.#options;
    if (error instanceof LeaseLost || stopped()) return LEASE_LOST_MS;
    if (error instanceof ServiceError || isBusy(error)) return NO_ROOM_MS;
    if (error instanceof FileTruncated || (error as NodeJS.ErrnoException).code === 'ENOENT')
      return this.#end(row, row.state === 'cancelling' ? 'cancelled' : 'failed', {
        code: 'files_lost',
        detail: 'the files of the job are gone, or are not those that they were',
      }).catch(() => AFTER_BUG_MS);
    if (isUnreadable(error)) {
      // The rows of this job are damaged. Other jobs go on.
      health.damaged('batches', error);
      return AFTER_BUG_MS;
    }
    if (!isDiskFailure(error)) {
      log?.write('error', { event: 'bug', batch: row.id, error: error instanceof Error ? error.stack : String(error) });
      return AFTER_BUG_MS;
    }
    this.#roomless.add(row.id);
    // The store may be on the same full disk. Then a later step writes the pause.
    await this.#pause(row, DISK_FULL).catch(() => undefined);
    return NO_ROOM_MS;
  }

  async #validate(row: BatchRow): Promise<number> {
    const { rows, scheduler, stopped } = this.#options;
    const isWanted = (): boolean => !stopped() && rows.find(row.id)?.state === 'validating';
    const found = await validateJob(batchParts(this.#options, row), row.request.operation, scheduler, isWanted);
    if (found === null) return 0;
    if ('code' in found) return this.#end(row, 'failed', found);
    await this.#committer.commit(() => {
      if (rows.find(row.id)?.state !== 'validating') return;
      rows.setTotal(row, found.total, found.header, rows.files.partFrom(row, 1)?.n ?? 0);
      rows.move(row, 'queued');
    });
    return 0;
  }

  async #work(row: BatchRow): Promise<number> {
    const { keys, rows } = this.#options;
    const key = keys.find(row.keyId);
    if (key === null) return this.#move(row, 'cancelling', { code: 'key_revoked', detail: 'the key is not in force any more' });
    if (row.position.line >= row.total) return this.#move(row, 'finalizing', row.reason);
    if (keys.left(key).calls < 1) return this.#skip(row, NO_CALLS);
    if (this.#options.folder.isReserved()) {
      this.#roomless.add(row.id);
      return this.#pause(row, DISK_FULL);
    }
    const short = rows.files.isFull(row.keyId, 0) ? TOO_MANY_RESULTS : await this.#chunks.work(row, key);
    return short === null ? 0 : this.#pause(row, short);
  }

  async #skip(row: BatchRow, why: ServiceError | null): Promise<number> {
    await this.#chunks.skip(row, why);
    return 0;
  }

  /** Whether a paused job still lacks credits, calls or room. */
  waits({ id, keyId, reason, ...row }: BatchRow): boolean {
    if (this.#roomless.has(id)) return true;
    const key = this.#options.keys.find(keyId);
    if (key === null) return false;
    if (reason?.code === 'disk_full') return this.#options.rows.files.isFull(keyId, 0);
    return this.#budget.of(row, key) < (reason?.needs ?? 1);
  }

  /** Resumes a paused job that lacks nothing any longer. */
  async #resume(row: BatchRow): Promise<number> {
    if (!this.waits(row)) return this.#move(row, 'in_progress');
    return row.reason?.code === 'disk_full' ? NO_ROOM_MS : CREDITS_AGAIN_MS;
  }

  /** Changes the state, unless the state has changed meanwhile, such as by a cancel. */
  async #move(row: BatchRow, to: BatchState, reason: Reason | null = null): Promise<number> {
    const { rows } = this.#options;
    await this.#committer.commit(() => {
      if (rows.find(row.id)?.state === row.state) rows.move(row, to, reason);
    });
    return 0;
  }

  async #pause(row: BatchRow, reason: Reason): Promise<number> {
    if (row.state === 'in_progress') return this.#move(row, 'paused', reason);
    if (row.state === 'cancelling') await this.#committer.commit(() => this.#options.rows.setReason(row, reason));
    return NO_ROOM_MS;
  }

  async #end(row: BatchRow, to: 'completed' | 'failed' | 'cancelled', reason: Reason | null): Promise<number> {
    const { rows, folder, announce } = this.#options;
    const parts = rows.files.all(row, 'part');
    let hasEnded = false;
    await this.#committer.commit(() => {
      hasEnded = rows.find(row.id)?.state === row.state;
      if (!hasEnded) return;
      const ended = rows.move(row, to, reason?.code === 'disk_full' ? null : reason);
      rows.files.retireParts(row);
      announce({ type: `batch.${to}`, keyId: row.keyId, data: serialiseBatch(ended), webhookUrl: row.request.webhookUrl });
    });
    // A job that was cancelled meanwhile still needs its parts.
    if (hasEnded)
      await folder.retire(
        row.id,
        parts.map(({ file }) => file),
      );
    return 0;
  }
}
