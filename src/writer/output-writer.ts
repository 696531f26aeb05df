import type { Fence } from '../storage/fence.ts';
import type { Compression } from '../formats/input-record.ts';
import { KEPT, type RecordResult } from '../processor/result.ts';
import type { InputRecord } from '../formats/input-record.ts';
import type { GrowingFile, WritePosition } from '../storage/storage.ts';
import { storageOf } from '../storage/storage-of.ts';
import { compressMember, MEMBER, ROW_GROUP, type MemberSize } from '../formats/compression/compressor.ts';
import type * as rowGroups from '../formats/parquet/row-groups.ts';
import type { RowGroupNote } from '../formats/parquet/row-groups.ts';
import type { ResumePoint } from './resume-point.ts';
import { digestsOf, resumeStates, sizesOf, type FinishedFiles, type SidePositions } from './row-files.ts';
import type { RowFormat } from './row-format.ts';
import { SideFiles, type SideOptions } from './side-files.ts';
import { Tallying, type Tally } from './tally.ts';
import { assert, present } from '../util/assert.ts';

export interface OutputWriterOptions {
  readonly path: string;
  /** The files of lines beside it. */
  readonly side: SideOptions;
  /** The right of this run to write the files. */
  readonly fence: Fence;
  readonly compression: Compression;
  readonly format: RowFormat;
  /** The point to resume from. */
  readonly mark: ResumePoint;
  /** The job has never run, so its files must not exist yet. */
  readonly isFirst?: boolean;
  /** The size of a member of a compressed output, or of a row group. It must stay the same for the whole job. */
  readonly member?: MemberSize;
}

/** A resume point whose resume state is only known after the sync. */
interface Place {
  readonly position: ResumePoint['position'];
  readonly rows: WritePosition;
  readonly side: SidePositions;
  readonly tally: Tally;
  /** The number of row groups before it. */
  readonly groups: number;
}

/** Writes row groups, see `row-groups.ts`. */
type ParquetFormat = typeof rowGroups;

/** A complete output and the files of lines beside it. */
export interface FinishedRows extends FinishedFiles {
  /** The point from which a longer run could continue. */
  readonly mark: ResumePoint;
  readonly tally: Tally;
}

/**
 * Writes rows in input order into an unfinished file. It always knows the latest resume point: the last row, or the end of the last member
 * of a compressed output, or of the last row group of Parquet.
 */
export class OutputWriter {
  readonly #options: OutputWriterOptions;
  readonly #rows: GrowingFile;
  readonly #side: SideFiles;
  readonly #tallying: Tallying;
  readonly #memberSize: MemberSize;
  /** Null for other formats than Parquet. */
  readonly #parquet: ParquetFormat | null;
  /** The row groups that were written, by all runs. */
  readonly #groups: RowGroupNote[];
  #mark: Place;
  #last: ResumePoint['position'];
  #member: Buffer[] = [];
  #memberBytes = 0;
  #memberRows = 0;
  #compressing: Promise<void> = Promise.resolve();
  #compressingBytes = 0;
  #failure: { error: unknown } | null = null;

  private constructor(options: OutputWriterOptions, rows: GrowingFile, side: SideFiles, parquet: ParquetFormat | null) {
    this.#options = options;
    this.#rows = rows;
    this.#side = side;
    this.#parquet = parquet;
    this.#groups = [...(options.mark.groups ?? [])];
    this.#memberSize = options.member ?? (parquet === null ? MEMBER : ROW_GROUP);
    this.#last = options.mark.position;
    this.#tallying = new Tallying(options.mark.tally);
    this.#mark = this.#placeHere();
    // Before the first resume point nothing is stored, so a run from the beginning writes the header again.
    if (options.mark.bytes === 0 && options.format.header !== null) this.#push(options.format.header);
    if (options.mark.bytes === 0 && parquet !== null) rows.append(parquet.MAGIC);
  }

  /** @throws StorageError */
  static async open(options: OutputWriterOptions): Promise<OutputWriter> {
    const { path, side, mark, fence, format, isFirst = false } = options;
    const parquet = format.columns === undefined ? null : await import('../formats/parquet/row-groups.ts');
    const rows = await (await storageOf(path)).open(path, mark.bytes, mark.kept?.output, fence, isFirst);
    try {
      return new OutputWriter(options, rows, await SideFiles.open(side, mark, fence, isFirst), parquet);
    } catch (error) {
      await rows.close();
      throw error;
    }
  }

  get tally(): Tally {
    return this.#tallying.snapshot();
  }

