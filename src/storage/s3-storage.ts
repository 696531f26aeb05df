/** S3 as the place of a job's files. */
import { createHash } from 'node:crypto';
import type { Fence } from '../checkpoint/fence.ts';
import { assemble } from '../s3/assemble.ts';
import { s3Client } from '../s3/client.ts';
import { ConditionalObjects } from '../s3/conditional-objects.ts';
import { faultOf, objectError } from '../s3/failure.ts';
import { headObject, type ObjectFacts, type S3Access } from '../s3/objects.ts';
import { PATIENCE } from '../s3/patience.ts';
import { readObject } from '../s3/read-object.ts';
import { deleteObject, getSmall } from '../s3/small-object.ts';
import { parseS3Uri, type S3Place } from '../s3/uri.ts';
import { LACKS_PARTS, begunByAnother } from './failure.ts';
import { partialPath } from './names.ts';
import { flawOf } from './kept-parts.ts';
import { S3GrowingFile, type S3File } from './s3-growing-file.ts';
import { beginning, isRecord, S3Parts } from './s3-parts.ts';
import { reopenedParts } from './part-sizes.ts';
import type { KeptFile, Storage } from './storage.ts';

const CHUNK_BYTES = 1024 * 1024;
/** A text of a job that is longer is none of Millrace's. */
const LONGEST_TEXT = 256 * 1024 * 1024;

/** One for the process: what it has learnt of the server, and of the texts that it wrote, is good for all of a run. */
let shared: Promise<S3Storage> | null = null;

/** Aborted when a run that was told to stop at once has waited long enough. */
const giveUp = new AbortController();
const LAST_WORDS_MS = 5_000;

export function s3Storage(): Promise<S3Storage> {
  return (shared ??= s3Client().then((client) => new S3Storage({ client, patience: { ...PATIENCE, until: giveUp.signal } })));
}

/** What is still to be said to S3 is said within seconds, or not at all. */
export function stopWaiting(): void {
  setTimeout(() => giveUp.abort(new Error('this run was told to stop at once')), LAST_WORDS_MS).unref();
}

export class S3Storage implements Storage {
  readonly access: S3Access;
  readonly conditional: ConditionalObjects;
  /** ETags of the texts that this run wrote last. */
  readonly #written = new Map<string, string>();

  constructor(access: S3Access, conditional = new ConditionalObjects(access)) {
    this.access = access;
    this.conditional = conditional;
  }

  async exists(path: string): Promise<boolean> {
    return (await this.#head(path)) !== null;
  }

  async readText(path: string, mostBytes: number): Promise<string | null> {
    return (await said(path, getSmall(this.access, placeOf(path), mostBytes)))?.bytes.toString() ?? null;
  }

  async replaceText(path: string, text: string, fence: Fence): Promise<void> {
    // Seen before the look at the lock: it was there while the job was ours.
    const before = this.#written.get(path) ?? (await this.#head(path))?.etag ?? null;
    await fence.check();
    // Whether it was written is not known until the answer has come.
    this.#written.delete(path);
    const etag = await said(path, this.conditional.put(placeOf(path), Buffer.from(text), before));
    if (etag === null) {
      await fence.check();
      throw new Error('something else has written it meanwhile');
    }
    this.#written.set(path, etag);
  }

  async remove(path: string, fence: Fence): Promise<void> {
    const found = await this.#head(path);
    if (found === null) return;
    await fence.check();
    this.#written.delete(path);
    await said(path, deleteObject(this.access, placeOf(path)));
  }

  async isUnchanged(path: string, { bytes, sha256, version }: { bytes: number; sha256: string; version?: string | undefined }): Promise<boolean> {
    const found = await this.#head(path);
    if (found === null || found.size !== bytes) return false;
    if (found.etag === version) return true;
    return (await said(path, this.#sha256Of(placeOf(path), found))) === sha256;
  }

  async #sha256Of(place: S3Place, { etag, size }: ObjectFacts): Promise<string> {
    const hash = createHash('sha256');
    for await (const chunk of readObject(this.access, { ...place, etag }, { start: 0, end: size }, { chunkBytes: CHUNK_BYTES })) hash.update(chunk);
    return hash.digest('hex');
  }

  async version(path: string): Promise<string | undefined> {
    return (await this.#head(path))?.etag;
  }

  async open(path: string, size: number, kept: KeptFile | undefined, fence: Fence, isFirst = false): Promise<S3GrowingFile> {
    if (isFirst) {
      const etag = await said(path, this.conditional.put(placeOf(partialPath(path)), beginning(fence), null));
      if (etag === null) throw begunByAnother(partialPath(path));
    }
    return S3GrowingFile.open(this.#file(path, fence), size, kept);
  }

  async flaw(path: string, size: number, kept: KeptFile | undefined): Promise<string | null> {
    if (size === 0) return null;
    return kept === undefined ? LACKS_PARTS : said(path, flawOf(this.access, this.#parts(path), size, kept));
  }

  async unfinished(path: string): Promise<string | null> {
    return said(path, this.#parts(path).first());
  }

  async reopen(path: string, size: number, sha: string | undefined, fence: Fence): Promise<KeptFile | undefined> {
    const found = await this.#head(path);
    if (found === null || size === 0 || sha === undefined) return undefined;
    const parts = this.#parts(path);
    const name = `${fence.id}.0`;
    // Read from its own copy: whatever becomes of the file meanwhile.
    const sources = reopenedParts(found.size).map(({ at, bytes }) => ({ place: placeOf(path), at, bytes }));
    await said(path, assemble(this.access, parts.place(name), sources, parts.guard(name, fence)));
    return { parts: reopenedParts(size).map((range) => ({ name, ...range })), sha };
  }

  async dropUnfinished(path: string, fence: Fence): Promise<void> {
    // What cannot be removed now, the same command removes when it is given again.
    await this.#parts(path).drop(fence).catch(() => undefined);
  }

  async sweep(path: string, fence: Fence): Promise<void> {
    await said(path, this.#parts(path).sweep((name) => !isRecord(name), fence));
  }

  // A run writes no part under a name that another one counts on.
  async shutOutOfFile(): Promise<void> {}

  async shutOutOfText(path: string, fence: Fence): Promise<void> {
    for (;;) {
      const found = await said(path, getSmall(this.access, placeOf(path), LONGEST_TEXT));
      if (found === null) return;
      await fence.check();
      // Another content, and so another ETag than any that a run before knows: its conditions hold no more.
      const etag = await said(path, this.conditional.put(placeOf(path), Buffer.concat([found.bytes, Buffer.from('\n')]), found.etag));
      if (etag !== null) return void this.#written.set(path, etag);
    }
  }

  #file(path: string, fence: Fence): S3File {
    return { access: this.access, place: placeOf(path), parts: this.#parts(path), fence, writeEmpty: () => this.replaceText(path, '', fence) };
  }

  #parts(path: string): S3Parts {
    return new S3Parts(this.access, placeOf(path));
  }

  async #head(path: string): Promise<ObjectFacts | null> {
    try {
      return await headObject(this.access, placeOf(path));
    } catch (error) {
      if (faultOf(error) === 'no_object') return null;
      throw objectError(error, path);
    }
  }
}

/** In words of its own, or as the error that the run ends with. */
async function said<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw objectError(error, path);
  }
}

function placeOf(path: string): S3Place {
  const place = parseS3Uri(path);
  if (place === null) throw new Error(`${path} names no bucket`);
  return place;
}
