import { TOO_LONG, UNCLOSED } from '../../formats/csv/csv-records.ts';
import type { InputRecord } from '../../formats/input-record.ts';
import type { RunLedger } from '../../ledger/run-ledger.ts';
import type { CallPool } from '../../pool/call-pool.ts';
import type { MissQuarantine } from '../../lookup/miss-quarantine.ts';
import { callsPending, flushSteps, giveUpOnMissing, groupsIncomplete, type Steps } from '../../processor/open-steps.ts';
import type { RecordProcessor } from '../../processor/process-record.ts';
import type { RecordResult } from '../../processor/result.ts';
import { ReorderBuffer } from '../../util/reorder-buffer.ts';
import type { FirstRowNotices } from '../progress/first-row-notices.ts';
import type { Counters } from './counters.ts';
import type { RowWriter } from './destination.ts';
import { RecordsOnTheWay, type RecordOnTheWay } from './on-the-way.ts';
import type { RunState } from './run-state.ts';
import { StartTimes } from './start-times.ts';

/** The window: records that are read but not yet written. It bounds memory, and the addresses that a verify request can collect. */
const WINDOW_RECORDS = 16_384;
const WINDOW_BYTES = 48 * 1024 * 1024;
/** About the memory of a record's lookups in flight: it counts where the window is bounded by bytes alone. */
const LOOKUP_BYTES = 1_024;

/** A record with its result, waiting for the records before it. `bytes`: memory of the record and its answers. */
interface FinishedRecord {
  readonly record: InputRecord;
  readonly result: RecordResult;
  readonly bytes: number;
  readonly onTheWay: RecordOnTheWay;
}

interface LoopDependencies {
  readonly state: RunState;
  /** The input in batches, from where the run begins. */
  readonly records: AsyncIterable<readonly InputRecord[]>;
  /** Maximum number of records to read. */
  readonly limit: number;
  readonly processor: Pick<RecordProcessor, 'process'>;
  readonly steps: Steps;
  /** Providers answer later, so that many records wait: the window is bounded by bytes alone. */
  readonly hasLateAnswers: boolean;
  readonly ledger: Pick<RunLedger, 'room' | 'waiting'>;
  readonly pool: Pick<CallPool, 'room'>;
  readonly quarantine: Pick<MissQuarantine, 'size' | 'release' | 'askAgainNow'>;
  /** True while it is undecided whether the service can be trusted. No answer leaves the quarantine meanwhile. */
  readonly isServiceInDoubt: () => boolean;
  readonly writer: Pick<RowWriter, 'write' | 'room'>;
  readonly counters: Pick<Counters, 'written'>;
  readonly notices: FirstRowNotices;
}

/**
 * The loop of a run: it reads a record, starts its steps, and writes finished rows in input order. It reads on only while the window
 * between reader and writer, the pool, the ledger and the writer have room.
 */
export class RecordLoop {
  readonly #parts: LoopDependencies;
  readonly #results = new ReorderBuffer<FinishedRecord>();
  readonly #startTimes = new StartTimes();
  /** Records that are read and not yet written. */
  readonly onTheWay = new RecordsOnTheWay();
  #started = 0;
  #windowBytes = 0;
  /** Wakes the reader; null while the reader does not wait for the window. */
  #wake: (() => void) | null = null;
  #hasReadAll = false;
  #waitsFor: 'input' | 'output' | null = null;
  #isFlushing = false;
  /** The ends of the records that were started last, and written last. */
  lastStarted: InputRecord['end'] | null = null;
  lastWritten: InputRecord['end'] | null = null;

  constructor(parts: LoopDependencies) {
    this.#parts = parts;
  }

  /** Whether there is no record left to read. */
  get hasReadAll(): boolean {
    return this.#hasReadAll;
  }

  /** Records that are read but not yet written. */
  get inProgress(): number {
    return this.#started - this.#results.released;
  }

  /** Age of the oldest of them, milliseconds, to within a quarter of a second; 0 when there is none. */
  get oldestMs(): number {
    return this.inProgress === 0 ? 0 : this.#startTimes.ageMs(this.#results.released, performance.now());
  }

  /** `input`: the loop waits for the next records. `output`: it waits for the writer. Null when it waits for neither. */
  get waitsFor(): 'input' | 'output' | null {
    return this.#waitsFor;
  }