  /** Writes the next row without waiting. Call `room` before producing more results. */
  write(record: InputRecord, result: RecordResult): void {
    if (result === KEPT) this.#push(present(record.finished, 'a kept row was written by a run before').row);
    else this.#format(record, result);
    this.#last = record.end;
    this.#side.write(record, result);
    if (!this.#isInMembers) return;
    this.#memberRows++;
    if (this.#memberRows >= this.#memberSize.rows || this.#memberBytes >= this.#memberSize.bytes) this.#endMember();
  }

  /** Back-pressure: null when the caller may go on. @throws StorageError when a write failed */
  room(): Promise<void> | null {
    if (this.#failure !== null) throw this.#failure.error;
    if (this.#compressingBytes > 2 * this.#memberSize.bytes) return this.#compressing;
    return this.#rows.room() ?? this.#side.room();
  }

  /** Makes as much as possible durable. Returns the resume point. @throws StorageError */
  async sync(): Promise<ResumePoint> {
    // Taken now, because the ledger is made durable up to the same moment.
    const at = this.#isInMembers ? null : this.#placeHere();
    await this.#settleMembers();
    const place = at ?? this.#mark;
    await this.#rows.sync();
    await this.#side.sync();
    return this.#markAt(place);
  }

  /** Called when a checkpoint with this resume point is durable. Never throws. */
  async settled({ kept }: ResumePoint): Promise<void> {
    await this.#rows.settled(kept?.output);
    await this.#side.settled(kept);
  }

  /** Writes the rest; for a compressed output the last, shorter member. @throws StorageError */
  async finish(): Promise<FinishedRows> {
    await this.#settleMembers();
    const place = this.#isInMembers ? this.#mark : this.#placeHere();
    // gunzip and zstd reject an archive without a member.
    if (this.#memberBytes > 0 || this.#rows.size === 0) this.#endMember();
    await this.#settleMembers();
    if (this.#parquet !== null) this.#rows.append(this.#parquet.footerBytes(this.#options.format.columns ?? [], this.#groups));
    await this.#rows.sync();
    await this.#side.sync();
    const sizes = sizesOf({ output: this.#rows.size, errors: this.#side.size('errors'), open: this.#side.size('open') });
    const [output, errors, open] = [await this.#rows.sha256(), await this.#side.sha256('errors'), await this.#side.sha256('open')];
    return {
      mark: this.#markAt(place),
      ...sizes,
      ...digestsOf({ output, errors, open }, sizes),
      tally: this.tally,
      ...this.#resumeStates(this.#rows.position(), this.#side.positions()),
    };
  }

  /** Gives all files their final names. @throws StorageError */
  async commit(): Promise<void> {
    await this.#rows.commit();
    await this.#side.commit();
  }

  /** Closes the partial files and leaves them for a resume. */
  async close(): Promise<void> {
    await this.#compressing.catch(() => undefined);
    await this.#rows.close();
    await this.#side.close();
  }

  #format(record: InputRecord, result: RecordResult): void {
    this.#push(this.#options.format.row(record, result));
    if (record.finished === undefined) this.#tallying.add(result);
    else this.#tallying.replace(result, record.finished);
  }

  get #isInMembers(): boolean {
    return this.#options.compression !== 'none' || this.#parquet !== null;
  }

  #push(bytes: Buffer): void {
    if (!this.#isInMembers) {
      this.#rows.append(bytes);
      return;
    }
    this.#member.push(bytes);
    this.#memberBytes += bytes.length;
  }

  /** Compresses the member off the main thread, or encodes the row group. Members leave in order. */
  #endMember(): void {
    if (!this.#isInMembers) return;
    const rows = this.#member;
    const size = this.#memberBytes;
    const after = { position: this.#last, side: this.#side.positions(), tally: this.tally };
    this.#member = [];
    this.#memberBytes = 0;
    this.#memberRows = 0;
    this.#compressingBytes += size;
    const packed = this.#pack(rows, size);
    // The chain below handles its failure, perhaps later.
    packed.catch(() => undefined);
    this.#compressing = this.#compressing
      .then(async () => {
        const { bytes, note } = await packed;
        if (note !== null) this.#groups.push({ ...note, at: this.#rows.size });
        this.#rows.append(bytes);
        this.#compressingBytes -= size;
        this.#mark = { ...after, rows: this.#rows.position(), groups: this.#groups.length };
      })
      .catch((error: unknown) => {
        this.#failure ??= { error };
      });
  }

  async #pack(rows: readonly Buffer[], size: number): Promise<{ readonly bytes: Buffer; readonly note: RowGroupNote | null }> {
    const { compression, format } = this.#options;
    if (this.#parquet !== null) return this.#parquet.encodeRowGroup(format.columns ?? [], rows);
    assert(compression !== 'none', 'rows of a plain output are not packed');
    return { bytes: await compressMember(compression, Buffer.concat(rows, size)), note: null };
  }

  async #settleMembers(): Promise<void> {
    await this.#compressing;
    if (this.#failure !== null) throw this.#failure.error;
  }

  #placeHere(): Place {
    return {
      position: this.#last,
      rows: this.#rows.position(),
      side: this.#side.positions(),
      tally: this.tally,
      groups: this.#groups.length,
    };
  }

  #markAt({ position, rows, side, tally, groups }: Place): ResumePoint {
    return {
      position,
      ...sizesOf({ output: rows.bytes, errors: side.errors?.bytes ?? 0, open: side.open?.bytes ?? 0 }),
      tally,
      ...(this.#parquet === null ? {} : { groups: this.#groups.slice(0, groups) }),
      ...this.#resumeStates(rows, side),
    };
  }

  #resumeStates(rows: WritePosition, side: SidePositions): Pick<ResumePoint, 'kept'> {
    return resumeStates({ output: this.#rows.resumeState(rows), ...this.#side.resumeStates(side) });
  }
}
