/** `output.split`: beside a finished output, one file for each verdict, with the rows that have it. */
import type { Fence } from '../../storage/fence.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { splitPath } from '../../definition/output-shape.ts';
import { VERDICTS } from '../../steps/verify.ts';
import { compressMember, MEMBER } from '../../formats/compression/compressor.ts';
import { readQuoted } from '../../formats/csv/fields.ts';
import type { InputManifest } from '../../formats/input-record.ts';
import { WrittenRows } from '../../formats/written-rows.ts';
import type { GrowingFile } from '../../storage/storage.ts';
import { storageOf } from '../../storage/storage-of.ts';
import { resultColumnNames } from '../../writer/result-columns.ts';
import { outputTable } from '../../writer/row-format.ts';
import type { FinishedOutput } from '../../checkpoint/checkpoint-file.ts';

/** Rows whose verdicts are read together, and their bytes: a row may have a mebibyte. */
const AT_ONCE = { rows: 1_000, bytes: 4 * 1024 * 1024 };

/**
 * Writes the files anew from the finished output. A crash meanwhile leaves unfinished ones, which the next run writes again.
 * @throws StorageError, InputError, or 75 when the job was lost
 */
export async function splitOutput(
  job: CompiledJob,
  output: string,
  manifest: InputManifest,
  result: FinishedOutput,
  fence: Fence,
): Promise<void> {
  const { format, compression } = job.output;
  const delimited = format !== 'jsonl';
  const digest = result.versions?.output ?? result.sha256;
  const rows = new WrittenRows({ uri: job.output.uri, path: output, size: result.bytes, digest, compression }, delimited, {
    offset: 0,
    frame: compression === 'none' ? null : { at: 0, offset: 0 },
  });
  const header = delimited ? await rows.next() : null;
  const verdictsOf = delimited ? cellsAt(job, manifest) : membersOf(job);
  const files = new Map<string, SplitFile>();
  try {
    for (let batch = await someRows(rows); batch.length > 0; batch = await someRows(rows)) {
      const verdicts = await verdictsOf(batch);
      for (const [i, row] of batch.entries()) {
        const verdict = VERDICTS.find((one) => one === verdicts[i]);
        if (verdict === undefined) continue;
        let file = files.get(verdict);
        if (file === undefined) files.set(verdict, (file = await SplitFile.open(splitPath(output, verdict), compression, header, fence)));
        await file.add(row);
      }
    }
    for (const verdict of VERDICTS) {
      const file = files.get(verdict);
      const path = splitPath(output, verdict);
      // A verdict that no row has any more has no file.
      if (file === undefined) await (await storageOf(path)).remove(path, fence);
      else await file.commit();
    }
  } finally {
    await rows.close();
    for (const file of files.values()) await file.close();
  }
}

async function someRows(rows: WrittenRows): Promise<Buffer[]> {
  const some: Buffer[] = [];
  let bytes = 0;
  for (let row = await rows.next(); row !== null; row = await rows.next()) {
    // The row is a view of a buffer that the next one may reuse.
    some.push(Buffer.from(row));
    bytes += row.length;
    if (some.length === AT_ONCE.rows || bytes >= AT_ONCE.bytes) break;
  }
  return some;
}

/** The cells of the verdict's column. Those of the input stand before those of the result. */
function cellsAt(job: CompiledJob, manifest: InputManifest): (rows: readonly Buffer[]) => Promise<string[]> {
  const at = manifest.columns.length + columnOf(job);
  const { delimiter } = outputTable(job.output, manifest);
  return async (rows) => {
    const texts = rows.map((row) => row.toString('utf8').replace(/\r?\n$/, ''));
    const cells = await readQuoted(
      texts,
      texts.map(() => true),
      delimiter,
    );
    return cells.map((row) => row[at] ?? '');
  };
}

/** The place of the verdict among the columns that the job adds. */
function columnOf(job: Pick<CompiledJob, 'steps' | 'ownSteps' | 'namesProviders' | 'output'>): number {
  const { fields } = job.output;
  return fields === null ? resultColumnNames(job).indexOf('verify.result') : Object.values(fields).indexOf('verify.result');
}

/** The verdicts of JSON lines: at the name that `output.fields` gives them, else in `verify`. */
function membersOf({ output: { fields } }: CompiledJob): (rows: readonly Buffer[]) => Promise<string[]> {
  const name = fields === null ? null : (Object.entries(fields).find(([, path]) => path === 'verify.result')?.[0] ?? '');
  return async (rows) =>
    rows.map((row) => {
      const object = JSON.parse(row.toString('utf8')) as Record<string, unknown> & { verify?: { result?: unknown } | null };
      const verdict = name === null ? object.verify?.result : object[name];
      return typeof verdict === 'string' ? verdict : '';
    });
}

class SplitFile {
  readonly #file: GrowingFile;
  readonly #compression: CompiledJob['output']['compression'];
  #member: Buffer[] = [];
  #rows = 0;
  #bytes = 0;

  private constructor(file: GrowingFile, compression: CompiledJob['output']['compression']) {
    this.#file = file;
    this.#compression = compression;
  }

  static async open(
    path: string,
    compression: CompiledJob['output']['compression'],
    header: Buffer | null,
    fence: Fence,
  ): Promise<SplitFile> {
    const storage = await storageOf(path);
    await storage.dropUnfinished(path, fence);
    const file = new SplitFile(await storage.open(path, 0, undefined, fence), compression);
    if (header !== null) await file.#push(Buffer.from(header));
    return file;
  }

  async add(row: Buffer): Promise<void> {
    this.#rows++;
    await this.#push(row);
  }

  async commit(): Promise<void> {
    await this.#endMember();
    await this.#file.sync();
    await this.#file.commit();
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  async #push(bytes: Buffer): Promise<void> {
    this.#member.push(bytes);
    this.#bytes += bytes.length;
    if (this.#rows >= MEMBER.rows || this.#bytes >= MEMBER.bytes) await this.#endMember();
  }

  async #endMember(): Promise<void> {
    if (this.#bytes === 0) return;
    const plain = Buffer.concat(this.#member, this.#bytes);
    this.#member = [];
    this.#rows = 0;
    this.#bytes = 0;
    this.#file.append(this.#compression === 'none' ? plain : await compressMember(this.#compression, plain));
    await this.#file.room();
  }
}
