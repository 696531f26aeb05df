import type { Fence } from '../checkpoint/fence.ts';
import type { OutputCompression } from '../job/types.ts';
import { KEPT, type RecordResult } from '../processor/result.ts';
import type { InputRecord } from '../reader/types.ts';
import type { GrowingFile, Here } from '../storage/storage.ts';
import { storageOf } from '../storage/storages.ts';
import { compressMember, MEMBER, type MemberSize } from './compressor.ts';
import { keptFiles, type KeptFiles, type Mark } from './mark.ts';
import type { RowFormat } from './row-format.ts';
import { Tallying, type Tally } from './tally.ts';

export interface OutputWriterOptions {
  readonly path: string;
  readonly errorsPath: string;
  /** That both are still this run's. */
  readonly fence: Fence;
  readonly compression: OutputCompression;
  readonly format: RowFormat;
  /** Where to go on. */
  readonly mark: Mark;
  /** The job has never run before: none of its files may be there. */
  readonly isFirst?: boolean;
  /** A line of the errors file for a `failed` or `invalid` record; null for all others. */
  readonly errorLine: (record: InputRecord, result: RecordResult) => string | null;
  /** When a member of a compressed output ends. A job must not change it on its way. */
  readonly member?: MemberSize;
}

/** A mark, of which what must be kept is only known once it is durable. */
interface Place {
  readonly position: Mark['position'];
  readonly rows: Here;
  readonly errors: Here;
  readonly tally: Tally;
}

/** A whole output and its errors file. Digests in hex. */
export interface FinishedRows {
  /** One that a longer run could go on from. */
  readonly mark: Mark;
  readonly bytes: number;
  readonly errorBytes: number;
  readonly sha256: string;
  readonly errorsSha256: string;
  readonly tally: Tally;
  readonly kept?: KeptFiles;
}

/**
 * Rows out, in input order, into an unfinished file. It knows at all times the latest mark from which a resume can go on:
 * the last row, or for a compressed output the end of the last member.
 */
export class OutputWriter {
  readonly #options: OutputWriterOptions;
  readonly #rows: GrowingFile;
  readonly #errors: GrowingFile;
  readonly #tallying: Tallying;
  readonly #memberSize: MemberSize;
  #mark: Place;
  #last: Mark['position'];
  #member: Buffer[] = [];
  #memberBytes = 0;
  #memberRows = 0;
  #compressing: Promise<void> = Promise.resolve();
  #compressingBytes = 0;
  #failure: { error: unknown } | null = null;

  private constructor(options: OutputWriterOptions, rows: GrowingFile, errors: GrowingFile) {
    this.#options = options;
    this.#rows = rows;
    this.#errors = errors;
    this.#memberSize = options.member ?? MEMBER;
    this.#last = options.mark.position;
    this.#tallying = new Tallying(options.mark.tally);
    this.#mark = this.#placeHere();
    // Before the first mark nothing is kept, so the header is written again by whoever starts from the beginning.
    if (options.mark.bytes === 0 && options.format.header !== null) this.#push(options.format.header);
  }

  /** @throws StorageError */
  static async open(options: OutputWriterOptions): Promise<OutputWriter> {
    const { path, errorsPath, mark, fence, isFirst = false } = options;
    const rows = await (await storageOf(path)).open(path, mark.bytes, mark.kept?.output, fence, isFirst);
    try {
      return new OutputWriter(options, rows, await (await storageOf(errorsPath)).open(errorsPath, mark.errorBytes, mark.kept?.errors, fence, isFirst));
    } catch (error) {
      await rows.close();
      throw error;
    }
  }

  get tally(): Tally {
    return this.#tallying.snapshot();
  }

