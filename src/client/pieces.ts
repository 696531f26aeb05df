/** The body of one success, piece by piece. The connection pauses while too much of it waits to be taken. */

/** The call that brings the pieces. */
interface PieceSource {
  resume(): void;
  fail(failure: { readonly code: 'aborted'; readonly detail: string }): void;
}

const MAX_WAITING_BYTES = 64 * 1024;

export class Pieces implements AsyncIterable<Uint8Array> {
  #source: PieceSource | null = null;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #isOver = false;
  #wake: (() => void) | null = null;

  from(source: PieceSource): void {
    this.#source = source;
  }

  /** Returns whether more may come. */
  add(piece: Uint8Array): boolean {
    this.#waiting.push(piece);
    this.#waitingBytes += piece.length;
    this.#wake?.();
    return this.#waitingBytes < MAX_WAITING_BYTES;
  }

  /** No more will come. */
  end(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  /** Leaving early closes the connection. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const pieces = this.#waiting;
        this.#waiting = [];
        this.#waitingBytes = 0;
        yield* pieces;
        if (this.#isOver && this.#waiting.length === 0) return;
        this.#source?.resume();
        if (this.#waiting.length === 0 && !this.#isOver) await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#source?.fail({ code: 'aborted', detail: 'cancelled by the caller' });
    }
  }
}
