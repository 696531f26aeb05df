/** The job lock as an S3 object. Where the server has conditional writes, they decide which run holds it. */
import { present } from '../util/assert.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { LEASE_MS, lockFailed, parseHolder, unknownHolder, type Holder } from './holder.ts';
import type { LockHandle, LockStore } from './lock-store.ts';
import type { ConditionalObjects } from '../s3/conditional-objects.ts';
import { objectError } from '../s3/failure.ts';
import type { S3Access } from '../s3/objects.ts';
import { LOCK_RETRY_POLICY } from '../s3/retry.ts';
import { deleteObject, getSmall } from '../s3/small-object.ts';
import { parseS3Uri, type S3Location } from '../s3/uri.ts';
import { s3Storage, type S3Storage } from '../storage/s3-storage.ts';

const LONGEST_LOCK = 64 * 1024;
/** Milliseconds to wait without conditional writes. Another run that saw no lock either may take this long to write its own. */
const SETTLE_MS = 5_000;

interface S3LockOptions {
  readonly path: string;
  readonly now: () => number;
  readonly onWeak?: ((message: string) => void) | undefined;
}

export async function s3Lock(options: S3LockOptions): Promise<LockStore> {
  return new S3LockPlace(options, await s3Storage());
}

/** A lock as it was read. */
interface Seen {
  readonly holder: Holder;
  readonly etag: string;
}

export class S3LockPlace implements LockStore {
  readonly #options: S3LockOptions;
  /** Access for a run that waits for the lock. */
  readonly #waitingAccess: S3Access;
  /** Access for the holder, whose lease ends while it waits. */
  readonly #access: S3Access;
  readonly #conditional: ConditionalObjects;
  readonly #place: S3Location;
  #seen: Seen | null = null;

  constructor(options: S3LockOptions, storage: Pick<S3Storage, 'access' | 'conditional'>) {
    this.#options = options;
    this.#waitingAccess = storage.access;
    this.#access = { ...storage.access, retryPolicy: { ...LOCK_RETRY_POLICY, until: storage.access.retryPolicy.until } };
    this.#conditional = storage.conditional;
    this.#place = present(parseS3Uri(options.path), `${options.path} names a bucket`);
  }

  async prepare(): Promise<void> {}

  async create(holder: Holder): Promise<LockHandle | null> {
    // Only the first write shows whether the server honours conditions.
    if ((await this.read()) !== null) return null;
    return this.#take(holder, null);
  }

  async read(): Promise<Holder | null> {
    this.#seen = await this.look(this.#waitingAccess);
    return this.#seen?.holder ?? null;
  }

  // A request cannot be synchronous.
  readNow(): Holder | null {
    return null;
  }

  async takeOver(expected: Holder, successor: Holder): Promise<LockHandle | 'changed'> {
    if (this.#seen?.holder.nonce !== expected.nonce) return 'changed';
    return (await this.#take(successor, this.#seen.etag)) ?? 'changed';
  }

  // The lock is one object, with no files beside it.
  async sweep(): Promise<void> {}

  /** Reads the lock. Its age is measured by the server's clock, so that no machine's clock makes it look stale. */
  async look(access = this.#access): Promise<Seen | null> {
    const { path, now } = this.#options;
    try {
      const found = await getSmall(access, this.#place, LONGEST_LOCK);
      if (found === null) return null;
      const text = found.bytes.toString();
      const holder = parseHolder(text) ?? unknownHolder(text, found.modified);
      return { holder: found.ageMs === null ? holder : { ...holder, renewedAt: now() - found.ageMs }, etag: found.etag };
    } catch (error) {
      throw lockFailed(path, 'read', objectError(error, path));
    }
  }

  /** @returns the new ETag; null when another run has replaced the lock. @throws as the SDK does */
  async write(holder: Holder, expected: string | null): Promise<string | null> {
    const conditional = this.#conditional;
    if (!conditional.supported && expected !== null && (await this.look())?.etag !== expected) return null;
    return conditional.put(this.#place, textOf(holder), expected);
  }

  async remove(): Promise<void> {
    await deleteObject(this.#access, this.#place);
  }

  async #take(holder: Holder, expected: string | null): Promise<LockHandle | null> {
    const { path, onWeak } = this.#options;
    const conditional = this.#conditional;
    try {
      const writtenAt = performance.now();
      let etag = await this.write(holder, expected);
      if (etag !== null && conditional.supported) etag = await conditional.probe(this.#place, textOf(holder), etag);
      if (etag === null) return null;
      if (!conditional.supported) {
        onWeak?.('this S3 server has no conditional writes: two runs that start within the same seconds may not notice each other');
        await sleep(SETTLE_MS);
        if ((await this.look())?.holder.nonce !== holder.nonce) return null;
      }
      return new S3Grip(this, path, holder, etag, writtenAt);
    } catch (error) {
      throw lockFailed(path, 'written', objectError(error, path));
    }
  }
}

class S3Grip implements LockHandle {
  readonly #place: S3LockPlace;
  readonly #path: string;
  #holder: Holder;
  #etag: string;
  /** Monotonic milliseconds, taken before the request was sent. No other run counts the lease from an earlier time. */
  #renewedAt: number;

  constructor(place: S3LockPlace, path: string, holder: Holder, etag: string, renewedAt: number) {
    this.#place = place;
    this.#path = path;
    this.#holder = holder;
    this.#etag = etag;
    this.#renewedAt = renewedAt;
  }

  async isOurs(): Promise<boolean> {
    const found = await this.#place.look();
    if (found?.holder.nonce !== this.#holder.nonce) return false;
    // The lease is over, but no other run has taken the lock. A renewal makes sure that it is ours.
    return this.#isOverdue() ? this.renew(this.#holder) : true;
  }

  isOursNow(): boolean {
    if (this.#isOverdue()) throw new Error(`it could not be renewed for ${LEASE_MS / 1_000} s`);
    return true;
  }

  async renew(holder: Holder): Promise<boolean> {
    const sentAt = performance.now();
    try {
      this.#holder = holder;
      let etag = await this.#place.write(holder, this.#etag);
      if (etag === null) {
        // An earlier renewal may have been written although its answer was lost.
        const found = await this.#place.look();
        if (found?.holder.nonce !== holder.nonce) return false;
        etag = await this.#place.write(holder, found.etag);
      }
      if (etag === null) return false;
      this.#etag = etag;
      this.#renewedAt = sentAt;
      return true;
    } catch (error) {
      throw objectError(error, this.#path);
    }
  }

  record(holder: Holder): Promise<boolean> {
    return this.renew(holder);
  }

  async release(): Promise<void> {
    await this.#place.remove().catch(() => undefined);
  }

  async close(): Promise<void> {}

  #isOverdue(): boolean {
    return performance.now() - this.#renewedAt > LEASE_MS;
  }
}

function textOf(holder: Holder): Buffer {
  return Buffer.from(JSON.stringify(holder));
}
