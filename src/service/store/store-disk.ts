/** The disk of the store: its free space, and why it refuses writes. */
import { closeSync, fdatasyncSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { isFull, isDiskFailure, systemCodeOf } from '../../sqlite/system-code.ts';

/** Why the store cannot be written. */
export const WRITE_FAILURES = ['store_failed', 'disk_full', 'disk_read_only', 'disk_failed'] as const;
export type WriteFailure = (typeof WRITE_FAILURES)[number];

export interface DiskSpace {
  /** Bytes that this process may still write. */
  readonly free: number;
  readonly total: number;
}

/** Reserved for the store itself: a twentieth of the disk, and at most these bytes. */
const RESERVE_BYTES = 64 * 1024 * 1024;
const RESERVE_SHARE = 1 / 20;
/** A full disk counts as usable again with this much room (at most a twentieth), so that not every second write fails. */
const ROOM_AGAIN_BYTES = 4 * 1024 * 1024;
const PROBE = Buffer.alloc(64 * 1024);

/** Space on the file system of a path; null if the system does not report it. */
export function spaceAt(path: string): DiskSpace | null {
  try {
    const { bavail, blocks, bsize } = statfsSync(path);
    return blocks === 0 ? null : { free: bavail * bsize, total: blocks * bsize };
  } catch {
    return null;
  }
}

/** Whether only the store itself should still write. */
export function isReserveReached(space: DiskSpace | null): boolean {
  return space !== null && space.free < Math.min(RESERVE_BYTES, space.total * RESERVE_SHARE);
}

/**
 * The system's code of a disk failure, such as ENOSPC. SQLite mostly does not report it, so a small file beside the store finds it out.
 * Undefined: that file was written.
 */
export function diskCodeOf(error: unknown, store: string): string | undefined {
  return systemCodeOf(error) ?? probe(store);
}

/** Why a write to the store has failed. */
export function writeFailureOf(error: unknown, store: string): WriteFailure {
  if (isFull(error)) return 'disk_full';
  if (!isDiskFailure(error)) return 'store_failed';
  const code = diskCodeOf(error, store);
  if (code === 'EROFS') return 'disk_read_only';
  return isFull({ code }) ? 'disk_full' : 'disk_failed';
}

/** Whether a disk that was full has room again. */
export function hasRoomAgain(store: string): boolean {
  const space = spaceAt(dirname(store));
  return space === null || space.free >= Math.min(ROOM_AGAIN_BYTES, space.total * RESERVE_SHARE);
}

/** The system's code for a write beside the store; undefined: it was written. */
function probe(store: string): string | undefined {
  const path = `${store}.room-${process.pid}`;
  try {
    const file = openSync(path, 'w', 0o600);
    try {
      writeSync(file, PROBE);
      fdatasyncSync(file);
    } finally {
      closeSync(file);
    }
    return undefined;
  } catch (error) {
    return systemCodeOf(error);
  } finally {
    try {
      rmSync(path, { force: true });
    } catch {
      // The disk is read-only.
    }
  }
}