  /** The next row. Never waits: ask `room` before making more results. */
  write(record: InputRecord, result: RecordResult): void {
    const line = result === KEPT ? this.#keep(record) : this.#format(record, result);
    this.#last = record.end;
    if (line !== null) this.#errors.append(Buffer.from(`${line}\n`));
    if (this.#options.compression === 'none') return;
    this.#memberRows++;
    if (this.#memberRows >= this.#memberSize.rows || this.#memberBytes >= this.#memberSize.bytes) this.#endMember();
  }

  /** Back-pressure: null when more is welcome. @throws StorageError when writing failed */
  room(): Promise<void> | null {
    if (this.#failure !== null) throw this.#failure.error;
    if (this.#compressingBytes > 2 * this.#memberSize.bytes) return this.#compressing;
    return this.#rows.room() ?? this.#errors.room();
  }

  /** Makes what can be kept durable. Returns the mark a resume may start from. @throws StorageError */
  async sync(): Promise<Mark> {
    // As it is now: the ledger is made durable up to the same moment.
    const here = this.#options.compression === 'none' ? this.#placeHere() : null;
    await this.#settleMembers();
    const place = here ?? this.#mark;
    await this.#rows.sync();
    await this.#errors.sync();
    return this.#markAt(place);
  }

  /** A checkpoint with this mark is durable. Never throws. */
  async settled({ kept }: Mark): Promise<void> {
    await this.#rows.settled(kept?.output);
    await this.#errors.settled(kept?.errors);
  }

  /** Writes what is left; for a compressed output the last, shorter member. @throws StorageError */
  async finish(): Promise<FinishedRows> {
    await this.#settleMembers();
    const place = this.#options.compression === 'none' ? this.#placeHere() : this.#mark;
    // An archive without a member is none that gunzip or zstd would open.
    if (this.#memberBytes > 0 || this.#rows.size === 0) this.#endMember();
    await this.#settleMembers();
    await this.#rows.sync();
    await this.#errors.sync();
    return {
      mark: this.#markAt(place),
      bytes: this.#rows.size,
      errorBytes: this.#errors.size,
      sha256: await this.#rows.sha256(),
      errorsSha256: await this.#errors.sha256(),
      tally: this.tally,
      ...keptFiles(this.#rows.kept(this.#rows.here()), this.#errors.kept(this.#errors.here())),
    };
  }

  /** Both files take their names; an errors file without a line does not appear. @throws StorageError */
  async commit(): Promise<void> {
    await this.#rows.commit();
    if (this.#errors.size > 0) {
      await this.#errors.commit();
    } else {
      const { errorsPath, fence } = this.#options;
      await this.#errors.discard();
      await (await storageOf(errorsPath)).remove(errorsPath, fence);
    }
  }

  /** Leaves the partial files for a resume. */
  async close(): Promise<void> {
    await this.#compressing.catch(() => undefined);
    await this.#rows.close();
    await this.#errors.close();
  }

  /** Returns the record's line in the errors file, like `#keep`. */
  #format(record: InputRecord, result: RecordResult): string | null {
    this.#push(this.#options.format.row(record, result));
    if (record.finished === undefined) this.#tallying.add(result);
    else this.#tallying.replaceFailed(result, record.finished.error);
    return this.#options.errorLine(record, result);
  }

  #keep({ finished }: InputRecord): string | null {
    if (finished === undefined) throw new Error('a record that no run has written has no row to keep');
    this.#push(finished.row);
    return finished.error?.line ?? null;
  }

  #push(bytes: Buffer): void {
    if (this.#options.compression === 'none') {
      this.#rows.append(bytes);
      return;
    }
    this.#member.push(bytes);
    this.#memberBytes += bytes.length;
  }

  /** The member's bytes are compressed off the main thread; members leave in order. */
  #endMember(): void {
    const { compression } = this.#options;
    if (compression === 'none') return;
    const plain = Buffer.concat(this.#member, this.#memberBytes);
    const after = { position: this.#last, errors: this.#errors.here(), tally: this.tally };
    this.#member = [];
    this.#memberBytes = 0;
    this.#memberRows = 0;
    this.#compressingBytes += plain.length;
    const compressed = compressMember(compression, plain);
    // Its failure is met in the chain below, which may get there later.
    compressed.catch(() => undefined);
    this.#compressing = this.#compressing
      .then(async () => {
        this.#rows.append(await compressed);
        this.#compressingBytes -= plain.length;
        this.#mark = { ...after, rows: this.#rows.here() };
      })
      .catch((error: unknown) => {
        this.#failure ??= { error };
      });
  }

  async #settleMembers(): Promise<void> {
    await this.#compressing;
    if (this.#failure !== null) throw this.#failure.error;
  }

  #placeHere(): Place {
    return { position: this.#last, rows: this.#rows.here(), errors: this.#errors.here(), tally: this.tally };
  }

  #markAt({ position, rows, errors, tally }: Place): Mark {
    return { position, bytes: rows.bytes, errorBytes: errors.bytes, tally, ...keptFiles(this.#rows.kept(rows), this.#errors.kept(errors)) };
  }
}
