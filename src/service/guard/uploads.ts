/**
 * Parts of batch jobs on their way. Over a slow line one takes longer than a whole request may: in place of that time it is held to a rate, and must not stand still.
 * There are so many at the most, for each has a connection and an open file, and a slow one has them for hours.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ServiceError } from '../errors.ts';
import { checkEveryMs, type Limits } from './limits.ts';
import { Places } from './places.ts';

/** Seconds after which another one may have ended. */
const RETRY_S = '10';

interface Upload {
  readonly over: () => void;
  /** Answers whoever is too slow, and closes the connection. */
  readonly refuse: () => void;
  readonly socket: Socket;
  readonly sinceMs: number;
  /** Bytes of the connection when it began, and at the last look. */
  readonly from: number;
  read: number;
  /** When some had come at the last. */
  movedMs: number;
  /** It was answered, and its rest is waited for until then: for what comes next on the connection. */
  restUntilMs: number | null;
}

export class Uploads {
  readonly #limits: Limits;
  readonly #places: Places;
  readonly #clock: () => number;
  readonly #open = new Map<IncomingMessage, Upload>();
  #timer: NodeJS.Timeout | null = null;

  /** @param clock monotonic, milliseconds */
  constructor(limits: Limits, clock: () => number) {
    this.#limits = limits;
    this.#places = new Places(limits.transfers, limits.transfersPerKey);
    this.#clock = clock;
  }

  /** Whether one comes over this connection: then it is here that its time is looked at. */
  has(socket: Duplex): boolean {
    return [...this.#open.values()].some((upload) => upload.socket === socket);
  }

  /** Until its end, or that of its connection. @param refuse answers it when it is too slow, and closes the connection @throws ServiceError when there are too many, of all or of the key */
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
    this.#open.set(request, { over, refuse, socket, sinceMs: nowMs, from: socket.bytesRead, read: socket.bytesRead, movedMs: nowMs, restUntilMs: null });
    request.once('end', closed);
    socket.once('close', closed);
    this.#timer ??= setInterval(() => this.#look(), checkEveryMs(this.#limits)).unref();
  }

  /** It was answered: what has not come of it has the time of a whole request. */
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
