import type { Checkpoint, ExpectedRecords } from '../../checkpoint/checkpoint-file.ts';
import type { RunTotals } from '../../checkpoint/run-totals.ts';
import type { RunLedger } from '../../ledger/run-ledger.ts';
import type { SavedQuota } from '../../limiter/saved-quota.ts';
import type { QuarantineState } from '../../lookup/miss-quarantine.ts';
import { beginRun, endRun, NO_RUNS, type LoggedRun, type RunLog } from '../../checkpoint/run-log.ts';
import { MillraceError } from '../../util/errors.ts';
import { packageVersion } from '../../util/package-version.ts';
import type { FinishedRows } from '../../writer/output-writer.ts';
import type { ResumePoint } from '../../writer/resume-point.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { finishingCheckpoint } from '../lifecycle/commit.ts';
import { firstMark } from '../lifecycle/retry-start.ts';
import { shardName } from '../shards/shard-job.ts';
import type { CallBudget } from './call-budget.ts';
import type { RunDestination, RowWriter } from './destination.ts';
import type { ProviderCheckpoints } from './run-providers.ts';

/** Knowledge of the service for the next run. `answered`: it has answered a lookup of this job. */
type KnownService = QuarantineState & Pick<Checkpoint, 'answered'>;

interface RunCheckpointsOptions {
  readonly job: CompiledJob;
  /** The checkpoint that the run begins with. */
  readonly first: Checkpoint;
  /** The command line, without secrets. */
  readonly command: string;
  readonly save: RunDestination['saveCheckpoint'];
  readonly writer: Pick<RowWriter, 'sync' | 'settled'>;
  readonly ledger: Pick<RunLedger, 'keep'>;
  readonly budget: Pick<CallBudget, 'claim' | 'claimedUpTo' | 'sent' | 'spent'>;
  /** Null for a job with one service. */
  readonly providers: ProviderCheckpoints | null;
  readonly service: () => KnownService;
  /** Calls that count against the quota of the next run. */
  readonly spent: () => SavedQuota;
  readonly totals: () => RunTotals;
  readonly expected: () => ExpectedRecords | null;
  /** See `RecordsOnTheWay`. */
  readonly settled: () => number;
  /** A periodic checkpoint could not be written. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * The checkpoints of a run: the first, one every `checkpoint.everyMs`, and the last. Each has the low watermark, up to which all rows are
 * durable, and the totals of its moment. They are written one at a time, because claims of the call budget come at any time.
 */
export class RunCheckpoints {
  readonly #options: RunCheckpointsOptions;
  #latest: Checkpoint;
  #runs: RunLog;
  #writing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | null = null;
  #periodic: Promise<void> | null = null;
  /** The last low watermark that was saved, and when: monotonic milliseconds. */
  lastSaved: { readonly mark: ResumePoint; readonly atMs: number } | null = null;

  constructor(options: RunCheckpointsOptions) {
    this.#options = options;
    this.#latest = options.first;
    const { command, first } = options;
    const { shard, totals, updatedAt } = first;
    const run = { startedAt: new Date().toISOString(), command, version: packageVersion() };
    this.#runs = beginRun(totals.runs ?? NO_RUNS, shard === null ? run : { ...run, shard: shardName(shard) }, updatedAt);
  }

  get latest(): Checkpoint {
    return this.#latest;
  }

