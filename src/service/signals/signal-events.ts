/** Signals as server-sent events (WHATWG HTML 9.2): what is known first, then whatever becomes known, with a heartbeat in between. */
import { setTimeout as sleep } from 'node:timers/promises';
import { KeyedSemaphore } from '../guards/semaphore.ts';
import type { Signal } from '../store/rows/signal-feed.ts';
import type { SignalText } from './signal-text.ts';

const HEARTBEAT_MS = 15_000;
/** How often the store is asked for what others imported. */
const POLL_MS = 500;
/** The wait before a client reconnects. */
const RECONNECT_MS = 3_000;
const MAX_STREAMS = 1_000;
const MAX_STREAMS_A_KEY = 50;

/** The streams that are open: counted, and ended together. */
export class EventStreams {
  readonly #places = new KeyedSemaphore(MAX_STREAMS, MAX_STREAMS_A_KEY);
  readonly #open = new Set<AbortController>();
  #closed = false;

  /** A place for one more, given back when it is aborted; null when there is none. */
  open(keyId: string): AbortController | null {
    const leave = this.#closed ? null : this.#places.take(keyId);
    if (leave === null) return null;
    const stream = new AbortController();
    this.#open.add(stream);
    stream.signal.addEventListener(
      'abort',
      () => {
        this.#open.delete(stream);
        leave();
      },
      { once: true },
    );
    return stream;
  }

  get size(): number {
    return this.#open.size;
  }

  close(): void {
    this.#closed = true;
    for (const stream of this.#open) stream.abort();
  }
}

/** A signal as an event. Its id is its place in the stream, which `Last-Event-ID` brings back. */
export function writeEvent({ seq, record }: Signal): string {
  return `id: ${seq}\nevent: ${String(record['type'])}\ndata: ${JSON.stringify(record)}\n\n`;
}

/**
 * Text of events behind `from`, until `stop` or until `mayHear` says no.
 * @param next the text of the events behind a position
 */
export async function* signalEvents(
  next: (from: number) => SignalText | Promise<SignalText>,
  from: number,
  mayHear: () => boolean,
  stop: AbortSignal,
): AsyncGenerator<string> {
  yield `retry: ${RECONNECT_MS}\n\n`;
  let seq = from;
  let silentMs = 0;
  while (!stop.aborted && mayHear()) {
    const { text, count, upTo } = await next(seq);
    const moved = upTo > seq;
    seq = upTo;
    if (count > 0) {
      silentMs = 0;
      yield text;
    }
    if (moved) continue;
    await sleep(POLL_MS, undefined, { signal: stop, ref: false }).catch(() => undefined);
    silentMs += POLL_MS;
    if (silentMs < HEARTBEAT_MS || stop.aborted) continue;
    silentMs = 0;
    yield ': still here\n\n';
  }
}
