/** What a job's lock needs of the place that it lies in: a disk, or S3. Types only. */
import type { Holder } from './holder.ts';

/** One holder's hold on a lock, from when it was made to when it is let go. */
export interface Grip {
  /** @throws what the place says */
  isOurs(): Promise<boolean>;
  /** The same for where one cannot wait, as far as it can be known at once. @throws what the place says */
  isOursNow(): boolean;
  /** Says anew who holds it, if it is still ours. @returns whether it is. @throws what the place says */
  renew(holder: Holder): Promise<boolean>;
  /** The same, durably, for what must not be forgotten. */
  record(holder: Holder): Promise<boolean>;
  /** Nobody holds it any more, if it was still ours. Never throws. */
  letGo(): Promise<void>;
  /** Leaves it as it is. Never throws. */
  close(): Promise<void>;
}

export interface LockPlace {
  /** Makes the folder that it lies in. @throws StorageError */
  prepare(): Promise<void>;
  /** Makes the lock. Null: it exists. @throws StorageError */
  create(holder: Holder): Promise<Grip | null>;
  /** Null when there is none. @throws StorageError */
  read(): Promise<Holder | null>;
  /** The same without waiting; null also where that cannot be. */
  readNow(): Holder | null;
  /** Takes the place of a stale holder, at once and alone. `under way`: somebody else is taking it. @throws StorageError */
  succeed(expected: Holder, successor: Holder, now: number): Promise<Grip | 'changed' | 'under way'>;
  /** Removes what was left by runs that were killed while they took it or let it go. Never throws. */
  sweep(now: number): Promise<void>;
}
