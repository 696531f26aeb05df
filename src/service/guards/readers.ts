/**
 * Downloads of batch results. A slow client holds a connection, an open file and one of few slots, so it must read at a minimum rate.
 * Time in which the service looks for matching lines does not count: among millions of lines there may be none.
 */
import type { Socket } from 'node:net';
import { ServiceError } from '../http/problem.ts';
import { checkEveryMs, type Limits } from './limits.ts';
import { KeyedSemaphore } from './semaphore.ts';

/** The `Retry-After` when all slots are taken, seconds. */
const RETRY_S = '10';
/**
 * Bytes that a client may read before the system reports it: Linux waits for a third of a send buffer of at most 4 MiB. Over a slow line
 * that takes minutes without visible progress.
 */
export const UNTOLD_BYTES = 1.5 * 1024 * 1024;

interface Reading {
  readonly socket: Socket;
  /** The last check, and the bytes that had been read by then. */
  lookedMs: number;
  taken: number;
  /** How long the client may still read nothing. */
  slackMs: number;
}

export class Readers {
  readonly #limits: Limits;
  readonly #places: KeyedSemaphore;
  readonly #clock: () => number;
  readonly #open = new Set<Reading>();
  #timer: NodeJS.Timeout | null = null;

  /** @param clock monotonic, milliseconds */
  constructor(limits: Limits, clock: () => number) {
    this.#limits = limits;
    this.#places = new KeyedSemaphore(limits.transfers, limits.transfersPerKey);
    this.#clock = clock;
  }

  /**
   * Closes the connection when the client is too slow, until the returned function is called.
   * @throws ServiceError when too many downloads run, in all or of the key
   */
  begin(keyId: string, socket: Socket): () => void {
    const leave = this.#places.take(keyId);
    if (leave === null) throw new ServiceError('overloaded', 'too many results are being read', { headers: { 'retry-after': RETRY_S } });
    const reading = { socket, lookedMs: this.#clock(), taken: takenOf(socket), slackMs: this.#limits.stalledMs };
    this.#open.add(reading);
    this.#timer ??= setInterval(() => this.#look(), checkEveryMs(this.#limits)).unref();
    return () => {
      leave();
      this.#open.delete(reading);
      if (this.#open.size > 0 || this.#timer === null) return;
      clearInterval(this.#timer);
      this.#timer = null;
    };
  }

  #look(): void {
    const nowMs = this.#clock();
    const { stalledMs, transferBytesPerS } = this.#limits;
    for (const reading of this.#open) {
      const { socket } = reading;
      const taken = takenOf(socket);
      const waitedMs = socket.writableLength > 0 ? nowMs - reading.lookedMs : 0;
      const earnedMs = ((taken - reading.taken) / transferBytesPerS) * 1_000;
      // The slack of a fast client is capped, or it could stall for hours.
      reading.slackMs = Math.min(reading.slackMs + earnedMs - waitedMs, stalledMs + (UNTOLD_BYTES / transferBytesPerS) * 1_000);
      reading.lookedMs = nowMs;
      reading.taken = taken;
      if (reading.slackMs < 0) socket.destroy();
    }
  }
}

/** Written bytes that the system has taken. */
function takenOf({ bytesWritten, writableLength }: Socket): number {
  return bytesWritten - writableLength;
}
