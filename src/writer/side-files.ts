import { SIDE_FILES, type SideFile } from '../definition/output-shape.ts';
import type { InputRecord } from '../formats/input-record.ts';
import { KEPT, type RecordResult } from '../processor/result.ts';
import type { Fence } from '../storage/fence.ts';
import type { GrowingFile, ResumeState } from '../storage/storage.ts';
import { storageOf } from '../storage/storage-of.ts';
import { present } from '../util/assert.ts';
import { sizeOf, type ResumeStates, type RowFileSizes, type SidePositions } from './row-files.ts';

/** A file with a line for each row of a kind. */
export interface SideFileOptions {
  readonly path: string;
  /** The line of a row; null for a row without one. Null when no row of the job can have one. */
  readonly lineOf: ((record: InputRecord, result: RecordResult) => string | null) | null;
}

export type SideOptions = Readonly<Record<SideFile, SideFileOptions>>;

interface OpenFile {
  readonly which: SideFile;
  readonly file: GrowingFile;
  readonly lineOf: NonNullable<SideFileOptions['lineOf']>;
}

/** The files beside an output that have a line for some of its rows. */
export class SideFiles {
  readonly #options: SideOptions;
  readonly #fence: Fence;
  readonly #files: readonly OpenFile[];

  private constructor(options: SideOptions, fence: Fence, files: readonly OpenFile[]) {
    this.#options = options;
    this.#fence = fence;
    this.#files = files;
  }

  /** @param mark where they go on @param isFirst see `Storage.open` @throws StorageError */
  static async open(
    options: SideOptions,
    mark: RowFileSizes & { readonly kept?: ResumeStates },
    fence: Fence,
    isFirst: boolean,
  ): Promise<SideFiles> {
    const files: OpenFile[] = [];
    try {
      for (const which of SIDE_FILES) {
        const { path, lineOf } = options[which];
        if (lineOf === null) continue;
        const file = await (await storageOf(path)).open(path, sizeOf(mark, which), mark.kept?.[which], fence, isFirst);
        files.push({ which, file, lineOf });
      }
    } catch (error) {
      for (const { file } of files) await file.close();
      throw error;
    }
    return new SideFiles(options, fence, files);
  }

  /** The lines of a row; those of a kept row are written again. */
  write(record: InputRecord, result: RecordResult): void {
    for (const { which, file, lineOf } of this.#files) {
      const line = result === KEPT ? keptLine(record, which) : lineOf(record, result);
      if (line !== null) file.append(Buffer.from(`${line}\n`));
    }
  }

  /** See `GrowingFile`. @throws StorageError */
  room(): Promise<void> | null {
    for (const { file } of this.#files) {
      const room = file.room();
      if (room !== null) return room;
    }
    return null;
  }

  async sync(): Promise<void> {
    for (const { file } of this.#files) await file.sync();
  }

  async settled(kept: ResumeStates | undefined): Promise<void> {
    for (const { which, file } of this.#files) await file.settled(kept?.[which]);
  }

  positions(): SidePositions {
    return Object.fromEntries(this.#files.map(({ which, file }) => [which, file.position()]));
  }

  /** See `GrowingFile.resumeState`. */
  resumeStates(at: SidePositions): Readonly<Partial<Record<SideFile, ResumeState | undefined>>> {
    return Object.fromEntries(
      this.#files.map(({ which, file }) => [which, file.resumeState(present(at[which], 'a file that is written'))]),
    );
  }

  /** Bytes; 0 for a file that is not written. */
  size(which: SideFile): number {
    return this.#fileOf(which)?.size ?? 0;
  }

  async sha256(which: SideFile): Promise<string> {
    return (await this.#fileOf(which)?.sha256()) ?? '';
  }

  /** Gives each its name. A file without a line is not published, and one of an earlier run is removed. @throws StorageError */
  async commit(): Promise<void> {
    for (const which of SIDE_FILES) {
      const file = this.#fileOf(which);
      if (file !== undefined && file.size > 0) {
        await file.commit();
        continue;
      }
      await file?.discard();
      const { path } = this.#options[which];
      await (await storageOf(path)).remove(path, this.#fence);
    }
  }

  async close(): Promise<void> {
    for (const { file } of this.#files) await file.close();
  }

  #fileOf(which: SideFile): GrowingFile | undefined {
    return this.#files.find((one) => one.which === which)?.file;
  }
}

/** The line that the run before has written for a row. */
function keptLine({ finished }: InputRecord, which: SideFile): string | null {
  const { error, open } = present(finished, 'a kept row was written by a run before');
  return (which === 'errors' ? error : open)?.line ?? null;
}
