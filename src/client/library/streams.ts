/** Records that arrive one at a time: NDJSON, and the live stream of events. */
import { DataServiceError } from '../data-service-error.ts';
import type { Call, Caller } from './caller.ts';
import { EventReader, LineReader } from './lines.ts';
import type { ShapeName } from './shapes.ts';

/** Three heartbeats of the service. */
const SILENCE_MS = 45_000;

/**
 * The records of an NDJSON answer. Leaving the loop closes the connection.
 * @param numberOf numbers a record: with it a broken stream goes on behind its last record. Without it, only before its first
 */
export async function* ndjson<T>(
  caller: Caller,
  shape: ShapeName,
  call: Call,
  numberOf: ((record: T) => number) | null,
): AsyncGenerator<T> {
  const retries = caller.retries();
  const asked: Call = { ...call, headers: { ...call.headers, accept: 'application/x-ndjson' } };
  let last = 0;
  let hasBegun = false;
  for (;;) {
    try {
      for await (const line of linesOf(caller, asked)) {
        const record = caller.parse(asked, { status: 200, headers: {}, text: line }, shape) as T;
        const number = numberOf?.(record) ?? Infinity;
        if (number <= last) continue;
        if (numberOf !== null) last = number;
        hasBegun = true;
        retries.restart();
        yield record;
      }
      return;
    } catch (error) {
      if (!(error instanceof DataServiceError) || (hasBegun && numberOf === null)) throw error;
      await caller.pause(retries.pauseAfter(error), call.signal);
    }
  }
}

async function* linesOf(caller: Caller, call: Call): AsyncGenerator<string> {
  const reader = new LineReader();
  for await (const piece of caller.pieces(call)) {
    for (const line of reader.feed(piece)) if (line.trim() !== '') yield line;
  }
  yield* reader.end();
}

/** Records as they become known, without an end. It connects again by itself, behind the last event. Leaving the loop closes it. */
export class EventStream<T> implements AsyncIterable<T> {
  /** The id of the last event that was returned. A later stream that gets it goes on there. */
  lastEventId: string | null;
  readonly #caller: Caller;
  readonly #shape: ShapeName;
  readonly #call: Call;

  /** @internal */
  constructor(caller: Caller, shape: ShapeName, call: Call, lastEventId: string | null) {
    this.#caller = caller;
    this.#shape = shape;
    this.#call = call;
    this.lastEventId = lastEventId;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    const caller = this.#caller;
    const retries = caller.retries();
    for (;;) {
      const resumed = this.lastEventId === null ? {} : { 'last-event-id': this.lastEventId };
      const call: Call = { ...this.#call, headers: { accept: 'text/event-stream', ...resumed } };
      try {
        const lines = new LineReader();
        const events = new EventReader();
        for await (const piece of caller.pieces(call, Math.max(SILENCE_MS, caller.timeoutMs))) {
          for (const line of lines.feed(piece)) {
            const event = events.line(line);
            if (event === null) continue;
            const record = caller.parse(call, { status: 200, headers: {}, text: event.data }, this.#shape) as T;
            this.lastEventId = event.id ?? this.lastEventId;
            retries.restart();
            yield record;
          }
        }
        throw caller.bad(call, 'the stream ended');
      } catch (error) {
        if (!(error instanceof DataServiceError)) throw error;
        await caller.pause(retries.pauseAfter(error), call.signal);
      }
    }
  }
}
