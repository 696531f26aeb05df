import type { LedgerOptions } from '../options.ts';
import { FileLedger } from '../run-ledger.ts';
import { WorkingFile, type SharedTotals } from '../working-file.ts';
import type { S3LedgerOptions } from './s3-ledger-options.ts';
import type { Segments } from './segments.ts';
import { SegmentSeries } from './series.ts';
import { takeOver } from './take-over.ts';

/**
 * A ledger in S3: the run works in a local file, and uploads its answers as segments before each checkpoint. At the start it copies what
 * other executions have written.
 */
export class S3Ledger extends FileLedger {
  readonly #options: LedgerOptions;
  readonly #working: WorkingFile;
  readonly #segments: Segments;
  readonly #series: SegmentSeries;
  #written = new Map<string, number>();
  #keeping: Promise<void> = Promise.resolve();
  /** The run ends with this error, and must not wait for the same again. */
  #failure: { readonly error: unknown } | null = null;
  /** The run's spending up to now; empty where it is unknown. At first that of the answers that a killed run could not upload. */
  #spentNow = (): string => this.file.spent;

  private constructor(working: WorkingFile, segments: Segments, options: LedgerOptions) {
    super(working.ledger);
    this.#options = options;
    this.#working = working;
    this.#segments = segments;
    this.#series = new SegmentSeries({ write: (name, bytes) => this.#write(name, bytes) }, options.run, options.now());
  }

  /**
   * Opens the ledger and updates the file first: memory does not grow with the ledger. @throws StorageError, ConfigError, or MillraceError
   * 77 without credentials
   */
  static async open(options: S3LedgerOptions, segments: Segments): Promise<S3Ledger> {
    const { mark, segments: listed } = await segments.list();
    const working = WorkingFile.open(options, { mark, segments: new Map(listed.map(({ name, bytes }) => [name, bytes])) });
    try {
      const ledger = new S3Ledger(working, segments, options);
      // Answers that a killed run could not upload go first, before similar ones are copied.
      await ledger.keep();
      await takeOver(working, segments, listed, options);
      working.published(working.ledger.lastAnswer(), new Map());
      return ledger;
    } catch (error) {
      working.ledger.close();
      throw error;
    }
  }

  override async keep(): Promise<void> {
    this.file.flush();
    const upTo = this.file.lastAnswer();
    const totals = this.#working.totals();
    const spent = this.#spentNow();
    const kept = this.#keeping.then(() => this.#publish(upTo, totals, spent));
    this.#keeping = kept.catch(() => undefined);
    await kept;
  }

  /** Numbers differ from file to file, times do not. */
  override lastAnswer(): number {
    return this.#working.totals().lastAt;
  }

  /** Another machine that goes on with the run has no file of it. */
  override get spent(): readonly string[] {
    return [...super.spent, ...this.#working.sharedSpent()];
  }

  override storeSpent(now: () => string): void {
    super.storeSpent(now);
    this.#spentNow = now;
  }

  override async close(): Promise<void> {
    await this.#keeping;
    await super.close();
  }

  async #publish(upTo: number, { lookups, reused }: SharedTotals, spent: string): Promise<void> {
    if (this.#failure !== null) throw this.#failure.error;
    try {
      for (const { answers } of this.#working.unpublished(upTo)) {
        const lastAt = answers.reduce((latest, { at }) => Math.max(latest, at), 0);
        this.#working.raise({ lookups: 0, reused: 0, lastAt });
        const { job, run } = this.#options;
        await this.#series.add({ job, run, totals: { lookups, reused, lastAt }, ...(spent === '' ? {} : { spent }), answers });
      }
      await this.#series.write();
      if (this.#written.size > 0) this.#working.published(upTo, this.#written);
      this.#written = new Map();
    } catch (error) {
      this.#failure ??= { error };
      throw error;
    }
  }

  async #write(name: string, bytes: Buffer): Promise<void> {
    await this.#segments.write(name, bytes);
    this.#written.set(name, bytes.length);
  }
}