  /** Writes the first checkpoint, and from then on one every `checkpoint.everyMs`. @throws StorageError, or 75 when the job was lost */
  async start(): Promise<void> {
    const { job, first, onFailure } = this.#options;
    await this.#saveMark(first.mark, 'running', this.#options.service());
    // Only now: on a slow disk the first periodic checkpoint would meet this one, which is still being written.
    this.#timer = setInterval(() => {
      this.#periodic ??= this.saveRows('running')
        .catch(onFailure)
        .finally(() => {
          this.#periodic = null;
        });
    }, job.checkpoint.everyMs);
  }

  /** Ends the periodic checkpoints; resolves when the last of them is written. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#periodic;
  }

  /**
   * Makes rows and answers durable, then the checkpoint that counts on them. @param reason why the run stops
   * @throws StorageError, or 75 when the job was lost
   */
  async saveRows(state: 'running' | 'stopped', reason?: unknown): Promise<void> {
    const { writer, ledger, service } = this.#options;
    if (state === 'stopped') this.#end('stopped', reason);
    // Taken first: an answer that leaves the quarantine meanwhile may miss this ledger sync, and must still be in this checkpoint.
    const known = service();
    const [mark] = await Promise.all([writer.sync(), ledger.keep()]);
    await this.#saveMark(mark, state, known);
    await writer.settled(mark);
  }

  /** Writes the latest checkpoint again, with the totals of now. @throws StorageError, or 75 when the job was lost */
  saveTotals(): Promise<void> {
    return this.#save({});
  }

  /** All rows and answers are durable: writes the checkpoint that says `finishing`. @throws StorageError, or 75 when the job was lost */
  async saveFinishing(rows: FinishedRows): Promise<Checkpoint> {
    const { job, budget, service, spent, totals, save } = this.#options;
    // Calls may just have been claimed, which writes a checkpoint too.
    await this.#writing;
    this.#end('finished');
    const finishing = finishingCheckpoint(
      job,
      // Answers in quarantine at the end of the input stand: the ledger has them.
      {
        ...withoutSettled(this.#latest),
        ...service(),
        held: [],
        spent: spent(),
        totals: { ...totals(), runs: this.#runs },
        ...budget.spent,
        ...this.#providers(false),
      },
      rows,
    );
    await save?.(finishing);
    this.#latest = finishing;
    return finishing;
  }

  /**
   * After a failure the job is stopped where its last checkpoint has it. Rows of a changed input, or in a damaged file, do not count:
   * they are written again from the ledger. Never throws: where this cannot be written, the checkpoint before stands.
   */
  async saveFailure(reason: unknown): Promise<void> {
    const isMixed = reason instanceof MillraceError && ['input_changed', 'partial_damaged'].includes(reason.code);
    if (!isMixed && this.#latest.state !== 'running') return;
    this.#end('stopped', reason);
    await this.#save({ state: 'stopped', ...(isMixed ? { mark: firstMark(this.#latest) } : {}) }).catch(() => undefined);
  }

  #providers(isRunning: boolean): Pick<Checkpoint, 'providers'> {
    const { providers } = this.#options;
    return providers === null ? {} : { providers: providers.states(isRunning) };
  }

  #end(end: LoggedRun['end'], reason?: unknown): void {
    const code = reason instanceof MillraceError ? reason.code : null;
    this.#runs = endRun(this.#runs, { endedAt: new Date().toISOString(), end, code });
  }

  async #saveMark(mark: ResumePoint, state: 'running' | 'stopped', known: KnownService): Promise<void> {
    await this.#save({ mark, state, ...known, spent: { ...this.#options.spent(), sent: this.#options.budget.sent } });
    this.lastSaved = { mark, atMs: performance.now() };
  }

  #save(change: Partial<Checkpoint>): Promise<void> {
    const saved = this.#writing.then(async () => {
      const { budget, expected, settled, totals, save } = this.#options;
      const { state = this.#latest.state } = change;
      this.#latest = {
        ...withoutSettled(this.#latest),
        ...change,
        ...(settled() === 0 ? {} : { settled: settled() }),
        expected: expected() ?? this.#latest.expected ?? null,
        updatedAt: new Date().toISOString(),
        totals: { ...totals(), runs: this.#runs },
        ...(state === 'running' ? budget.claim() : budget.spent),
        ...this.#providers(state === 'running'),
      };
      const { callsAtMost, creditsAtMost, providers = {} } = this.#latest;
      await save?.(this.#latest);
      budget.claimedUpTo({ callsAtMost, creditsAtMost });
      this.#options.providers?.claimed(providers);
    });
    this.#writing = saved.catch(() => undefined);
    return saved;
  }
}

/** It is of the moment of each checkpoint. */
function withoutSettled({ settled: _settled, ...checkpoint }: Checkpoint): Checkpoint {
  return checkpoint;
}
