/** The Batch API over HTTP. Managing jobs takes requests and calls like anything else; their lines take no requests. */
import { finished, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { accepted } from '../accepted.ts';
import { bookCall, isHead } from '../api-route.ts';
import type { Within } from '../batches/batches.ts';
import { MAX_PART_BYTES, MAX_PARTS } from '../batches/limits.ts';
import { tooLarge } from '../batches/refusals.ts';
import { readBatchRequest, readMaxCredits } from '../batches/request.ts';
import type { ShownBatch } from '../batches/shown.ts';
import type { Answer, Endpoint, ServiceContext } from '../context.ts';
import { ServiceError } from '../errors.ts';
import { Readers } from '../guard/readers.ts';
import { refuseLate } from '../guard/unreadable.ts';
import type { Uploads } from '../guard/uploads.ts';
import { LIST_BATCHES, MEDIA, RESULT_SETS, type BatchFormat, type ResultSet } from '../operations/batches.ts';
import type { LimitParameter } from '../operations/paging.ts';
import { leave } from '../watch/follow-calls.ts';
import { nextUrl, writeCursor } from './cursor.ts';
import { Findings } from './findings.ts';
import { keyOf } from './key-of.ts';
import { readPageQuery } from './page-query.ts';

interface Context extends Pick<ServiceContext, 'batches' | 'webhooks'> {
  readonly uploads: Pick<Uploads, 'begin' | 'answered'>;
}

const LIMIT = LIST_BATCHES.query?.['limit'] as LimitParameter;

export interface BatchEndpoints {
  readonly create: Endpoint;
  readonly list: Endpoint;
  readonly get: Endpoint;
  readonly change: Endpoint;
  readonly putPart: Endpoint;
  readonly complete: Endpoint;
  readonly cancel: Endpoint;
  readonly remove: Endpoint;
}

export function batchEndpoints({ batches, webhooks, uploads }: Context): BatchEndpoints {
  /** What is kept for an Idempotency-Key is written with the change: a crash between the two would have the same request begin another job, or be refused. */
  const once = (change: (key: string, id: string, within: Within) => Promise<ShownBatch>): Endpoint => async (_body, request) =>
    shown(await change(keyOf(request), named(request).id, (job) => request.call.keep?.(shown(job))));
  return {
    create: async (body, request) => {
      const asked = readBatchRequest(body, webhooks.isDevelopment);
      return created(await batches.create(keyOf(request), asked, (job) => request.call.keep?.(created(job))));
    },
    list: (_body, request) => {
      const { before, limit, question } = readPageQuery(request, LIMIT, ['batches']);
      const { jobs, last } = batches.page(keyOf(request), before ?? Infinity, limit);
      const cursor = last === null ? null : writeCursor(question, [last]);
      const text = JSON.stringify({ data: jobs, meta: { limit, next_cursor: cursor } });
      return { status: 200, text, credits: 0, headers: cursor === null ? {} : { link: `<${nextUrl(request.url, cursor)}>; rel="next"` } };
    },
    get: (_body, request) => shown(batches.get(keyOf(request), named(request).id)),
    change: async (body, request) => {
      const maxCredits = readMaxCredits(body);
      return shown(await batches.raiseMaxCredits(keyOf(request), named(request).id, maxCredits));
    },
    putPart: async (body, request) => {
      const { id } = named(request);
      const part = partOf(request);
      const format = batches.formatOf(keyOf(request), id);
      const stream = readPart(request, body, format);
      try {
        uploads.begin(keyOf(request), request.raw, () => refuseLate(request));
        const bytes = await batches.putPart(keyOf(request), id, part, stream);
        return { status: 200, text: JSON.stringify({ part, bytes }), credits: 0 };
      } catch (error) {
        throw asRefusal(error, body);
      } finally {
        // What is refused on the way is still to be read, to come to the next request on the connection: not by what nobody reads from.
        uploads.answered(request.raw);
        if (stream !== body) stream.destroy();
        if (body instanceof Readable) body.unpipe().resume();
      }
    },
    complete: once((key, id, within) => batches.complete(key, id, within)),
    cancel: once((key, id, within) => batches.cancel(key, id, within)),
    remove: async (_body, request) => {
      await batches.delete(keyOf(request), named(request).id);
      return { status: 204, text: '', credits: 0 };
    },
  };
}

/** GET .../results: a stream of lines. */
export function batchResults(context: ServiceContext): RouteHandlerMethod {
  const readers = new Readers(context.limits, context.clock);
  return (request: FastifyRequest, reply: FastifyReply) => {
    const set = readSet(request);
    const results = context.batches.resultsOf(keyOf(request), named(request).id);
    bookCall(context, request);
    const format = formatFor(request.headers.accept, results.format);
    reply.header('content-type', format === 'csv' ? `${MEDIA.csv}; charset=utf-8` : MEDIA.ndjson);
    if (isHead(request)) return reply.send();
    const over = readers.begin(keyOf(request), request.raw.socket);
    // Where a request has stood in line for long, its connection may have been closed before, and this says so.
    finished(reply.raw, over);
    leave(context.gate, request.call);
    return reply.send(Readable.from(results.read(set, format), { objectMode: false }));
  };
}

function formatFor(accept: string | undefined, usual: BatchFormat): BatchFormat {
  const other: BatchFormat = usual === 'csv' ? 'ndjson' : 'csv';
  return accepted(accept, [MEDIA[other]], MEDIA[usual]) === null ? usual : other;
}

function shown(job: ShownBatch): Answer {
  return { status: 200, text: JSON.stringify(job), credits: 0 };
}

function created(job: ShownBatch): Answer {
  return { ...shown(job), status: 201, headers: { location: `/v1/batches/${String(job['id'])}` } };
}

function named({ params }: FastifyRequest): { readonly id: string; readonly n: string } {
  return params as { id: string; n: string };
}

function partOf(request: FastifyRequest): number {
  const { n } = named(request);
  const part = /^\d{1,5}$/.test(n) ? Number(n) : 0;
  if (part >= 1 && part <= MAX_PARTS) return part;
  const detail = `the number of a part must be from 1 to ${MAX_PARTS.toLocaleString('en')}`;
  throw new ServiceError('invalid_parameter', detail, { errors: [{ parameter: 'n', code: 'range', detail }] });
}

/** The bytes of a part as they are to be kept. @throws ServiceError when it is of another type than the job, or says that it is too large */
function readPart(request: FastifyRequest, body: unknown, format: BatchFormat): Readable {
  const { headers } = request;
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (!(body instanceof Readable) || type !== MEDIA[format]) throw new ServiceError('unsupported_media_type', `the job takes Content-Type: ${MEDIA[format]}, for its format is ${format}; another format is for another job`);
  // RFC 9110 14.5: what is a piece of a part must not be taken for the part.
  if (headers['content-range'] !== undefined) throw new ServiceError('invalid_parameter', 'a part is sent whole, not from where it was cut off', { errors: [{ parameter: 'Content-Range', code: 'unsupported_option', detail: 'send the whole part, without Content-Range' }] });
  if (Number(headers['content-length'] ?? 0) > MAX_PART_BYTES) throw tooLarge();
  if (headers['content-encoding']?.toLowerCase() !== 'gzip') return body;
  const gunzip = createGunzip();
  // Before anybody reads it, too.
  gunzip.on('error', () => undefined);
  body.once('close', () => (body.readableEnded ? undefined : gunzip.destroy(new Error('cut off'))));
  // Of what nothing comes out, such as names without end, as much might come as somebody likes.
  let left = MAX_PART_BYTES;
  body.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) gunzip.destroy(tooLarge());
  });
  return body.pipe(gunzip);
}

/** What is wrong with a part that was sent is told as that. */
function asRefusal(error: unknown, body: unknown): unknown {
  if (error instanceof ServiceError) return error;
  // Nobody is there to hear it.
  if (body instanceof Readable && body.destroyed && !body.readableEnded) return new ServiceError('request_timeout', 'the part did not arrive whole');
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && code.startsWith('Z_') ? new ServiceError('validation_failed', 'the part is no gzip, or ends too early', { errors: [{ parameter: 'Content-Encoding', code: 'gzip', detail: 'no gzip' }] }) : error;
}

function readSet(request: FastifyRequest): ResultSet | null {
  const { set } = request.query as Readonly<Record<string, unknown>>;
  if (set === undefined) return null;
  if (RESULT_SETS.includes(set as ResultSet)) return set as ResultSet;
  const findings = new Findings('query');
  findings.add('set', 'enum', `set must be one of ${RESULT_SETS.join(', ')}`);
  throw findings.refusal();
}
