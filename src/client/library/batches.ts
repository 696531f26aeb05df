/** `client.batches`: files of up to ten million lines. */
import { createReadStream } from 'node:fs';
import type { CallOptions } from '../attempt-client.ts';
import { DataServiceError } from '../data-service-error.ts';
import type { Caller } from './caller.ts';
import { fileLines, PartCutter, toLine } from './lines.ts';
import type { Batch, BatchFormat, BatchLine, BatchLineStatus, BatchPart } from './models.ts';
import { Pager } from './pager.ts';
import type { BatchParams } from './params.ts';
import { pathOf, queryOf } from './paths.ts';
import { ndjson } from './streams.ts';

const SETTLED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'expired', 'paused']);
const TYPES: Readonly<Record<string, string>> = { ndjson: 'application/x-ndjson', csv: 'text/csv' };
const FIRST_POLL_MS = 1_000;
const MAX_POLL_MS = 10_000;
const POLL_GROWTH = 1.5;

export type BatchInput = object | string;

export interface BatchContent {
  /** Objects, or texts of one line each. */
  readonly lines?: Iterable<BatchInput> | AsyncIterable<BatchInput>;
  /** Path of a file; a name that ends in `.csv` gives the format `csv`. */
  readonly file?: string;
}

export interface WaitOptions {
  readonly signal?: AbortSignal;
  /** Then it gives up. Default: never. */
  readonly timeoutMs?: number;
}

export class Batches {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /**
   * A job over `lines` or a `file`: its parts are uploaded, one at a time, and it is completed. Without either it stays open.
   * @throws DataServiceError with `batchId` when the upload failed and the job stays open
   */
  async create({ lines, file, ...params }: BatchParams & BatchContent, options?: CallOptions): Promise<Batch> {
    if (lines !== undefined && file !== undefined) throw new TypeError('batches.create: pass lines or file, not both');
    const isCsv = params.format === 'csv' || (params.format === undefined && file?.toLowerCase().endsWith('.csv') === true);
    const json = isCsv ? { ...params, format: 'csv' } : params;
    const batch = (await this.#caller.json({ method: 'POST', path: '/v1/batches', json, ...options })) as Batch;
    const content = file === undefined ? lines : fileLines(createReadStream(file), isCsv);
    if (content === undefined) return batch;
    try {
      let number = 0;
      for await (const part of partsOf(content)) await this.uploadPart(batch.id, ++number, part, batch.format, options);
      return await this.complete(batch.id, options?.signal === undefined ? {} : { signal: options.signal });
    } catch (error) {
      if (error instanceof DataServiceError) error.batchId = batch.id;
      throw error;
    }
  }

  /** The jobs of the key, the newest first. */
  list(params: { readonly limit?: number } = {}, options?: CallOptions): Pager<Batch> {
    return new Pager((cursor) =>
      this.#caller.json({ method: 'GET', path: `/v1/batches${queryOf({ ...params, cursor })}`, signal: options?.signal }),
    );
  }

  async get(id: string, options?: Pick<CallOptions, 'signal'>): Promise<Batch> {
    return (await this.#caller.json({ method: 'GET', path: pathOf`/v1/batches/${id}`, ...options })) as Batch;
  }

  /** Raises the limit of credits; a job that paused at it goes on. */
  async update(id: string, changes: { readonly max_credits: number }, options?: CallOptions): Promise<Batch> {
    const call = { method: 'PATCH', path: pathOf`/v1/batches/${id}`, json: changes, signal: options?.signal } as const;
    return (await this.#caller.json(call)) as Batch;
  }

  /** A part of whole lines, at most 64 MiB. The same number again replaces it. */
  async uploadPart(
    id: string,
    number: number,
    content: Buffer | string,
    format: BatchFormat = 'ndjson',
    options?: CallOptions,
  ): Promise<BatchPart> {
    const headers = { 'content-type': TYPES[format] ?? format };
    const path = pathOf`/v1/batches/${id}/parts/${number}`;
    return (await this.#caller.json({ method: 'PUT', path, content: Buffer.from(content), headers, signal: options?.signal })) as BatchPart;
  }

  /** All parts are there: the job begins. */
  async complete(id: string, options?: CallOptions): Promise<Batch> {
    return (await this.#caller.json({ method: 'POST', path: pathOf`/v1/batches/${id}/complete`, ...options })) as Batch;
  }

  async cancel(id: string, options?: CallOptions): Promise<Batch> {
    return (await this.#caller.json({ method: 'POST', path: pathOf`/v1/batches/${id}/cancel`, ...options })) as Batch;
  }

  /** Removes a job that has ended, with its results. */
  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.#caller.answer({ method: 'DELETE', path: pathOf`/v1/batches/${id}`, signal: options?.signal });
  }

  /** Waits until the job has ended or is paused. @throws DataServiceError `timeout` when that takes too long */
  async wait(id: string, { signal, timeoutMs = Infinity }: WaitOptions = {}): Promise<Batch> {
    const deadline = performance.now() + timeoutMs;
    for (let pause = FIRST_POLL_MS; ; pause = Math.min(MAX_POLL_MS, pause * POLL_GROWTH)) {
      const batch = await this.get(id, signal === undefined ? {} : { signal });
      if (SETTLED.has(batch.state)) return batch;
      if (performance.now() + pause > deadline) {
        throw new DataServiceError(`batch ${id} is ${batch.state} after ${timeoutMs} ms (timeout)`, { code: 'timeout', retryable: true });
      }
      await this.#caller.pause(pause, signal);
    }
  }

  /** The results in the order of the input, all or those of a `set`. A broken stream goes on by itself. */
  results(id: string, params: { readonly set?: BatchLineStatus } = {}, options?: CallOptions): AsyncGenerator<BatchLine> {
    const call = { method: 'GET', path: pathOf`/v1/batches/${id}/results` + queryOf(params), signal: options?.signal } as const;
    return ndjson<BatchLine>(this.#caller, call, ({ line }) => line);
  }
}

async function* partsOf(content: Iterable<BatchInput> | AsyncIterable<BatchInput>): AsyncGenerator<Buffer> {
  const cutter = new PartCutter();
  for await (const line of content) {
    const part = cutter.add(Buffer.isBuffer(line) ? line : toLine(line));
    if (part !== null) yield part;
  }
  const rest = cutter.rest();
  if (rest.length > 0) yield rest;
}
