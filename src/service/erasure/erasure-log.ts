/**
 * The erasure log: a file beside the store that lists its erasures. When the store is lost and a backup replaces it, the erasures are still
 * known.
 */
import { closeSync, existsSync, fdatasyncSync, openSync, readFileSync, writeSync } from 'node:fs';

/** The digest of an erased person's key, and the time of the erasure, epoch milliseconds. */
export interface Erasure {
  readonly digest: Uint8Array;
  readonly atMs: number;
}

export function erasureLogOf(store: string): string {
  return `${store}.erased`;
}

/**
 * Appends digests and flushes the file. A new line starts first, so that a line truncated by a crash spoils no other.
 * @param store path of the store
 * @throws the file system's errors
 */
export function logErasures(store: string, digests: readonly Uint8Array[], atMs: number): void {
  if (digests.length === 0) return;
  const file = openSync(erasureLogOf(store), 'a', 0o600);
  try {
    const lines = Buffer.from(`\n${digests.map((digest) => `${atMs} ${Buffer.from(digest).toString('hex')}\n`).join('')}`);
    for (let done = 0; done < lines.length;) done += writeSync(file, lines, done);
    fdatasyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Every complete entry in a store's log; null when the log does not exist. @param store path of the store */
export function readErasures(store: string): Erasure[] | null {
  const path = erasureLogOf(store);
  if (!existsSync(path)) return null;
  return [...readFileSync(path, 'latin1').matchAll(/^(\d{1,15}) ([0-9a-f]{64})$/gm)].map(([, at, hex]) => ({
    atMs: Number(at),
    digest: Buffer.from(hex as string, 'hex'),
  }));
}
