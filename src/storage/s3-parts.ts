/**
 * The objects of an unfinished file in S3: `<file>.partial.<run>.<number>`. The object `<file>.partial` claims the name, so that no second
 * job begins there.
 * Each run writes names of its own, each of them once. A run that lost the job cannot overwrite an object that counts.
 */
import { abortUpload, emptyUploads, type AssembleGuard } from '../s3/assemble.ts';
import { faultOf } from '../s3/failure.ts';
import { headObject, listObjects, type ObjectFacts, type S3Access } from '../s3/objects.ts';
import { deleteObject, getSmall, putSmall } from '../s3/small-object.ts';
import { parseS3Uri, s3Uri, type S3Location } from '../s3/uri.ts';
import { mapConcurrently } from '../util/map-concurrently.ts';
import type { Fence } from './fence.ts';
import { partialPath, partOf, partPath } from './names.ts';
import type { StoredPart } from './storage.ts';

const DELETES_AT_ONCE = 16;
const LONGEST_RECORD = 4_096;
/** A tag for lifecycle rules that remove the parts of abandoned jobs. A finished output never has it. */
const TAG = 'millrace=unfinished';

export class S3Parts {
  readonly #access: S3Access;
  readonly #file: S3Location;
  /** False for servers without tags and accounts that may not set them. */
  #tagged = true;

  constructor(access: S3Access, file: S3Location) {
    this.#access = access;
    this.#file = file;
  }

  /** @param name as in `StoredPart` */
  place(name: string): S3Location {
    return parseS3Uri(name) ?? { bucket: this.#file.bucket, key: partPath(this.#file.key, name) };
  }

  /** @returns the ETag. @throws as the SDK does */
  async put(name: string, bytes: Buffer, signal?: AbortSignal): Promise<string> {
    if (this.#tagged) {
      try {
        return await putSmall(this.#access, this.place(name), bytes, { Tagging: TAG }, signal);
      } catch (error) {
        if (!['denied', 'refused', 'unsupported'].includes(faultOf(error))) throw error;
      }
    }
    const etag = await putSmall(this.#access, this.place(name), bytes, {}, signal);
    this.#tagged = false;
    return etag;
  }

  /** Marks the file as begun, before its first part exists. @throws as the SDK does, or MillraceError 75 when the job was lost */
  async begin(fence: Fence): Promise<void> {
    const { bucket, key } = this.#file;
    await fence.check();
    await putSmall(this.#access, { bucket, key: partialPath(key) }, beginning(fence));
  }

  /** The uri of the first part that lies in another file and has changed. Null when all are unchanged. @throws as the SDK does */
  async replaced(parts: readonly StoredPart[]): Promise<string | null> {
    const versions = new Map(parts.flatMap(({ name, version }) => (version === undefined ? [] : [[name, version]])));
    for (const [uri, version] of versions) if ((await this.#version(uri)) !== version) return uri;
    return null;
  }

  /** The existing objects by name. @throws as the SDK does */
  async list(): Promise<Map<string, ObjectFacts>> {
    const found = new Map<string, ObjectFacts>();
    const { bucket, key } = this.#file;
    for await (const page of listObjects(this.#access, bucket, `${partialPath(key)}.`)) {
      for (const one of page) {
        const part = partOf(one.key);
        if (part?.finalPath === key) found.set(part.name, one);
      }
    }
    return found;
  }

  /**
   * The uri of any existing object of the unfinished file, including the mark of its beginning. Null without one. @throws as the SDK does
   */
  async first(): Promise<string | null> {
    const { bucket, key } = this.#file;
    for await (const page of listObjects(this.#access, bucket, partialPath(key))) {
      const found = page.find((one) => one.key === partialPath(key) || partOf(one.key)?.finalPath === key);
      if (found !== undefined) return s3Uri(bucket, found.key);
    }
    return null;
  }

  /** @throws as the SDK does */
  async remove(names: readonly string[]): Promise<void> {
    await mapConcurrently(names, DELETES_AT_ONCE, (name) => deleteObject(this.#access, this.place(name)));
  }

  /**
   * Removes unneeded objects of earlier runs, and aborts the uploads by which those runs were about to publish the file.
   * Objects listed while this run holds the job cannot belong to a successor. @throws as the SDK does, or MillraceError 75 when the job was
   * lost
   */
  async sweep(needed: (name: string) => boolean, fence: Fence): Promise<void> {
    const names = [...(await this.list()).keys()].filter((name) => !needed(name));
    if (names.length === 0) return;
    await fence.check();
    for (const name of names.filter(isRecord)) await this.#endUpload(name);
    await this.remove(names);
  }

  /** Removes all objects. @throws as the SDK does, or MillraceError 75 when the job was lost */
  async drop(fence: Fence): Promise<void> {
    const { bucket, key } = this.#file;
    await this.sweep(() => false, fence);
    await fence.check();
    await deleteObject(this.#access, { bucket, key: partialPath(key) });
  }

  /**
   * Records the id of the upload that is about to publish the file (`name` null) or one of its parts. A successor can then abort it.
   * The upload does not complete after the job was lost.
   */
  guard(name: string | null, fence: Fence): AssembleGuard {
    const record = (upload: string | null): Promise<unknown> =>
      putSmall(this.#access, this.place(`${fence.id}.upload`), Buffer.from(JSON.stringify({ name, upload })));
    return {
      begins: async () => void (await record(null)),
      begun: async (upload) => void (await record(upload)),
      check: () => fence.check(),
    };
  }

  async #version(name: string): Promise<string | null> {
    try {
      return (await headObject(this.#access, this.place(name))).etag;
    } catch (error) {
      if (faultOf(error) === 'no_object') return null;
      throw error;
    }
  }

  async #endUpload(record: string): Promise<void> {
    const found = await getSmall(this.#access, this.place(record), LONGEST_RECORD);
    if (found === null) return;
    const { name, upload } = JSON.parse(found.bytes.toString()) as { readonly name: string | null; readonly upload: string | null };
    const target = name === null ? this.#file : this.place(name);
    // The run was killed before it could record the id: any upload without a part may be its.
    const uploads = upload === null ? await emptyUploads(this.#access, target, found.modified) : [upload];
    for (const one of uploads) await abortUpload(this.#access, target, one);
  }
}

/** The content of the object that claims the name of a job's file. */
export function beginning({ id }: Fence): Buffer {
  return Buffer.from(JSON.stringify({ run: id }));
}

/** True for an object that records an upload and holds no rows. */
export function isRecord(name: string): boolean {
  return name.endsWith('.upload');
}
