/** A growing file in S3. Each part of a few megabytes is an object of its own; at the end the server assembles them. */
import { assemble } from '../s3/assemble.ts';
import { objectError } from '../s3/failure.ts';
import { MOST_PARTS } from '../s3/limits.ts';
import type { S3Access } from '../s3/objects.ts';
import { isS3Uri, s3Uri, type S3Location } from '../s3/uri.ts';
import type { Fence } from './fence.ts';
import type { MillraceError } from '../util/errors.ts';
import { damaged, storageFailure, tooShort } from './failure.ts';
import { allExist, cut, fetchOpenPart } from './part-list.ts';
import { copiedRanges, partBytes } from './part-sizes.ts';
import { ResumableSha256 } from './resumable-sha256.ts';
import type { S3Parts } from './s3-parts.ts';
import type { FinishedRange, GrowingFile, WritePosition, ResumeState, StoredPart } from './storage.ts';

/** Concurrent uploads of complete parts. */
const UPLOADS_AT_ONCE = 2;

export interface S3File {
  readonly access: S3Access;
  readonly place: S3Location;
  readonly parts: S3Parts;
  readonly fence: Fence;
  /** Publishes the file without a byte. */
  readonly writeEmpty: () => Promise<void>;
}

interface Beginning {
  readonly parts: StoredPart[];
  /** The bytes after the complete parts, and the object that holds exactly those bytes, if one exists. */
  readonly open: Buffer;
  readonly openKept: StoredPart | null;
  readonly sha: ResumableSha256;
  /** State of the SHA-256 at the beginning of the open part. */
  readonly openFrom: string;
}

/** The durable state after the last `sync`. */
interface Synced {
  /** Number of complete parts. */
  readonly parts: number;
  /** The object with the bytes after them, at that time. */
  readonly open: StoredPart | null;
}

export class S3GrowingFile implements GrowingFile {
  readonly #file: S3File;
  readonly #uri: string;
  readonly #sha: ResumableSha256;
  /** Complete parts, in order. A part has its name before it is uploaded. */
  readonly #parts: StoredPart[];
  /** State of the SHA-256 at the beginning of each part, the open one included. Parts before a resume have none. */
  readonly #starts: string[] = [];
  #size: number;
  /** The bytes after the last complete part. */
  #open: Buffer[] = [];
  #openBytes = 0;
  #openKept: StoredPart | null;
  /** Objects in which this run has stored the open part. */
  readonly #openNames = new Set<string>();
  #synced: Synced;
  #names = 0;
  /** Chains of uploads that run concurrently. The uploads of one chain run in sequence. */
  readonly #uploadChains: Promise<void>[] = Array.from({ length: UPLOADS_AT_ONCE }, () => Promise.resolve());
  readonly #uploads = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #failure: MillraceError | null = null;

  private constructor(file: S3File, size: number, { parts, open, openKept, sha, openFrom }: Beginning) {
    this.#file = file;
    this.#uri = s3Uri(file.place.bucket, file.place.key);
    this.#size = size;
    this.#parts = parts;
    this.#starts[parts.length] = openFrom;
    this.#sha = sha;
    this.#openKept = openKept;
    this.#synced = { parts: parts.length, open: openKept };
    if (open.length > 0) {
      this.#open = [open];
      this.#openBytes = open.length;
    }
  }

  /** @throws StorageError, or MillraceError 75 when the job was lost */
  static async open(file: S3File, size: number, kept: ResumeState | undefined): Promise<S3GrowingFile> {
    const uri = s3Uri(file.place.bucket, file.place.key);
    try {
      const { parts, rest } = cut(kept?.parts ?? [], size);
      const names = new Set((kept?.parts ?? []).map(({ name }) => name));
      if (size > 0 && (kept === undefined || !(await allExist(file.parts, size, kept)))) throw tooShort(uri, 'lacks parts', size);
      // Removes objects that no checkpoint refers to.
      await file.parts.sweep((name) => names.has(name), file.fence);
      const open =
        rest === null || kept === undefined
          ? Buffer.alloc(0)
          : await fetchOpenPart(file.access, file.parts, { rest, isFirst: parts.length === 0, kept });
      if (open === null) throw damaged(uri, 'has an unfinished part that is not what the checkpoint says');
      const openKept = kept?.parts.find(({ name, at, bytes }) => name === rest?.name && at === rest.at && bytes === rest.bytes) ?? null;
      const sha = size === 0 || kept === undefined ? new ResumableSha256() : ResumableSha256.from(kept.sha);
      return new S3GrowingFile(file, size, {
        parts,
        open,
        openKept,
        sha,
        openFrom: rest === null ? sha.state : (kept?.before ?? new ResumableSha256().state),
      });
    } catch (error) {
      throw storageFailure(uri, 'opened', objectError(error, uri));
    }
  }

  get size(): number {
    return this.#size;
  }

