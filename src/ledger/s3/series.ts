import { randomBytes } from 'node:crypto';
import { packAnswers, type RunAnswers } from './segment.ts';
import { FULL_BYTES } from './segments.ts';

/** Where segments go. */
interface SegmentSink {
  write(name: string, bytes: Buffer): Promise<void>;
}

/**
 * The segments of one execution. The last one grows: it is rewritten, longer, until it is full, so that objects are few. No other execution
 * writes under these names: an execution that was paused and lost the job cannot overwrite its successor's segments.
 */
export class SegmentSeries {
  readonly #sink: SegmentSink;
  readonly #prefix: string;
  readonly #fullBytes: number;
  #number = 1;
  #members: Buffer[] = [];
  #plainBytes = 0;
  #written = true;

  /** @param now milliseconds since 1970 */
  constructor(sink: SegmentSink, run: string, now: number, fullBytes = FULL_BYTES) {
    this.#sink = sink;
    this.#prefix = `${run}/${now}-${randomBytes(8).toString('hex')}`;
    this.#fullBytes = fullBytes;
  }

  get #name(): string {
    return `${this.#prefix}-${String(this.#number).padStart(6, '0')}.gz`;
  }

  /** Adds a part; durable when `write` has returned. */
  async add(part: RunAnswers): Promise<void> {
    if (this.#plainBytes >= this.#fullBytes) await this.#begin();
    const { packed, plainBytes } = await packAnswers(part);
    this.#members.push(packed);
    this.#plainBytes += plainBytes;
    this.#written = false;
  }

  /** Makes all that was added durable. */
  async write(): Promise<void> {
    if (this.#written) return;
    const bytes = Buffer.concat(this.#members);
    await this.#sink.write(this.#name, bytes);
    this.#members = [bytes];
    this.#written = true;
  }

  async #begin(): Promise<void> {
    await this.write();
    this.#number++;
    this.#members = [];
    this.#plainBytes = 0;
  }
}
