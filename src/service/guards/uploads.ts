/**
 * Uploads of batch parts. Over a slow line one takes longer than a request may, so it has a minimum rate instead, and must not stall.
 * Their number is limited, because each holds a connection and an open file, and a slow one holds them for hours.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ServiceError } from '../http/problem.ts';
import { checkEveryMs, type Limits } from './limits.ts';
import { KeyedSemaphore } from './semaphore.ts';

/** The `Retry-After` when all slots are taken, seconds. */
const RETRY_S = '10';

interface Upload {
  readonly over: () => void;
  /** Answers a client that is too slow, and closes the connection. */
  readonly refuse: () => void;
  readonly socket: Socket;
  readonly sinceMs: number;
  /** Bytes of the connection at the start, and at the last check. */
  readonly from: number;
  read: number;
  /** The last arrival of bytes. */
  movedMs: number;
  /** After an early answer the rest of the body may arrive until then, for the next request on the connection. Null before. */
  restUntilMs: number | null;
}

export class Uploads {
  readonly #limits: Limits;
  readonly #places: KeyedSemaphore;
  readonly #clock: () => number;
  readonly #open = new Map<IncomingMessage, Upload>();
  #timer: NodeJS.Timeout | null = null;

  /** @param clock monotonic, milliseconds */
  constructor(limits: Limits, clock: () => number) {
    this.#limits = limits;
    this.#places = new KeyedSemaphore(limits.transfers, limits.transfersPerKey);
    this.#clock = clock;
  }

  /** Whether an upload runs on this connection: then this class checks its time. */
  has(socket: Duplex): boolean {
    return [...this.#open.values()].some((upload) => upload.socket === socket);
  }

  /**
   * Watches an upload until its end, or the end of its connection.
   * @param refuse answers an upload that is too slow, and closes the connection
   * @throws ServiceError when too many uploads run, in all or of the key
   */
  begin(keyId: string, request: IncomingMessage, refuse: () => void): void {
    const leave = this.#places.take(keyId);
    if (leave === null) throw new ServiceError('overloaded', 'too many parts are on their way', { headers: { 'retry-after': RETRY_S } });
    const { socket } = request;
    const nowMs = this.#clock();
    const closed = (): void => this.#close(request);
    const over = (): void => {
      leave();
      // The connection may bring many.
      socket.off('close', closed);
    };
    this.#open.set(request, {
      over,
      refuse,
      socket,
      sinceMs: nowMs,
      from: socket.bytesRead,
      read: socket.bytesRead,
      movedMs: nowMs,
      restUntilMs: null,
    });
    request.once('end', closed);
    socket.once('close', closed);
    this.#timer ??= setInterval(() => this.#look(), checkEveryMs(this.#limits)).unref();
  }

  /** The upload was answered: the rest of its body has the time of a complete request. */
  answered(request: IncomingMessage): void {
    const upload = this.#open.get(request);
    if (upload !== undefined) upload.restUntilMs = this.#clock() + this.#limits.requestTimeoutMs;
  }

  #close(request: IncomingMessage): void {
    this.#open.get(request)?.over();
    this.#open.delete(request);
    if (this.#open.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #look(): void {
    const nowMs = this.#clock();
    for (const [request, upload] of this.#open) {
      const { socket, restUntilMs } = upload;
      if (socket.bytesRead > upload.read) upload.movedMs = nowMs;
      upload.read = socket.bytesRead;
      const isLate = restUntilMs === null ? this.#isTooSlow(upload, nowMs) : nowMs > restUntilMs;
      if (!isLate) continue;
      this.#close(request);
      if (restUntilMs === null) upload.refuse();
      else socket.destroy();
    }
  }

  #isTooSlow({ sinceMs, from, read, movedMs }: Upload, nowMs: number): boolean {
    const { requestTimeoutMs, stalledMs, transferBytesPerS } = this.#limits;
    const due = ((nowMs - sinceMs - requestTimeoutMs) / 1_000) * transferBytesPerS;
    return nowMs - movedMs > stalledMs || read - from < due;
  }
}
