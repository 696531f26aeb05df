/** Does the next step of a job, whatever its state is. What a step has done is noted in one transaction, or it has not been done. */
import { isBusy } from '../../sqlite/busy.ts';
import { isDamage, isOfDisk } from '../../sqlite/system-code.ts';
import { ServiceError } from '../errors.ts';
import type { Journal } from '../store/journal.ts';
import type { BatchRow, Reason } from './batch-rows.ts';
import { Budget } from './budget.ts';
import { FileCut } from './folder.ts';
import { ROUND_RESULT_BYTES } from './limits.ts';
import { sourceOf } from './lines-ahead.ts';
import { Dismissed, Notes } from './notes.ts';
import type { Announce } from '../webhooks/announcement.ts';
import { Rounds, type RoundsOptions } from './rounds.ts';
import { shownBatch } from './shown.ts';
import type { BatchState } from './states.ts';
import { validateJob } from './validate-job.ts';

/** Milliseconds until it is tried again: when credits or calls are bought, the disk has room, or mail servers can be asked. */
const CREDITS_AGAIN_MS = 1_000;
const NO_ROOM_MS = 5_000;
const AFTER_BUG_MS = 60_000;
/** By then it is known who works on the jobs. */
const DISMISSED_MS = 1_000;

const DISK_FULL: Reason = { code: 'disk_full', detail: 'there is no room on the disk for results; the job goes on when there is' };
const TOO_MUCH_KEPT: Reason = { code: 'disk_full', detail: 'there is no room for more results; the job goes on when jobs that have ended are deleted' };
const NO_CALLS = new ServiceError('insufficient_credits', 'this key has no calls left for this line');

export interface WorkerOptions extends RoundsOptions {
  readonly announce: Announce;
  readonly journal: Pick<Journal, 'hasNoDisk'>;
}

export class BatchWorker {
  readonly #options: WorkerOptions;
  readonly #notes: Notes;
  readonly #budget: Budget;
  readonly #rounds: Rounds;
  /** Jobs whose results the disk had no room for. */
  readonly #roomless = new Set<string>();

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#notes = new Notes(options);
    this.#budget = new Budget(options.keys);
    this.#rounds = new Rounds(options, this.#notes, this.#budget);
  }

  /** Returns after how many milliseconds the job is worth looking at again. Never rejects. */
  async step(id: string): Promise<number> {
    let row: BatchRow | null = null;
    try {
      row = this.#options.rows.find(id);
      return row === null ? 0 : (await this.#waitsForRoom(row)) ? NO_ROOM_MS : await this.#stepOf(row);
    } catch (error) {
      return row === null ? NO_ROOM_MS : this.#recover(row, error);
    }
  }

  /** Lines are not worked on again for what cannot be written: mail servers would be asked every few seconds. One that is cancelled makes room, and tries. */
  async #waitsForRoom({ id, state }: BatchRow): Promise<boolean> {
    if (this.#options.journal.hasNoDisk) return true;
    if (!this.#roomless.has(id)) return false;
    if (state !== 'cancelling' && !(await this.#options.folder.hasRoom(id, ROUND_RESULT_BYTES))) return true;
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
        return row.place.line < row.total ? this.#skip(row, null) : this.#end(row, 'cancelled', row.reason);
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
    if (error instanceof Dismissed || stopped()) return DISMISSED_MS;
    if (error instanceof ServiceError || isBusy(error)) return NO_ROOM_MS;
    if (error instanceof FileCut || (error as NodeJS.ErrnoException).code === 'ENOENT') return this.#end(row, row.state === 'cancelling' ? 'cancelled' : 'failed', { code: 'files_lost', detail: 'the files of the job are gone, or are not those that they were' }).catch(() => AFTER_BUG_MS);
    if (isDamage(error)) {
      // What the store has of the job itself; other jobs go on.
      health.damaged('batches', error);
      return AFTER_BUG_MS;
    }
    if (!isOfDisk(error)) {
      log?.write('error', { event: 'bug', batch: row.id, error: error instanceof Error ? error.stack : String(error) });
      return AFTER_BUG_MS;
    }
    this.#roomless.add(row.id);
    // The store may be on the same disk; then it is said as soon as there is room to say it.
    await this.#pause(row, DISK_FULL).catch(() => undefined);
    return NO_ROOM_MS;
  }

  async #validate(row: BatchRow): Promise<number> {
    const { rows, pacer, stopped } = this.#options;
    const goesOn = (): boolean => !stopped() && rows.find(row.id)?.state === 'validating';
    const found = await validateJob(sourceOf(this.#options, row), row.request.operation, pacer, goesOn);
    if (found === null) return 0;
    if ('code' in found) return this.#end(row, 'failed', found);
    await this.#notes.write(() => {
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
    if (row.place.line >= row.total) return this.#move(row, 'finalizing', row.reason);
    if (keys.left(key).calls < 1) return this.#skip(row, NO_CALLS);
    if (this.#options.folder.isReserved()) {
      this.#roomless.add(row.id);
      return this.#pause(row, DISK_FULL);
    }
    const short = rows.files.isFull(row.keyId, 0) ? TOO_MUCH_KEPT : await this.#rounds.work(row, key);
    return short === null ? 0 : this.#pause(row, short);
  }

  async #skip(row: BatchRow, why: ServiceError | null): Promise<number> {
    await this.#rounds.skip(row, why);
    return 0;
  }

  /** Whether what a paused job waits for is not there yet. */
  waits({ id, keyId, reason, ...row }: BatchRow): boolean {
    if (this.#roomless.has(id)) return true;
    const key = this.#options.keys.find(keyId);
    if (key === null) return false;
    if (reason?.code === 'disk_full') return this.#options.rows.files.isFull(keyId, 0);
    return this.#budget.of(row, key) < (reason?.needs ?? 1);
  }

  /** Goes on when what it waited for may be there. */
  async #resume(row: BatchRow): Promise<number> {
    if (!this.waits(row)) return this.#move(row, 'in_progress');
    return row.reason?.code === 'disk_full' ? NO_ROOM_MS : CREDITS_AGAIN_MS;
  }

  /** Another state, unless the job has come into one meanwhile from which it cannot follow: it was cancelled. */
  async #move(row: BatchRow, to: BatchState, reason: Reason | null = null): Promise<number> {
    const { rows } = this.#options;
    await this.#notes.write(() => {
      if (rows.find(row.id)?.state === row.state) rows.move(row, to, reason);
    });
    return 0;
  }

  async #pause(row: BatchRow, reason: Reason): Promise<number> {
    if (row.state === 'in_progress') return this.#move(row, 'paused', reason);
    if (row.state === 'cancelling') await this.#notes.write(() => this.#options.rows.setReason(row, reason));
    return NO_ROOM_MS;
  }

  async #end(row: BatchRow, to: 'completed' | 'failed' | 'cancelled', reason: Reason | null): Promise<number> {
    const { rows, folder, announce } = this.#options;
    const parts = rows.files.all(row, 'part');
    let isMine = false;
    await this.#notes.write(() => {
      isMine = rows.find(row.id)?.state === row.state;
      if (!isMine) return;
      const ended = rows.move(row, to, reason?.code === 'disk_full' ? null : reason);
      rows.files.retireParts(row);
      announce({ type: `batch.${to}`, keyId: row.keyId, data: shownBatch(ended), webhookUrl: row.request.webhookUrl });
    });
    // One that was cancelled meanwhile has lines to be told of.
    if (isMine) await folder.retire(row.id, parts.map(({ file }) => file));
    return 0;
  }
}
