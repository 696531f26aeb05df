/** A small disk that can fill up: a tmpfs, which only root may mount. */
import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export interface SmallDisk {
  /** The mount point, until the test ends. */
  readonly path: string;
  /** Keeps every byte occupied, including bytes that are freed meanwhile, until `until` settles. */
  keepFull(until: Promise<unknown>): Promise<void>;
  /** Frees the occupied bytes. */
  free(): void;
}

/** @param size as mount(8) writes it: `256k` */
export function mountSmallDisk(path: string, size: string): SmallDisk {
  mkdirSync(path, { recursive: true });
  mount('-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path);
  onTestFinished(() => void spawnSync('umount', ['-l', path]));
  const filler = join(path, 'filler');
  return {
    path,
    keepFull: async (until) => {
      const over = new AbortController();
      void until.finally(() => over.abort());
      const page = Buffer.alloc(4_096, 'x');
      const file = openSync(filler, 'a');
      while (!over.signal.aborted) {
        try {
          writeSync(file, page);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
      closeSync(file);
    },
    free: () => {
      rmSync(filler, { force: true });
      mount('-o', 'remount,size=64m', path);
    },
  };
}

function mount(...args: readonly string[]): void {
  const { status, stderr } = spawnSync('mount', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`mount ${args.join(' ')}: ${stderr}`);
}
