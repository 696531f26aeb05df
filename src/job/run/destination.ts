/** Where a run leaves what it makes: a job's own files, or standard output. Types only. */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { InputRecord } from '../../formats/input-record.ts';
import type { RunLedgerOptions } from '../../ledger/open-run-ledger.ts';
import type { RunLedger } from '../../ledger/run-ledger.ts';
import type { RecordResult } from '../../processor/result.ts';
import type { FinishedRows } from '../../writer/output-writer.ts';
import type { ResumePoint } from '../../writer/resume-point.ts';
import type { Tally } from '../../writer/tally.ts';

/** Takes rows in input order. */
export interface RowWriter {
  readonly tally: Tally;
  write(record: InputRecord, result: RecordResult): void;
  /** Back-pressure: null when more may be written, else a promise of that. */
  room(): Promise<void> | null;
  /** Makes the rows written so far durable, and says where a resume would go on. */
  sync(): Promise<ResumePoint>;
  /** The checkpoint with this mark is durable. */
  settled(mark: ResumePoint): Promise<void>;
  /** No more rows come: all are durable when this resolves. */
  finish(): Promise<FinishedRows>;
  /** Gives the finished rows their name. */
  commit(): Promise<void>;
  close(): Promise<void>;
}

export interface RunDestination {
  openLedger(options: RunLedgerOptions): Promise<RunLedger>;
  openWriter(): Promise<RowWriter>;
  /**
   * Makes a checkpoint durable; null when no checkpoint is kept, so the run cannot be resumed.
   * @throws StorageError, or 75 when the job was lost
   */
  readonly saveCheckpoint: ((checkpoint: Checkpoint) => Promise<void>) | null;
  /** Ends the rows. @throws InputError 65 when the input changed while it was read */
  finish(writer: RowWriter): Promise<FinishedRows>;
  /** Puts the result in place, and reports it. @param checkpoint says `finishing`, and is durable where checkpoints are kept */
  commit(checkpoint: Checkpoint, writer: RowWriter): Promise<void>;
  /** Reports how far a run came that stopped early. Never throws. */
  reportStop(checkpoint: Checkpoint): Promise<void>;
}