  /** Resolves when every record is written, or when the run is to stop. @throws what reading or writing throws */
  async run(): Promise<void> {
    const { state } = this.#parts;
    if (state.isStopping) return;
    state.stopping.addEventListener('abort', () => this.#wakeReader(), { once: true });
    await Promise.race([this.#readAndWriteAll(), state.whenStopping]);
  }

  /**
   * Prevents a deadlock: while the reader waits, nothing else may complete a partial request. Sends such requests, else releases the
   * quarantine, else gives up waiting for the missing records of a retry. Called when a lookup is settled.
   */
  flushIfIdle(): void {
    if (this.#isFlushing || this.#wake === null) return;
    this.#isFlushing = true;
    const { state, steps, quarantine, isServiceInDoubt } = this.#parts;
    // A full window does not wait for the time at which a 404 is asked about once more.
    if (!this.#hasReadAll && !state.isStopping) quarantine.askAgainNow();
    // Answers that leave the quarantine may give verify something to ask, and so on, until a call is in flight again.
    while (this.#wake !== null && !state.isStopping && !isServiceInDoubt()) {
      if (this.#flush()) continue;
      if (this.#callsInFlight > 0) break;
      if (quarantine.size > 0) quarantine.release();
      else if (groupsIncomplete(steps) > 0) giveUpOnMissing(steps);
      else break;
    }
    this.#isFlushing = false;
  }

  /**
   * Sends partial requests. A full window waits for nothing but the step's own calls. After the last record other calls may still fill the
   * request, also promised ones: their time must not decide which lookups go together. Returns whether any request was sent.
   */
  #flush(): boolean {
    const { steps } = this.#parts;
    const isQuiet = this.#callsInFlight === 0;
    return flushSteps(steps, ({ callsInFlight }) => isQuiet || (!this.#hasReadAll && callsInFlight === 0));
  }

  /** Own calls in flight. Lookups of other runs do not count: those runs may wait for a partial request of this one. */
  get #callsInFlight(): number {
    return callsPending(this.#parts.steps) - this.#parts.ledger.waiting;
  }

  async #readAndWriteAll(): Promise<void> {
    const { state, records, limit } = this.#parts;
    if (limit > 0) {
      this.#waitsFor = 'input';
      reading: for await (const batch of records) {
        this.#waitsFor = null;
        for (const record of batch) {
          for (let wait = this.#room(); wait !== null && !state.isStopping; wait = this.#room()) await wait;
          if (state.isStopping) return;
          this.#start(record);
          if (this.#started >= limit) break reading;
        }
        this.#waitsFor = 'input';
      }
    }
    this.#hasReadAll = true;
    this.#waitsFor = null;
    while (!state.isStopping && this.inProgress > 0) await this.#windowMoves();
  }

  #start(record: InputRecord): void {
    const { processor, notices } = this.#parts;
    const number = this.#started++;
    this.lastStarted = record.end;
    if (record.surplus) notices.surplus(record);
    if (record.bad === TOO_LONG) notices.tooLong(record);
    if (record.bad === UNCLOSED) notices.unclosed(record);
    this.#startTimes.started(number, this.#results.released, performance.now());
    let bytes = recordBytes(record) + (this.#parts.hasLateAnswers ? LOOKUP_BYTES : 0);
    this.#windowBytes += bytes;
    const onTheWay = this.onTheWay.begin();
    // A row of a retry is counted by its former outcome.
    const isRetried = record.finished !== undefined;
    processor.process(record, number, {
      settled: (share, outcome) => onTheWay.is(share, isRetried ? null : outcome),
      retained: (more) => {
        bytes += more;
        this.#windowBytes += more;
      },
      done: (result) => {
        onTheWay.is(1, isRetried ? null : result.outcome);
        this.#results.put(number, { record, result, bytes, onTheWay }, this.#write);
      },
    });
  }

  readonly #write = ({ record, result, bytes, onTheWay }: FinishedRecord): void => {
    const { writer, notices, counters } = this.#parts;
    writer.write(record, result);
    onTheWay.written();
    if ((result.didYouMean ?? null) !== null) notices.cleaned(record);
    counters.written(result.outcome);
    this.lastWritten = record.end;
    this.#windowBytes -= bytes;
    if (this.#wake !== null && (this.#hasReadAll ? this.inProgress === 0 : this.#isWindowOpen())) this.#wakeReader();
  };

  #isWindowOpen(): boolean {
    const isFew = this.#parts.hasLateAnswers || this.inProgress < WINDOW_RECORDS;
    return isFew && this.#windowBytes < WINDOW_BYTES;
  }

  /** Back-pressure: null when the next record may start. */
  #room(): Promise<void> | null {
    if (!this.#isWindowOpen()) return this.#windowMoves();
    const room = this.#parts.pool.room() ?? this.#parts.ledger.room();
    if (room !== null) return room;
    const output = this.#parts.writer.room();
    this.#waitsFor = output === null ? null : 'output';
    return output;
  }

  /** Resolves when the window has room again, or is empty after the last record. */
  #windowMoves(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.flushIfIdle();
    });
  }

  #wakeReader(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}

/** About how much memory a record takes, in bytes: its text, and a little for each of its parts. */
export function recordBytes(record: InputRecord): number {
  let size = 256 + (record.json?.length ?? 0);
  if (record.values !== null) for (const value of record.values) size += value.length + 24;
  return size;
}
