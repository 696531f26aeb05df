/** The erasures of a store in a file of its own beside it, so that they are known when the store is lost and a backup takes its place. */
import { closeSync, existsSync, fdatasyncSync, openSync, readFileSync, writeSync } from 'node:fs';

/** A digest of what somebody was known by, and when it was erased, epoch milliseconds. */
export interface Erasure {
  readonly digest: Uint8Array;
  readonly atMs: number;
}

export function erasureLogOf(store: string): string {
  return `${store}.erased`;
}

/** Appends digests, flushed. A line that a crash cut off is followed by an empty one, and spoils no other. @param store its path @throws what the disk says */
export function logErasures(store: string, digests: readonly Uint8Array[], atMs: number): void {
  if (digests.length === 0) return;
  const file = openSync(erasureLogOf(store), 'a', 0o600);
  try {
    const lines = Buffer.from(`\n${digests.map((digest) => `${atMs} ${Buffer.from(digest).toString('hex')}\n`).join('')}`);
    for (let done = 0; done < lines.length; ) done += writeSync(file, lines, done);
    fdatasyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** All that is in the log of a store; null: there is none. Lines that were cut off are left out. @param store its path */
export function readErasures(store: string): Erasure[] | null {
  const path = erasureLogOf(store);
  if (!existsSync(path)) return null;
  return [...readFileSync(path, 'latin1').matchAll(/^(\d{1,15}) ([0-9a-f]{64})$/gm)].map(([, at, hex]) => ({ atMs: Number(at), digest: Buffer.from(hex as string, 'hex') }));
}
