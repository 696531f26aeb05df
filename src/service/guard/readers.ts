/**
 * Results of batch jobs that are being read. Who takes them slowly has a connection, an open file and one of few places for as long: what is there for them is to be taken at a rate.
 * How long it takes to find something for them is not theirs: of millions of lines there may be none that was asked for.
 */
import type { Socket } from 'node:net';
import { ServiceError } from '../errors.ts';
import { checkEveryMs, type Limits } from './limits.ts';
import { Places } from './places.ts';

/** Seconds after which somebody may have read to the end. */
const RETRY_S = '10';
/** So many bytes may be gone from what the system holds for a connection before it says that it has room for more: Linux waits for a third of at most 4 MiB. Over a slow line that is minutes, in which nothing is seen to be taken. */
export const UNTOLD_BYTES = 1.5 * 1024 * 1024;

interface Reading {
  readonly socket: Socket;
  /** When it was looked at last, and how many bytes of the connection had been taken by then. */
  lookedMs: number;
  taken: number;
  /** For how long nothing need be taken. */
  slackMs: number;
}

export class Readers {
  readonly #limits: Limits;
  readonly #places: Places;
  readonly #clock: () => number;
  readonly #open = new Set<Reading>();
  #timer: NodeJS.Timeout | null = null;

  /** @param clock monotonic, milliseconds */
  constructor(limits: Limits, clock: () => number) {
    this.#limits = limits;
    this.#places = new Places(limits.transfers, limits.transfersPerKey);
    this.#clock = clock;
  }

  /** Closes the connection of whoever is too slow, until what is returned is called. @throws ServiceError when there are too many, of all or of the key */
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
      // Who was quick has little more than anybody at the start: it would be hours.
      reading.slackMs = Math.min(reading.slackMs + earnedMs - waitedMs, stalledMs + (UNTOLD_BYTES / transferBytesPerS) * 1_000);
      reading.lookedMs = nowMs;
      reading.taken = taken;
      if (reading.slackMs < 0) socket.destroy();
    }
  }
}

/** Bytes that the system has taken of what was written. */
function takenOf({ bytesWritten, writableLength }: Socket): number {
  return bytesWritten - writableLength;
}
