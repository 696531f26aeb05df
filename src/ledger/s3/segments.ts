/** The objects of a ledger in S3: `<uri>/<run>/<start>-<execution>-<number>.gz`, and `<uri>/purged`. */
import { s3Client } from '../../s3/client.ts';
import { ledgerError } from '../../s3/failure.ts';
import { listObjects, type S3Access } from '../../s3/objects.ts';
import { ConditionalObjects } from '../../s3/conditional-objects.ts';
import { RETRY_POLICY } from '../../s3/retry.ts';
import { getSmall, putSmall } from '../../s3/small-object.ts';
import { parseS3Uri, type S3Location } from '../../s3/uri.ts';
import { ConfigError, StorageError } from '../../util/errors.ts';
import { unpackAnswers, type RunAnswers } from './segment.ts';

/** A segment of this size is full, bytes before compression. */
export const FULL_BYTES = 16 * 1024 * 1024;
/** Larger objects do not belong to a ledger: a full segment is far smaller, even where it does not compress. */
const LARGEST_BYTES = 128 * 1024 * 1024;
const SEGMENT = /^[\w-]+\/\d+-[0-9a-f]+-\d+\.gz$/;
const PURGED = 'purged';

export interface Listed {
  /** Below the ledger's uri. */
  readonly name: string;
  readonly bytes: number;
  /** By the server's clock, milliseconds since 1970: no answer in it is younger. */
  readonly writtenAt: number;
}

/** The contents of a ledger. */
interface Listing {
  /** Changes with each purge; '' before the first. */
  readonly mark: string;
  /** The oldest first, by when they were last written. */
  readonly segments: readonly Listed[];
}

export class Segments {
  readonly uri: string;
  readonly #access: S3Access;
  readonly #place: S3Location;
  readonly #signal: AbortSignal | undefined;
  readonly #conditional: ConditionalObjects;

  private constructor(uri: string, access: S3Access, place: S3Location, signal: AbortSignal | undefined) {
    this.uri = uri;
    this.#access = access;
    this.#place = place;
    this.#signal = signal;
    this.#conditional = new ConditionalObjects(access);
  }

  /** On the environment's S3. @throws ConfigError when the uri names no bucket */
  static async at(uri: string, signal?: AbortSignal): Promise<Segments> {
    return Segments.on({ client: await s3Client(), retryPolicy: RETRY_POLICY }, uri, signal);
  }

  static on(access: S3Access, uri: string, signal?: AbortSignal): Segments {
    const place = parseS3Uri(uri.replace(/\/+$/, ''));
    if (place === null || place.key === '')
      throw new ConfigError('bad_ledger_uri', `The ledger ${uri} names no place in a bucket`, {
        hint: 'Write s3://bucket/name: its parts lie below that name.',
      });
    return new Segments(uri, access, place, signal);
  }

  /** @throws StorageError, ConfigError, or 77 without credentials */
  async list(): Promise<Listing> {
    const prefix = `${this.#place.key}/`;
    const found: Listed[] = [];
    let mark = '';
    await this.#failing('read', async () => {
      for await (const page of listObjects(this.#access, this.#place.bucket, prefix, this.#signal)) {
        for (const { key, size, etag, modifiedAt } of page) {
          const name = key.slice(prefix.length);
          if (name === PURGED) mark = etag;
          else if (SEGMENT.test(name)) found.push({ name, bytes: size, writtenAt: modifiedAt });
        }
      }
    });
    return { mark, segments: found.sort((one, other) => one.writtenAt - other.writtenAt || (one.name < other.name ? -1 : 1)) };
  }

  /** The parts of a segment that begin at that byte or later, and how many bytes it has. */
  async read(
    name: string,
    from: number,
  ): Promise<{ readonly parts: readonly RunAnswers[]; readonly bytes: number; readonly etag: string }> {
    const { bytes, etag = '' } =
      (await this.#failing('read', () => getSmall(this.#access, this.#placeOf(name), LARGEST_BYTES, this.#signal, from))) ?? {};
    if (bytes === undefined)
      throw new StorageError('ledger_failed', `${this.uri}/${name} was removed while the ledger was read`, {
        hint: 'Run the same command again: the job resumes.',
      });
    return { parts: await unpackAnswers(bytes, `${this.uri}/${name}`), bytes: from + bytes.length, etag };
  }

  async write(name: string, bytes: Buffer): Promise<void> {
    await this.#failing('written', () => putSmall(this.#access, this.#placeOf(name), bytes, {}, this.#signal));
  }

  /** Rewrites a segment unless another process has done so since it was read, where the server can tell. Returns whether it was written. */
  async rewrite(name: string, bytes: Buffer, etag: string): Promise<boolean> {
    return (await this.#failing('written', () => this.#conditional.put(this.#placeOf(name), bytes, etag))) !== null;
  }

  /** From now on every copy of the segments is made again. */
  async markPurged(at: Date, nonce: string): Promise<void> {
    await this.write(PURGED, Buffer.from(`${JSON.stringify({ at: at.toISOString(), nonce })}\n`));
  }

  #placeOf(name: string): S3Location {
    return { bucket: this.#place.bucket, key: `${this.#place.key}/${name}` };
  }

  async #failing<T>(what: 'read' | 'written', work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.#signal?.aborted === true ? this.#signal.reason : ledgerError(error, this.uri, what);
    }
  }
}
