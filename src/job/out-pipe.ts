import { standardOutputFailure, type StorageError } from '../errors.ts';

const HIGH_WATER_BYTES = 1024 * 1024;

/** Standard output for rows: bounded, and it knows when nobody reads any more, or the disk behind it fails. */
export class OutPipe {
  #failure: StorageError | null = null;

  /** @param hint what whoever stopped reading may do instead */
  constructor(hint: string) {
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      this.#failure = standardOutputFailure(error, hint);
    });
  }

  write(text: string | Buffer): void {
    process.stdout.write(text);
  }

  /** Null when more may be written, else a promise of that. @throws StorageError when nobody reads any more */
  room(): Promise<void> | null {
    this.check();
    return process.stdout.writableLength < HIGH_WATER_BYTES ? null : this.#left();
  }

  /** Resolves when all that was written has left. @throws StorageError when it cannot */
  async drained(): Promise<void> {
    if (this.#failure === null) await this.#left();
    this.check();
  }

  /** @throws StorageError when nobody reads any more */
  check(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  async #left(): Promise<void> {
    await new Promise<void>((resolve) => {
      process.stdout.write('', () => resolve());
    });
  }
}
