/**
 * The whole program in the order in which a record flows: reader, limiter, pool, steps, writer, checkpoint.
 */
import { LowWatermark } from '../checkpoint/low-watermark.ts';
import type { DataServiceClient } from '../client/data-service-client.ts';
import type { Limiter } from '../limiter/limiter.ts';
import type { CallPool } from '../pool/call-pool.ts';
import { notSuchAServiceError } from '../pool/fatal-errors.ts';
import { callsPending, openSteps, type Steps } from '../processor/open-steps.ts';
import { RecordProcessor } from '../processor/process-record.ts';
import type { RecordResult } from '../processor/result.ts';
import { RetryProcessor } from '../processor/retry-record.ts';
import { lookupScopes } from '../processor/scopes.ts';
import { TrustGate } from '../processor/trust-gate.ts';
import { readRecords } from '../reader/read-records.ts';
import type { InputRecord } from '../reader/types.ts';
import type { Mark } from '../writer/mark.ts';
import { idempotencyKey, keySeed } from './idempotency-keys.ts';
import type { JobParts, Known, RunEnd } from './job-parts.ts';
import { openCalls } from './open-calls.ts';
import { sizeOf } from './record-size.ts';
import { StartTimes } from './start-times.ts';
import { TOO_LONG } from '../reader/csv-records.ts';
import { firstRowNotices, type FirstRowNotices } from './first-row-notices.ts';
import { watchRun } from './wait-sources.ts';

/** Records between the low watermark and the reader, and what they and their answers take: bounds memory, and what fills a verify request. */
const WINDOW_RECORDS = 16_384;
const WINDOW_BYTES = 48 * 1024 * 1024;
/** Rows of the output after which a retry sends a verify request, full or not: fewer than the window holds. */
const RETRY_GROUP_ROWS = 8_192;
/** How long a drain waits for what is in flight. */
export const DRAIN_MS = 25_000;

/** A record that is done, waiting for those before it. `size`: what it and its answers take, in bytes. */
interface Ready { readonly record: InputRecord; readonly result: RecordResult; readonly size: number }

interface Keeping {
  /** No more of them; resolves when the last one is written. */
  end(): Promise<void>;
}

/** One execution, from where the checkpoint stands to the end of the input or of its patience. */
export class RunningJob {
  readonly #parts: JobParts;
  readonly #client: DataServiceClient;
  readonly limiter: Limiter;
  readonly pool: CallPool;
  readonly #gate: TrustGate;
  readonly #steps: Steps;
  readonly #processor: Pick<RecordProcessor, 'process'>;
  readonly #watermark = new LowWatermark<Ready>();
  readonly #startTimes = new StartTimes();
  readonly #stopReading = new AbortController();
  readonly #notices: FirstRowNotices;
  #started = 0;
  #windowBytes = 0;
  /** What the reader waits for, when it may not go further. */
  #readerWaits: (() => void) | null = null;
  #readerEnded = false;
  /** What keeps the reader from going on. */
  #readerWaitsFor: 'input' | 'output' | null = null;
  #movingOn = false;
  #distrusts = false;
  #stop: { error: unknown } | null = null;
  #stopped: () => void = () => undefined;
  /** For the progress line: how far the reader is, and the writer. */
  lastStarted: InputRecord['end'] | null = null;
  lastWritten: InputRecord['end'] | null = null;
  /** The last checkpoint that was kept, and when: monotonic milliseconds. */
  lastKept: { readonly mark: Mark; readonly atMs: number } | null = null;

