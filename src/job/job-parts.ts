/** What a running job is made of. Types only. */
import type { RotatingKey } from '../client/rotating-key.ts';
import type { Checkpoint } from '../checkpoint/checkpoint-file.ts';
import type { RunLedger } from '../ledger/run-ledger.ts';
import type { Spent } from '../limiter/quota-model.ts';
import type { SharedQuota } from '../limiter/shared/shared-quota.ts';
import type { KeysOf } from '../processor/keys.ts';
import type { RecordResult } from '../processor/result.ts';
import type { Trust } from '../processor/trust-gate.ts';
import type { InputRecord, Position } from '../reader/types.ts';
import type { Mark } from '../writer/mark.ts';
import type { FinishedRows } from '../writer/output-writer.ts';
import type { Tally } from '../writer/tally.ts';
import type { Waits } from '../waits.ts';
import type { CallBudget } from './call-budget.ts';
import type { Counters } from './counters.ts';
import type { Reporter } from './reporter.ts';
import type { CompiledJob } from './types.ts';

/** What the next run is to know of the service. `answered`: it has answered a lookup of this job. */
export type Known = Trust & Pick<Checkpoint, 'answered'>;

/** Where rows go: the partial file, or standard output. */
export interface RowSink {
  readonly tally: Tally;
  write(record: InputRecord, result: RecordResult): void;
  room(): Promise<void> | null;
  sync(): Promise<Mark>;
  settled(mark: Mark): Promise<void>;
  finish(): Promise<FinishedRows>;
  commit(): Promise<void>;
  close(): Promise<void>;
}

/** What a retry does otherwise than a run. */
export interface RetryParts {
  /** The records that have a row, with that row, from a position on. */
  readonly records: (from: Position | null, signal: AbortSignal) => AsyncGenerator<InputRecord[], void, void>;
  readonly rowOf: (record: InputRecord, result: RecordResult) => Buffer;
}

export interface JobParts {
  readonly job: CompiledJob;
  readonly checkpoint: Checkpoint;
  /** The run before did not live to say how it ended. */
  readonly wasKilled: boolean;
  readonly ledger: RunLedger;
  readonly sink: RowSink;
  readonly counters: Counters;
  readonly budget: CallBudget;
  /** Null: a run. */
  readonly retry: RetryParts | null;
  /** What the steps ask for a record. */
  readonly keysOf: KeysOf;
  /** One quota for several pods; null: this run alone has it, or `share` of it. */
  readonly quota: SharedQuota | null;
  /** The part of the plan that is this run's; default: all. */
  readonly share?: number;
  /** Who is told when the service holds the run up. */
  readonly reporter: Pick<Reporter, 'detail' | 'info' | 'warn'>;
  /** Where the job says what it waits for. */
  readonly waits: Waits;
  /** Whether another process of the same job knows the service to be one; left out: there is none. */
  readonly vouched?: (() => Promise<boolean>) | undefined;
  readonly service: { readonly baseUrl: string; readonly origin: string; readonly apiKey: RotatingKey };
  /** Writes a checkpoint; called every `everyMs` and when the run stops. */
  readonly keep: (mark: Mark, state: 'running' | 'stopped', trust: Known, spent: Spent) => Promise<void>;
  /** Writes the checkpoint before once more, with the totals of now; left out: there is none. @throws StorageError, or 75 when the job was lost */
  readonly keepTotals?: () => Promise<void>;
  /** Their reasons are what the run ends with. */
  readonly drain: AbortSignal;
  readonly abort: AbortSignal;
}

/** Why a run ended. */
export type RunEnd = { readonly kind: 'whole'; readonly trust: Known; readonly spent: Spent } | { readonly kind: 'stopped'; readonly error: unknown };