  position(): WritePosition {
    return { bytes: this.#size, sha: this.#sha.state };
  }

  append(bytes: Buffer): void {
    this.#sha.update(bytes);
    this.#size += bytes.length;
    this.#open.push(bytes);
    this.#openBytes += bytes.length;
    if (this.#openBytes >= partBytes(this.#parts.length)) this.#endPart();
  }

  async appendFrom({ path, version, ...range }: FinishedRange, chunks: AsyncIterable<Buffer>): Promise<void> {
    const copied = isS3Uri(path) ? copiedRanges(range, this.#openBytes, this.#parts.length) : [];
    let uploaded = (copied[0]?.at ?? range.at + range.bytes) - range.at;
    for await (const chunk of chunks) {
      const own = chunk.subarray(0, uploaded);
      uploaded -= own.length;
      if (own.length > 0) this.append(own);
      await this.room();
      this.#sha.update(chunk.subarray(own.length));
      this.#size += chunk.length - own.length;
    }
    if (copied.length === 0) return;
    if (this.#openBytes > 0) this.#endPart();
    await this.#begin();
    for (const part of copied) this.#addPart({ name: path, version, ...part });
    this.#starts[this.#parts.length] = this.#sha.state;
  }

  room(): Promise<void> | null {
    if (this.#failure !== null) throw this.#failure;
    if (this.#uploads.size <= UPLOADS_AT_ONCE) return null;
    const wait = Promise.race(this.#uploads);
    // The caller may stop without awaiting this. The failure is stored, and the next call throws it.
    wait.catch(() => undefined);
    return wait;
  }

  async sync(): Promise<void> {
    // Later appends are not awaited.
    const parts = this.#parts.length;
    const [open] = await Promise.all([this.#openBytes === 0 ? null : this.#keepOpen(), ...this.#uploads]);
    if (this.#failure !== null) throw this.#failure;
    this.#synced = { parts, open };
  }

  resumeState({ bytes, sha }: WritePosition): ResumeState | undefined {
    const { parts, open } = this.#synced;
    if (bytes === 0 || sha === undefined) return undefined;
    const kept = [...this.#parts.slice(0, parts), ...(open === null ? [] : [open])];
    const before = this.#starts[cut(kept, bytes).parts.length];
    return { parts: kept, sha, ...(before === undefined ? {} : { before }) };
  }

  async settled(kept: ResumeState | undefined): Promise<void> {
    const needed = new Set(kept?.parts.map(({ name }) => name));
    const gone = [...this.#openNames].filter((name) => !needed.has(name) && name !== this.#openKept?.name);
    for (const name of gone) this.#openNames.delete(name);
    // Objects that cannot be removed now are removed when the file is finished.
    await this.#file.parts.remove(gone).catch(() => undefined);
  }

  async sha256(): Promise<string> {
    return this.#sha.digest();
  }

  async commit(): Promise<void> {
    const { access, place, parts, fence, writeEmpty } = this.#file;
    try {
      await fence.check();
      const { open } = this.#synced;
      const made = [...this.#parts, ...(open === null ? [] : [open])];
      if (made.length === 0) return await writeEmpty();
      const guard = parts.guard(null, fence);
      const check = async (): Promise<void> => {
        // Not every server copies conditionally, so this checks that the copied objects were the expected ones.
        const replaced = await parts.replaced(made);
        if (replaced !== null) throw tooShort(replaced, 'is not what it was', this.#size);
        await guard.check();
      };
      await assemble(
        access,
        place,
        made.map(({ name, at = 0, bytes }) => ({ place: parts.place(name), at, bytes })),
        { ...guard, check },
      );
    } catch (error) {
      throw storageFailure(this.#uri, 'put in place', objectError(error, this.#uri));
    }
  }

  async discard(): Promise<void> {
    await this.close();
    try {
      await this.#file.parts.drop(this.#file.fence);
    } catch (error) {
      throw storageFailure(this.#uri, 'removed', objectError(error, this.#uri));
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#uploads);
  }

  #endPart(): void {
    const bytes = Buffer.concat(this.#open, this.#openBytes);
    const index = this.#parts.length;
    const part = { name: this.#newName(), bytes: bytes.length };
    this.#open = [];
    this.#openBytes = 0;
    this.#openKept = null;
    this.#addPart(part);
    this.#starts[index + 1] = this.#sha.state;
    const chain = this.#parts.length % UPLOADS_AT_ONCE;
    const upload = (this.#uploadChains[chain] ?? Promise.resolve())
      .then(async () => {
        this.#parts[index] = { ...part, etag: await this.#put(part.name, bytes) };
      })
      .finally(() => this.#uploads.delete(upload));
    // `sync` and `room` report the failure.
    upload.catch(() => undefined);
    this.#uploadChains[chain] = upload;
    this.#uploads.add(upload);
  }

  #addPart(part: StoredPart): void {
    this.#parts.push(part);
    if (this.#parts.length >= MOST_PARTS) this.#fail(new Error(`an object has ${MOST_PARTS} parts at most`));
  }

  async #begin(): Promise<void> {
    try {
      await this.#file.parts.begin(this.#file.fence);
    } catch (error) {
      throw storageFailure(this.#uri, 'written', objectError(error, this.#uri));
    }
  }

  /** Stores the open part under a new name, because the last checkpoint still refers to the object before. */
  async #keepOpen(): Promise<StoredPart> {
    if (this.#openKept !== null && this.#openKept.bytes === this.#openBytes) return this.#openKept;
    const bytes = Buffer.concat(this.#open, this.#openBytes);
    const name = this.#newName();
    const whole = this.#parts.length;
    this.#openNames.add(name);
    const part = { name, bytes: bytes.length, etag: await this.#put(name, bytes) };
    // Meanwhile it may have become a complete part, with another open one behind it.
    if (this.#parts.length === whole) this.#openKept = part;
    return part;
  }

  /** @returns the ETag */
  async #put(name: string, bytes: Buffer): Promise<string> {
    try {
      if (this.#failure !== null) throw this.#failure;
      return await this.#file.parts.put(name, bytes, this.#stop.signal);
    } catch (error) {
      this.#fail(error);
      throw this.#failure ?? error;
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= storageFailure(this.#uri, 'written', objectError(error, this.#uri));
  }

  #newName(): string {
    this.#names += 1;
    return `${this.#file.fence.id}.${this.#names}`;
  }
}