  constructor(parts: JobParts) {
    this.#parts = parts;
    this.#notices = firstRowNotices(parts);
    const { job, ledger, service } = parts;
    const calls = openCalls(parts, (error) => this.#stopFor(error));
    this.#client = calls.client;
    this.limiter = calls.limiter;
    this.pool = calls.pool;
    ledger.listen({ moved: () => this.#moveOn(), failed: (error) => this.#stopFor(error) });
    this.#gate = new TrustGate({ held: parts.checkpoint.held, trusted: parts.checkpoint.trusted || job.limits.trustMisses, onDistrust: (answers, kind) => void this.#distrust(answers, kind) });
    const ownSeed = keySeed(parts.checkpoint);
    const keyOf = (body: string, seed: string | null = null): string => idempotencyKey(seed ?? ownSeed, body);
    const context = { client: this.#client, pool: this.pool, ledger, gate: this.#gate, idempotencyKey: keyOf, onProgress: () => this.#moveOn(), onPending: calls.onPending };
    const scopes = lookupScopes((step, options) => ledger.scope(service.origin, step, options), job.service.domainField);
    this.#steps = openSteps(job, context, scopes, calls.pace);
    this.#processor = parts.retry === null
      ? new RecordProcessor(job, this.#steps, parts.keysOf)
      : new RetryProcessor(new RecordProcessor(job, this.#steps, parts.keysOf, { rows: RETRY_GROUP_ROWS, before: parts.checkpoint.mark.position?.finished?.rows ?? 0 }), job.steps, parts.retry.rowOf);
  }

  /** Whether there is no record left to read. */
  get hasReadAll(): boolean {
    return this.#readerEnded;
  }

  /** Records read and not yet written. */
  get inProgress(): number {
    return this.#started - this.#watermark.watermark;
  }

  /** How long the oldest of them has been so, milliseconds, to within a quarter of a second; 0 when there is none. */
  get oldestMs(): number {
    return this.inProgress === 0 ? 0 : this.#startTimes.ageMs(this.#watermark.watermark, performance.now());
  }

  /** Runs until the input is through, a signal comes or something fails. Never throws; the checkpoint is kept. */
  async run(): Promise<RunEnd> {
    const { drain, abort, job, checkpoint } = this.#parts;
    const stopped = new Promise<void>((resolve) => {
      this.#stopped = resolve;
    });
    const onDrain = (): void => this.#stopFor(drain.reason);
    const onAbort = (): void => {
      this.#stopFor(abort.reason);
      void this.#client.destroy();
    };
    drain.addEventListener('abort', onDrain, { once: true });
    abort.addEventListener('abort', onAbort, { once: true });
    if (drain.aborted) onDrain();
    let keeping: Keeping | null = null;
    const { limiter, pool, steps: { verify } } = { limiter: this.limiter, pool: this.pool, steps: this.#steps };
    const leave = watchRun(this.#parts.waits, { limiter, pool, joining: () => this.#parts.ledger.joining, claimed: () => this.#parts.ledger.waiting, pending: () => verify?.addressesPending ?? null, reader: () => this.#readerWaitsFor, now: () => performance.now() });
    try {
      await this.#keep(checkpoint.mark, 'running', this.#known);
      // Only now: on a slow disk the first of these would meet the checkpoint that is still being written.
      keeping = this.#keepEvery(job.checkpoint.everyMs);
      await Promise.race([this.#readAll(), stopped]);
      await this.#drainPool();
      await keeping.end();
      // What is held back still the ledger knew otherwise, and no later run is to hear of it.
      if (this.#stop === null) return { kind: 'whole', trust: { ...this.#known, held: [] }, spent: this.limiter.spent() };
      await this.#keepNow('stopped');
    } catch (error) {
      this.#stop ??= { error };
      await this.#drainPool();
      await keeping?.end();
      // The failure that stopped the run may be the disk itself; the checkpoint before is then the one that counts.
      await this.#keepNow('stopped').catch(() => undefined);
    } finally {
      leave();
      drain.removeEventListener('abort', onDrain);
      abort.removeEventListener('abort', onAbort);
      await this.#client.close();
      await this.limiter.close();
    }
    return { kind: 'stopped', error: this.#stop?.error };
  }

  /** Reads, starts and writes every record that is left. */
  async #readAll(): Promise<void> {
    const { checkpoint, job, retry } = this.#parts;
    const { mark, manifest } = checkpoint;
    const { signal } = this.#stopReading;
    // A retry reads as many records as there are rows, whatever the limit is now.
    let left = retry !== null || job.limits.limit === null ? Infinity : job.limits.limit - mark.tally.total;
    if (left > 0) {
      this.#readerWaitsFor = 'input';
      reading: for await (const batch of retry?.records(mark.position, signal) ?? readRecords(manifest, mark.position, signal)) {
        this.#readerWaitsFor = null;
        for (const record of batch) {
          for (let wait = this.#room(); wait !== null && this.#stop === null; wait = this.#room()) await wait;
          if (this.#stop !== null) return;
          this.#start(record);
          if (--left <= 0) break reading;
        }
        this.#readerWaitsFor = 'input';
      }
    }
    this.#readerEnded = true;
    this.#readerWaitsFor = null;
    while (this.#stop === null && this.#watermark.watermark < this.#started) {
      await new Promise<void>((resolve) => {
        this.#readerWaits = resolve;
        this.#moveOn();
      });
    }
  }

  #start(record: InputRecord): void {
    const number = this.#started++;
    this.lastStarted = record.end;
    if (record.surplus) this.#notices.surplus(record);
    if (record.bad === TOO_LONG) this.#notices.tooLong(record);
    this.#startTimes.started(number, this.#watermark.watermark, performance.now());
    let size = 0;
    const hold = (bytes: number): void => {
      size += bytes;
      this.#windowBytes += bytes;
    };
    hold(sizeOf(record));
    this.#processor.process(record, number, (result) => this.#watermark.put(number, { record, result, size }, this.#write), hold);
  }

  readonly #write = ({ record, result, size }: Ready): void => {
    this.#parts.sink.write(record, result);
    if ((result.didYouMean ?? null) !== null) this.#notices.cleaned(record);
    this.#parts.counters.written(result.outcome);
    this.lastWritten = record.end;
    this.#windowBytes -= size;
    if (this.#readerWaits !== null && (this.#readerEnded ? this.#watermark.watermark === this.#started : this.#windowOpen())) this.#wakeReader();
  };

  #wakeReader(): void {
    const wake = this.#readerWaits;
    this.#readerWaits = null;
    wake?.();
  }

  #windowOpen(): boolean {
    return this.#started - this.#watermark.watermark < WINDOW_RECORDS && this.#windowBytes < WINDOW_BYTES;
  }

  /** Back-pressure: null when the next record may start. */
  #room(): Promise<void> | null {
    if (!this.#windowOpen()) {
      return new Promise((resolve) => {
        this.#readerWaits = resolve;
        this.#moveOn();
      });
    }
    const room = this.pool.room() ?? this.#parts.ledger.room();
    if (room !== null) return room;
    const output = this.#parts.sink.room();
    this.#readerWaitsFor = output === null ? null : 'output';
    return output;
  }

  /** What other runs are asking for does not count: they may wait for what is not full here. */
  get #inFlight(): number {
    return callsPending(this.#steps) - this.#parts.ledger.waiting;
  }

  /**
   * When the reader may not go further and nothing is in flight, what waits for company must go alone: first a verify
   * request that is not full, then answers held back until the service is trusted.
   */
  #moveOn(): void {
    if (this.#movingOn) return;
    this.#movingOn = true;
    const { verify } = this.#steps;
    // Letting go of held answers may give verify something to ask, and so on: until something is in flight again.
    while (this.#readerWaits !== null && this.#stop === null && !this.#distrusts && this.#inFlight === 0) {
      if ((verify?.addressesWaiting ?? 0) > 0) verify?.flush();
      else if (this.#gate.holding > 0) this.#gate.releaseHeld();
      else if ((verify?.groupsIncomplete ?? 0) > 0) verify?.giveUpOnMissing();
      else break;
    }
    this.#movingOn = false;
  }

  /** Of several processes of one job each sees a part of the answers only. */
  async #distrust(answers: number, kind: string): Promise<void> {
    const { vouched } = this.#parts;
    // A run that is being stopped leaves it to the next one.
    if (this.#distrusts || this.#stop !== null) return;
    this.#distrusts = true;
    try {
      if (vouched !== undefined && (await vouched())) {
        this.#distrusts = false;
        this.#gate.vouch();
        this.#moveOn();
      } else {
        this.#gate.disbelieve();
        this.#stopFor(notSuchAServiceError(answers, kind));
      }
    } catch (error) {
      this.#stopFor(error);
    }
  }

  #stopFor(error: unknown): void {
    if (this.#stop !== null) return;
    this.#stop = { error };
    this.#stopReading.abort();
    this.#wakeReader();
    this.#stopped();
  }

  /** Sends nothing more and waits for what was sent; what takes too long is cancelled. */
  async #drainPool(): Promise<void> {
    this.#steps.verify?.stop();
    const timer = setTimeout(() => void this.#client.destroy(), DRAIN_MS);
    await this.pool.drain();
    clearTimeout(timer);
  }

  get #known(): Known {
    // Whoever is not believed has answered nothing: the address may still be corrected.
    return { ...this.#gate.trust, answered: this.pool.hasAnswered && !this.#gate.distrusted };
  }

  async #keepNow(state: 'running' | 'stopped'): Promise<void> {
    const { ledger, sink } = this.#parts;
    // All begin now: what the rows' mark counts on is in the ledger, and durable there before the checkpoint says so. What is let go of meanwhile is not.
    const known = this.#known;
    const [mark] = await Promise.all([sink.sync(), ledger.keep()]);
    await this.#keep(mark, state, known);
    await sink.settled(mark);
  }

  async #keep(mark: Mark, state: 'running' | 'stopped', known: Known): Promise<void> {
    await this.#parts.keep(mark, state, known, this.limiter.spent());
    this.lastKept = { mark, atMs: performance.now() };
  }

  /** A checkpoint every so often, one at a time. A failure stops the run. */
  #keepEvery(everyMs: number): Keeping {
    let keeping: Promise<void> | null = null;
    const timer = setInterval(() => {
      keeping ??= this.#keepNow('running')
        .catch((error: unknown) => this.#stopFor(error))
        .finally(() => {
          keeping = null;
        });
    }, everyMs);
    return {
      end: async () => {
        clearInterval(timer);
        await keeping;
      },
    };
  }
}
