/** The Batch API over HTTP. Calls that manage jobs use the request quota; lines of jobs do not. */
import { finished, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { accepted } from '../http/accept-header.ts';
import { isHead } from '../calls/api-route.ts';
import type { Batches, WithinTransaction } from './batches.ts';
import { MAX_PART_BYTES, MAX_PARTS } from './batch-limits.ts';
import { tooLarge } from './refusals.ts';
import { readBatchRequest, readMaxCredits } from './batch-request.ts';
import type { SerialisedBatch } from './serialise.ts';
import type { EndpointAnswer, Endpoint } from '../calls/endpoint.ts';
import { ServiceError } from '../http/problem.ts';
import type { Limits } from '../guards/limits.ts';
import type { LoadGate } from '../guards/load-gate.ts';
import { Readers } from '../guards/readers.ts';
import { refuseLate } from '../guards/unreadable.ts';
import type { Turns } from '../guards/turns.ts';
import type { Uploads } from '../guards/uploads.ts';
import { LIST_BATCHES, MEDIA, RESULT_SETS, type BatchFormat, type ResultSet } from './batch-operations.ts';
import type { LimitParameter } from '../http/paging.ts';
import { nextUrl, writeCursor } from '../http/cursor.ts';
import { RequestFindings } from '../http/findings.ts';
import { readPageQuery } from '../http/page-query.ts';

export interface BatchDependencies {
  readonly batches: Batches;
  readonly webhooks: { readonly isDevelopment: boolean };
  readonly uploads: Pick<Uploads, 'begin' | 'answered'>;
}

const LIMIT = LIST_BATCHES.query?.['limit'] as LimitParameter;

interface BatchEndpoints {
  readonly create: Endpoint;
  readonly list: Endpoint;
  readonly get: Endpoint;
  readonly change: Endpoint;
  readonly putPart: Endpoint;
  readonly complete: Endpoint;
  readonly cancel: Endpoint;
  readonly remove: Endpoint;
}

export function batchEndpoints({ batches, webhooks, uploads }: BatchDependencies): BatchEndpoints {
  /** Stores the answer for an Idempotency-Key in the transaction of the change. Otherwise a retry after a crash would repeat the change. */
  const once =
    (change: (key: string, id: string, within: WithinTransaction) => Promise<SerialisedBatch>): Endpoint =>
    async (_body, request, storeAnswer) =>
      jobAnswer(await change(request.call.charge.keyId, paramsOf(request).id, (job) => storeAnswer(jobAnswer(job))));
  return {
    create: async (body, request, storeAnswer) => {
      const wanted = readBatchRequest(body, webhooks.isDevelopment);
      return createdAnswer(await batches.create(request.call.charge.keyId, wanted, (job) => storeAnswer(createdAnswer(job))));
    },
    list: (_body, request) => {
      const { before, limit, question } = readPageQuery(request, LIMIT, ['batches']);
      const { jobs, last } = batches.page(request.call.charge.keyId, before ?? Infinity, limit);
      const cursor = last === null ? null : writeCursor(question, [last]);
      const text = JSON.stringify({ data: jobs, meta: { limit, next_cursor: cursor } });
      return { status: 200, text, credits: 0, headers: cursor === null ? {} : { link: `<${nextUrl(request.url, cursor)}>; rel="next"` } };
    },
    get: (_body, request) => jobAnswer(batches.get(request.call.charge.keyId, paramsOf(request).id)),
    change: async (body, request) => {
      const maxCredits = readMaxCredits(body);
      return jobAnswer(await batches.raiseMaxCredits(request.call.charge.keyId, paramsOf(request).id, maxCredits));
    },
    putPart: async (body, request) => {
      const { id } = paramsOf(request);
      const part = partOf(request);
      const format = batches.formatOf(request.call.charge.keyId, id);
      const stream = readPart(request, body, format);
      try {
        uploads.begin(request.call.charge.keyId, request.raw, () => refuseLate(request));
        const bytes = await batches.putPart(request.call.charge.keyId, id, part, stream);
        return { status: 200, text: JSON.stringify({ part, bytes }), credits: 0 };
      } catch (error) {
        throw asRefusal(error, body);
      } finally {
        // The rest of a refused part must be read to reach the next request on the connection.
        uploads.answered(request.raw);
        if (stream !== body) stream.destroy();
        if (body instanceof Readable) body.unpipe().resume();
      }
    },
    complete: once((key, id, within) => batches.complete(key, id, within)),
    cancel: once((key, id, within) => batches.cancel(key, id, within)),
    remove: async (_body, request) => {
      await batches.delete(request.call.charge.keyId, paramsOf(request).id);
      return { status: 204, text: '', credits: 0 };
    },
  };
}

export interface BatchResultsDependencies {
  readonly batches: Batches;
  readonly limits: Limits;
  /** Monotonic, milliseconds. */
  readonly clock: () => number;
  readonly gate: Pick<LoadGate, 'leave'>;
  readonly turns: Turns;
}

/** GET .../results: a stream of lines. */
export function batchResults({ batches, limits, clock, gate, turns }: BatchResultsDependencies): RouteHandlerMethod {
  const readers = new Readers(limits, clock);
  return (request: FastifyRequest, reply: FastifyReply) => {
    const set = readSet(request);
    const { keyId } = request.call.charge;
    const results = batches.resultsOf(keyId, paramsOf(request).id);
    request.call.charge.bookCalls();
    const format = formatFor(request.headers.accept, results.format);
    reply.header('content-type', format === 'csv' ? `${MEDIA.csv}; charset=utf-8` : MEDIA.ndjson);
    if (isHead(request)) return reply.send();
    const onEnd = readers.begin(keyId, request.raw.socket);
    // The connection may have been closed while the request waited; `finished` reports that, too.
    finished(reply.raw, onEnd);
    gate.leave(request.call);
    return reply.send(
      Readable.from(
        results.read(set, format, (steps) => turns.run(keyId, steps)),
        { objectMode: false },
      ),
    );
  };
}

function formatFor(accept: string | undefined, usual: BatchFormat): BatchFormat {
  const other: BatchFormat = usual === 'csv' ? 'ndjson' : 'csv';
  return accepted(accept, [MEDIA[other]], MEDIA[usual]) === null ? usual : other;
}

function jobAnswer(job: SerialisedBatch): EndpointAnswer {
  return { status: 200, text: JSON.stringify(job), credits: 0 };
}

function createdAnswer(job: SerialisedBatch): EndpointAnswer {
  return { ...jobAnswer(job), status: 201, headers: { location: `/v1/batches/${String(job['id'])}` } };
}

function paramsOf({ params }: FastifyRequest): { readonly id: string; readonly n: string } {
  return params as { id: string; n: string };
}

function partOf(request: FastifyRequest): number {
  const { n } = paramsOf(request);
  const part = /^\d{1,5}$/.test(n) ? Number(n) : 0;
  if (part >= 1 && part <= MAX_PARTS) return part;
  const detail = `the number of a part must be from 1 to ${MAX_PARTS.toLocaleString('en')}`;
  throw new ServiceError('invalid_parameter', detail, { errors: [{ parameter: 'n', code: 'range', detail }] });
}

/**
 * The decompressed bytes of a part.
 * @throws ServiceError for another media type than the job's, or a `Content-Length` that is too large
 */
function readPart(request: FastifyRequest, body: unknown, format: BatchFormat): Readable {
  const { headers } = request;
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (!(body instanceof Readable) || type !== MEDIA[format])
    throw new ServiceError(
      'unsupported_media_type',
      `the job takes Content-Type: ${MEDIA[format]}, for its format is ${format}; another format is for another job`,
    );
  // RFC 9110 14.5: a range of a part must not be taken for the part.
  if (headers['content-range'] !== undefined)
    throw new ServiceError('invalid_parameter', 'a part is sent whole, not from where it was cut off', {
      errors: [{ parameter: 'Content-Range', code: 'unsupported_option', detail: 'send the whole part, without Content-Range' }],
    });
  if (Number(headers['content-length'] ?? 0) > MAX_PART_BYTES) throw tooLarge();
  if (headers['content-encoding']?.toLowerCase() !== 'gzip') return body;
  const gunzip = createGunzip();
  // An error may come before anything reads from it.
  gunzip.on('error', () => undefined);
  body.once('close', () => (body.readableEnded ? undefined : gunzip.destroy(new Error('cut off'))));
  // Limits the input, too: an endless gzip header has no output.
  let left = MAX_PART_BYTES;
  body.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) gunzip.destroy(tooLarge());
  });
  return body.pipe(gunzip);
}

/** The error for a part that could not be read. */
function asRefusal(error: unknown, body: unknown): unknown {
  if (error instanceof ServiceError) return error;
  // The client has gone.
  if (body instanceof Readable && body.destroyed && !body.readableEnded)
    return new ServiceError('request_timeout', 'the part did not arrive whole');
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && code.startsWith('Z_')
    ? new ServiceError('validation_failed', 'the part is no gzip, or ends too early', {
        errors: [{ parameter: 'Content-Encoding', code: 'gzip', detail: 'no gzip' }],
      })
    : error;
}

function readSet(request: FastifyRequest): ResultSet | null {
  const { set } = request.query as Readonly<Record<string, unknown>>;
  if (set === undefined) return null;
  if (RESULT_SETS.includes(set as ResultSet)) return set as ResultSet;
  const findings = new RequestFindings('query');
  findings.add('set', 'enum', `set must be one of ${RESULT_SETS.join(', ')}`);
  throw findings.refusal();
}
