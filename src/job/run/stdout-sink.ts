import { standardOutputFailure, type StorageError } from '../../util/errors.ts';

const HIGH_WATER_BYTES = 1024 * 1024;

/** Standard output for rows: bounded. It fails when its reader is gone, or the disk behind it. */
export class StdoutSink {
  #failure: StorageError | null = null;

  /** @param hint of the error when the reader is gone */
  constructor(hint: string) {
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      this.#failure = standardOutputFailure(error, hint);
    });
  }

  write(text: string | Buffer): void {
    process.stdout.write(text);
  }

  /** Null when more may be written, else a promise of that. @throws StorageError when the reader is gone */
  room(): Promise<void> | null {
    this.check();
    return process.stdout.writableLength < HIGH_WATER_BYTES ? null : this.#left();
  }

  /** Resolves when everything written has left the process. @throws StorageError when it cannot */
  async drained(): Promise<void> {
    if (this.#failure === null) await this.#left();
    this.check();
  }

  /** @throws StorageError when the reader is gone */
  check(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  async #left(): Promise<void> {
    await new Promise<void>((resolve) => {
      process.stdout.write('', () => resolve());
    });
  }
}
