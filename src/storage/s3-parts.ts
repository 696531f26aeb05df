/**
 * The objects that an unfinished file in S3 is made of, beside it: `<file>.partial.<run>.<number>`; and `<file>.partial`
 * itself, with which its job began, so that no other one may. Each run writes names of
 * its own and none of them twice, so that one that lost the job writes nothing that counts.
 */
import { abortUpload, emptyUploads, type AssembleGuard } from '../s3/assemble.ts';
import { faultOf } from '../s3/failure.ts';
import { headObject, listObjects, type ObjectFacts, type S3Access } from '../s3/objects.ts';
import { deleteObject, getSmall, putSmall } from '../s3/small-object.ts';
import { parseS3Uri, s3Uri, type S3Place } from '../s3/uri.ts';
import { sideBySide } from '../reader/side-by-side.ts';
import type { Fence } from '../checkpoint/fence.ts';
import { partialPath, partOf, partPath } from './names.ts';
import type { KeptPart } from './storage.ts';

const DELETES_AT_ONCE = 16;
const LONGEST_RECORD = 4_096;
/** By which a lifecycle rule may know what abandoned jobs have left. A finished output never has it. */
const TAG = 'millrace=unfinished';

export class S3Parts {
  readonly #access: S3Access;
  readonly #file: S3Place;
  /** Some servers have no tags, and some accounts may not set them. */
  #tagged = true;

  constructor(access: S3Access, file: S3Place) {
    this.#access = access;
    this.#file = file;
  }

  /** @param name as in `KeptPart` */
  place(name: string): S3Place {
    return parseS3Uri(name) ?? { bucket: this.#file.bucket, key: partPath(this.#file.key, name) };
  }

  /** @returns its ETag. @throws as the SDK does */
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

  /** Lets it be seen that the file has begun, before there is a part that says so. @throws as the SDK does, or 75 when the job was lost */
  async begin(fence: Fence): Promise<void> {
    const { bucket, key } = this.#file;
    await fence.check();
    await putSmall(this.#access, { bucket, key: partialPath(key) }, beginning(fence));
  }

  /** The uri of the first of these parts that are other files, and are not what they were; null: none. @throws as the SDK does */
  async replaced(parts: readonly KeptPart[]): Promise<string | null> {
    const versions = new Map(parts.flatMap(({ name, version }) => (version === undefined ? [] : [[name, version]])));
    for (const [uri, version] of versions) if ((await this.#version(uri)) !== version) return uri;
    return null;
  }

  /** What is there, by name. @throws as the SDK does */
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

  /** The uri of anything that is there, be it only what a job begins with; null: nothing. @throws as the SDK does */
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
    await sideBySide(names, DELETES_AT_ONCE, (name) => deleteObject(this.#access, this.place(name)));
  }

  /**
   * Removes what runs before have left and is not needed, and ends the uploads by which they were about to let the file
   * appear. What was listed while the job was ours is no other run's that took it over. @throws as the SDK does, or 75 when the job was lost
   */
  async sweep(needed: (name: string) => boolean, fence: Fence): Promise<void> {
    const names = [...(await this.list()).keys()].filter((name) => !needed(name));
    if (names.length === 0) return;
    await fence.check();
    for (const name of names.filter(isRecord)) await this.#endUpload(name);
    await this.remove(names);
  }

  /** Removes everything. @throws as the SDK does, or 75 when the job was lost */
  async drop(fence: Fence): Promise<void> {
    const { bucket, key } = this.#file;
    await this.sweep(() => false, fence);
    await fence.check();
    await deleteObject(this.#access, { bucket, key: partialPath(key) });
  }

  /**
   * Writes down by which upload the file (`name` null) or one of its parts is about to appear, so that whoever takes the
   * job over can end it; and lets none appear once the job was lost.
   */
  guard(name: string | null, fence: Fence): AssembleGuard {
    const record = (upload: string | null): Promise<unknown> => putSmall(this.#access, this.place(`${fence.id}.upload`), Buffer.from(JSON.stringify({ name, upload })));
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
    // Killed before it could say which: one without a part.
    const uploads = upload === null ? await emptyUploads(this.#access, target, found.modified) : [upload];
    for (const one of uploads) await abortUpload(this.#access, target, one);
  }
}

/** What a job puts where its file is to be, so that no other one begins there. */
export function beginning({ id }: Fence): Buffer {
  return Buffer.from(JSON.stringify({ run: id }));
}

/** It names an upload and holds no rows. */
export function isRecord(name: string): boolean {
  return name.endsWith('.upload');
}
