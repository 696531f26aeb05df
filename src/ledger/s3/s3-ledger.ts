import type { LedgerOptions, Teller } from '../options.ts';
import { FileLedger } from '../run-ledger.ts';
import { WorkingFile, type SharedTotals } from '../working-file.ts';
import type { Segments } from './segments.ts';
import { Series } from './series.ts';
import { takeOver } from './take-over.ts';

export interface S3LedgerOptions extends LedgerOptions {
  readonly tell: Teller;
  /** Aborted when the run is to end soon. */
  readonly drain: AbortSignal | undefined;
}

/**
 * A ledger in S3: the run works in a file, and what it is told goes up as segments before each checkpoint. What other
 * executions have written is taken over when it is opened.
 */
export class S3Ledger extends FileLedger {
  readonly #options: LedgerOptions;
  readonly #working: WorkingFile;
  readonly #segments: Segments;
  readonly #series: Series;
  #written = new Map<string, number>();
  #keeping: Promise<void> = Promise.resolve();
  /** The run ends with it, and is not to wait for the same again. */
  #failure: { readonly error: unknown } | null = null;

  private constructor(working: WorkingFile, segments: Segments, options: LedgerOptions) {
    super(working.ledger);
    this.#options = options;
    this.#working = working;
    this.#segments = segments;
    this.#series = new Series({ write: (name, bytes) => this.#write(name, bytes) }, options.run, options.now());
  }

  /**
   * Brings the file up to date first: memory does not grow with the ledger. @throws StorageError, ConfigError, or 77
   * without credentials
   */
  static async open(options: S3LedgerOptions, segments: Segments): Promise<S3Ledger> {
    const { mark, segments: listed } = await segments.list();
    const working = WorkingFile.open(options, { mark, segments: new Map(listed.map(({ name, bytes }) => [name, bytes])) });
    try {
      const ledger = new S3Ledger(working, segments, options);
      // What a run before was told and did not live to send: sent before anything is taken over that looks like it.
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
    const kept = this.#keeping.then(() => this.#publish(upTo, totals));
    this.#keeping = kept.catch(() => undefined);
    await kept;
  }

  /** Numbers differ from file to file, times do not. */
  override lastAnswer(): number {
    return this.#working.totals().lastAt;
  }

  override async close(): Promise<void> {
    await this.#keeping;
    await super.close();
  }

  async #publish(upTo: number, { lookups, reused }: SharedTotals): Promise<void> {
    if (this.#failure !== null) throw this.#failure.error;
    try {
      for (const { answers } of this.#working.unpublished(upTo)) {
        const lastAt = answers.reduce((latest, { at }) => Math.max(latest, at), 0);
        this.#working.raise({ lookups: 0, reused: 0, lastAt });
        const { job, run } = this.#options;
        await this.#series.add({ job, run, totals: { lookups, reused, lastAt }, answers });
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
