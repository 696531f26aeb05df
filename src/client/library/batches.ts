/** `client.batches`: files of up to ten million lines. */
import type { CallOptions } from '../call-options.ts';
import { DataServiceError } from '../data-service-error.ts';
import type { Caller } from './caller.ts';
import { blocksOf, isCsvFile, type BatchFile } from './batch-file.ts';
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
  /** A path, a Blob or a stream of bytes; a name that ends in `.csv` gives the format `csv`. */
  readonly file?: BatchFile;
}

export interface WaitOptions {
  readonly signal?: AbortSignal;
  /** Then it gives up. Default: never. */
  readonly timeoutMs?: number;
}

export class Batches {
  readonly #caller: Caller;

  /** @internal */
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /**
   * A job over `lines` or a `file`: its parts are uploaded, one at a time, and it is completed. Without either it stays open.
   * @throws DataServiceError with `batchId` when the upload failed and the job stays open
   */
  async create({ lines, file, ...params }: BatchParams & BatchContent, options?: CallOptions): Promise<Batch> {
    if (lines !== undefined && file !== undefined) throw new TypeError('batches.create: pass lines or file, not both');
    const isCsv = params.format === 'csv' || (params.format === undefined && file !== undefined && isCsvFile(file));
    const json = isCsv ? { ...params, format: 'csv' } : params;
    const batch = await this.#caller.record<Batch>('Batch', { method: 'POST', path: '/v1/batches', json, ...options });
    const content = file === undefined ? lines : fileLines(blocksOf(file), isCsv);
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
    return new Pager<Batch>(this.#caller, 'Batch', (cursor) => ({
      method: 'GET',
      path: `/v1/batches${queryOf({ ...params, cursor })}`,
      signal: options?.signal,
    }));
  }

  async get(id: string, options?: Pick<CallOptions, 'signal'>): Promise<Batch> {
    return await this.#caller.record<Batch>('Batch', { method: 'GET', path: pathOf`/v1/batches/${id}`, ...options });
  }

  /** Raises the limit of credits; a job that paused at it goes on. */
  async update(id: string, changes: { readonly max_credits: number }, options?: CallOptions): Promise<Batch> {
    const call = { method: 'PATCH', path: pathOf`/v1/batches/${id}`, json: changes, signal: options?.signal } as const;
    return await this.#caller.record<Batch>('Batch', call);
  }

  /** A part of whole lines, at most 64 MiB. The same number again replaces it. */
  async uploadPart(
    id: string,
    number: number,
    content: Uint8Array | string,
    format: BatchFormat = 'ndjson',
    options?: CallOptions,
  ): Promise<BatchPart> {
    const headers = { 'content-type': TYPES[format] ?? format };
    const path = pathOf`/v1/batches/${id}/parts/${number}`;
    return await this.#caller.record<BatchPart>('BatchPart', {
      method: 'PUT',
      path,
      content: typeof content === 'string' ? new TextEncoder().encode(content) : content,
      headers,
      signal: options?.signal,
    });
  }

  /** All parts are there: the job begins. */
  async complete(id: string, options?: CallOptions): Promise<Batch> {
    return await this.#caller.record<Batch>('Batch', { method: 'POST', path: pathOf`/v1/batches/${id}/complete`, ...options });
  }

  async cancel(id: string, options?: CallOptions): Promise<Batch> {
    return await this.#caller.record<Batch>('Batch', { method: 'POST', path: pathOf`/v1/batches/${id}/cancel`, ...options });
  }

  /** Removes a job that has ended, with its results. */
  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.#caller.answer({ method: 'DELETE', path: pathOf`/v1/batches/${id}`, signal: options?.signal }, () => undefined);
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
    return ndjson<BatchLine>(this.#caller, 'BatchLine', call, ({ line }) => line);
  }
}

async function* partsOf(content: Iterable<BatchInput> | AsyncIterable<BatchInput>): AsyncGenerator<Uint8Array> {
  const cutter = new PartCutter();
  for await (const line of content) {
    const part = cutter.add(line instanceof Uint8Array ? line : toLine(line));
    if (part !== null) yield part;
  }
  const rest = cutter.rest();
  if (rest.length > 0) yield rest;
}
