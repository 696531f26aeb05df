/** The contract of a storage for the job lock: a disk, or S3. Types only. */
import type { Holder } from './holder.ts';

/** The hold of one run on a lock, from its creation to its release. */
export interface LockHandle {
  /** @throws the storage's error */
  isOurs(): Promise<boolean>;
  /** The same, synchronously, as far as that is possible. @throws the storage's error */
  isOursNow(): boolean;
  /** Renews the lock if this run still holds it. @returns true when it does. @throws the storage's error */
  renew(holder: Holder): Promise<boolean>;
  /** Renews the lock durably, for facts that must survive a power cut. */
  record(holder: Holder): Promise<boolean>;
  /** Releases the lock if this run still holds it. Never throws. */
  release(): Promise<void>;
  /** Closes files and leaves the lock. Never throws. */
  close(): Promise<void>;
}

export interface LockStore {
  /** Creates the lock's folder. @throws StorageError */
  prepare(): Promise<void>;
  /** Creates the lock. Null when it exists. @throws StorageError */
  create(holder: Holder): Promise<LockHandle | null>;
  /** Null when the lock does not exist. @throws StorageError */
  read(): Promise<Holder | null>;
  /** The same, synchronously. Null also where that is impossible. */
  readNow(): Holder | null;
  /** Takes over the lock of a stale holder, atomically. @returns `under way` when another run is taking over. @throws StorageError */
  takeOver(expected: Holder, successor: Holder, now: number): Promise<LockHandle | 'changed' | 'under way'>;
  /** Removes files that killed runs have left beside the lock. Never throws. */
  sweep(now: number): Promise<void>;
}
