/** S3 as the storage of a job's files. */
import { present } from '../util/assert.ts';
import { createHash } from 'node:crypto';
import type { Fence } from './fence.ts';
import { assemble } from '../s3/assemble.ts';
import { s3Client } from '../s3/client.ts';
import { ConditionalObjects } from '../s3/conditional-objects.ts';
import { faultOf, objectError } from '../s3/failure.ts';
import { headObject, type ObjectFacts, type S3Access } from '../s3/objects.ts';
import { RETRY_POLICY, type RetryPolicy } from '../s3/retry.ts';
import { readObject } from '../s3/read-object.ts';
import { deleteObject, getSmall } from '../s3/small-object.ts';
import { parseS3Uri, type S3Location } from '../s3/uri.ts';
import { LACKS_PARTS, begunByAnother } from './failure.ts';
import { partialPath } from './names.ts';
import { flawOf } from './part-list.ts';
import { S3GrowingFile, type S3File } from './s3-growing-file.ts';
import { beginning, isRecord, S3Parts } from './s3-parts.ts';
import { reopenedParts } from './part-sizes.ts';
import type { ResumeState, Storage } from './storage.ts';
import { runScope } from '../util/run-scope.ts';

const CHUNK_BYTES = 1024 * 1024;
/** Bytes. A longer text was not written by Millrace. */
const LONGEST_TEXT = 256 * 1024 * 1024;

/** Each request ends with the run that sends it. */
const OF_THE_RUN: RetryPolicy = {
  ...RETRY_POLICY,
  get until() {
    return runScope().lastWords;
  },
};

/** Shared by the process, so that its knowledge of the server and of written texts serves each run. */
let shared: Promise<S3Storage> | null = null;

export function s3Storage(): Promise<S3Storage> {
  return (shared ??= s3Client().then((client) => new S3Storage({ client, retryPolicy: OF_THE_RUN })));
}

export class S3Storage implements Storage {
  readonly access: S3Access;
  readonly conditional: ConditionalObjects;
  /** ETags of the texts that this process wrote last. */
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
    // The ETag was read before the lock is checked, so it existed while the job belonged to this run.
    const before = this.#written.get(path) ?? (await this.#head(path))?.etag ?? null;
    await fence.check();
    // The outcome of the write is unknown until the answer arrives.
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

  async isUnchanged(
    path: string,
    { bytes, sha256, version }: { bytes: number; sha256: string; version?: string | undefined },
  ): Promise<boolean> {
    const found = await this.#head(path);
    if (found === null || found.size !== bytes) return false;
    if (found.etag === version) return true;
    return (await said(path, this.#sha256Of(placeOf(path), found))) === sha256;
  }

  async #sha256Of(place: S3Location, { etag, size }: ObjectFacts): Promise<string> {
    const hash = createHash('sha256');
    for await (const chunk of readObject(this.access, { ...place, etag }, { start: 0, end: size }, { chunkBytes: CHUNK_BYTES }))
      hash.update(chunk);
    return hash.digest('hex');
  }

  async version(path: string): Promise<string | undefined> {
    return (await this.#head(path))?.etag;
  }

  async open(path: string, size: number, kept: ResumeState | undefined, fence: Fence, isFirst = false): Promise<S3GrowingFile> {
    if (isFirst) {
      const etag = await said(path, this.conditional.put(placeOf(partialPath(path)), beginning(fence), null));
      if (etag === null) throw begunByAnother(partialPath(path));
    }
    return S3GrowingFile.open(this.#file(path, fence), size, kept);
  }

  async flaw(path: string, size: number, kept: ResumeState | undefined): Promise<string | null> {
    if (size === 0) return null;
    return kept === undefined ? LACKS_PARTS : said(path, flawOf(this.access, this.#parts(path), size, kept));
  }

  async unfinished(path: string): Promise<string | null> {
    return said(path, this.#parts(path).first());
  }

  async reopen(path: string, size: number, sha: string | undefined, fence: Fence): Promise<ResumeState | undefined> {
    const found = await this.#head(path);
    if (found === null || size === 0 || sha === undefined) return undefined;
    const parts = this.#parts(path);
    const name = `${fence.id}.0`;
    // A server-side copy: a resume reads it, whatever happens to the finished file meanwhile.
    const sources = reopenedParts(found.size).map(({ at, bytes }) => ({ place: placeOf(path), at, bytes }));
    await said(path, assemble(this.access, parts.place(name), sources, parts.guard(name, fence)));
    return { parts: reopenedParts(size).map((range) => ({ name, ...range })), sha };
  }

  async dropUnfinished(path: string, fence: Fence): Promise<void> {
    // The same command, given again, removes what cannot be removed now.
    await this.#parts(path)
      .drop(fence)
      .catch(() => undefined);
  }

  async sweep(path: string, fence: Fence): Promise<void> {
    await said(
      path,
      this.#parts(path).sweep((name) => !isRecord(name), fence),
    );
  }

  // A run writes no part under a name that another run uses, so nothing needs to be revoked.
  async revokeUnfinished(): Promise<void> {}

  async revokeText(path: string, fence: Fence): Promise<void> {
    for (;;) {
      const found = await said(path, getSmall(this.access, placeOf(path), LONGEST_TEXT));
      if (found === null) return;
      await fence.check();
      // Other content gives another ETag than any that an earlier run knows, so its conditional writes fail.
      const etag = await said(path, this.conditional.put(placeOf(path), Buffer.concat([found.bytes, Buffer.from('\n')]), found.etag));
      if (etag !== null) return void this.#written.set(path, etag);
    }
  }

  #file(path: string, fence: Fence): S3File {
    return {
      access: this.access,
      place: placeOf(path),
      parts: this.#parts(path),
      fence,
      writeEmpty: () => this.replaceText(path, '', fence),
    };
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

/** Turns a failure into an S3Failure, or into the error that ends the run. */
async function said<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw objectError(error, path);
  }
}

function placeOf(path: string): S3Location {
  return present(parseS3Uri(path), `${path} names a bucket`);
}
