/** Commits chunks: flushes results to the disk, then writes progress and charges in one transaction under the lease. */
import type { KeyRing, Reservation } from '../accounts/key-ring.ts';
import type { ServiceMeter } from '../monitoring/meter.ts';
import type { BatchRow, BatchRows, Progress } from './batch-rows.ts';
import type { BatchFolder } from './batch-folder.ts';
import type { Scheduler } from './scheduler.ts';
import { writeWhenFree, type WriteOptions } from './write-when-free.ts';

export interface CommitOptions extends WriteOptions {
  readonly rows: BatchRows;
  readonly folder: BatchFolder;
  readonly keys: KeyRing;
  readonly scheduler: Scheduler;
  readonly meter: ServiceMeter;
  /** The identity of this process in the lease. */
  readonly owner: string;
}

/** Error: this process has lost the lease, or stops. It must commit nothing more. */
export class LeaseLost extends Error {}

export class Committer {
  readonly #options: CommitOptions;

  constructor(options: CommitOptions) {
    this.#options = options;
  }

  /** Runs `work` in a transaction under the lease, and `written` right after the commit. @throws LeaseLost */
  async commit(work: () => void, written?: () => void): Promise<void> {
    const { rows, owner, stopped } = this.#options;
    await writeWhenFree(
      this.#options,
      () => {
        if (stopped() || !rows.isHeldBy(owner)) throw new LeaseLost();
        work();
      },
      written,
    );
  }

  /**
   * Appends results to the job's file, then commits progress and charges.
   * @param more further writes of the same transaction
   * @throws LeaseLost, also when the job is no longer where the chunk began
   */
  async commitChunk(row: BatchRow, results: Buffer, progress: Progress, paid: Reservation | null, more: () => void): Promise<void> {
    const { rows, folder, meter, owner } = this.#options;
    const files = rows.files.all(row, 'results');
    // Each process writes to its own file. So a process that was suspended cannot overwrite bytes that its successor committed.
    const ownSuffix = `-${owner.split(':').at(-1)}`;
    const last = files.at(-1);
    const n = (last?.n ?? 0) + 1;
    const file = last?.file.endsWith(ownSuffix) === true ? last : { n, file: `results-${n}${ownSuffix}`, bytes: 0 };
    // Files of other processes must be complete: their lines are paid for, and the results cannot be read without them.
    if (file !== last) for (const { file: name, bytes } of files) await folder.truncateTo(row.id, name, bytes);
    await folder.append(row.id, file.file, file.bytes, results);
    await this.commit(
      () => {
        // Another process may have held the lease meanwhile and committed these lines.
        if (!rows.addProgress(row, progress)) throw new LeaseLost();
        rows.files.put(row, 'results', { ...file, bytes: file.bytes + results.length });
        paid?.write();
        more();
      },
      () => {
        paid?.written();
        meter.credits += paid?.use.credits ?? 0;
        meter.batchLines += progress.position.line - row.position.line;
      },
    );
  }

  /** Concatenates texts as bytes, in slices of the scheduler. */
  async toBytes(count: number, textOf: (at: number) => string): Promise<Buffer> {
    const { scheduler } = this.#options;
    const texts: string[] = [];
    let size = 0;
    await scheduler.run(() => {
      const text = textOf(texts.length);
      size += Buffer.byteLength(text);
      texts.push(text);
      return texts.length >= count;
    });
    // One buffer, because a thousand small ones would cause long garbage collections.
    const bytes = Buffer.allocUnsafeSlow(size);
    let [next, at] = [0, 0];
    await scheduler.run(() => {
      at += bytes.write(texts[next++] as string, at);
      return next >= count;
    });
    return bytes;
  }
}
