/** From an exchange on the wire to an answer that can be judged: body decoded, key masked, meta read. */
import type { Exchange, ExchangeFailure } from './exchange.ts';
import { MAX_REQUEST_ID_CHARS, oneLine, requestIdIn } from './problem.ts';
import { readQuotaHeaders } from './quota/quota-headers.ts';
import type { QuotaReading } from './quota/quota-reading.ts';
import type { Redactor } from './redactor.ts';
import type { CallMeta, ResponseHeaders } from './types.ts';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib';

export interface Answer {
  readonly status: number;
  /** The body as text; '' when there is none. */
  readonly text: string;
  /** Why there is no whole answer, though perhaps a status; null when there is one. */
  readonly failure: ExchangeFailure | null;
  readonly meta: CallMeta;
}

const BAD_CODING: ExchangeFailure = { code: 'bad_body', detail: 'the answer is compressed in a way that cannot be read', unfit: true };
const BYTE_ORDER_MARK = 0xfeff;

/** The content codings that are understood, although a request asks for none. */
const decoders = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
} as const;

const inflateZlib = promisify(inflate);
const inflateBare = promisify(inflateRaw);

/** Reads the quota that headers state; null when they state none. @param nowMs epoch milliseconds */
export type QuotaReader = (headers: ResponseHeaders, nowMs: number) => QuotaReading | null;

/** Hardly ever asynchronous: only a compressed body is waited for. */
export function readAnswer(
  exchange: Exchange,
  redactor: Redactor,
  maxBytes: number,
  readQuota: QuotaReader = readQuotaHeaders,
): Answer | Promise<Answer> {
  const body = exchange.takeBody();
  if (body === null) return toAnswer(exchange, '', exchange.failure, redactor, readQuota);
  const coding = codingOf(exchange.headers);
  if (coding === null) return toAnswer(exchange, toText(body), exchange.failure, redactor, readQuota);
  return decodeBody(body, coding, maxBytes).then((decoded) => {
    if (decoded !== null) return toAnswer(exchange, toText(decoded), exchange.failure, redactor, readQuota);
    // An error is judged by its status, with or without words.
    return toAnswer(exchange, '', exchange.status < 300 ? BAD_CODING : null, redactor, readQuota);
  });
}

function toAnswer(exchange: Exchange, text: string, failure: ExchangeFailure | null, redactor: Redactor, readQuota: QuotaReader): Answer {
  const headers = redactor.headers(exchange.takeHeaders());
  return {
    status: exchange.status,
    text: redactor.data(text),
    failure,
    meta: {
      status: exchange.status,
      headers,
      quota: readQuota(headers, Date.now()),
      requestId: requestId(headers, redactor),
      ...credits(headers),
      latencyMs: exchange.endedAt - exchange.startedAt,
    },
  };
}

function toText(body: Buffer): string {
  const text = body.toString('utf8');
  return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
}

/** A header's value; the first when it was sent more than once. */
export function headerOf(headers: ResponseHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'object' ? value[0] : value;
}

/** The same, with the request id from the body (already masked) where the headers have none. */
export function withBodyId(meta: CallMeta, json: unknown): CallMeta {
  if (meta.requestId !== null) return meta;
  const id = requestIdIn(json);
  return id === null ? meta : { ...meta, requestId: oneLine(id, MAX_REQUEST_ID_CHARS) };
}

function requestId(headers: ResponseHeaders, redactor: Redactor): string | null {
  const value = headerOf(headers, 'x-request-id');
  return value === undefined || value === '' ? null : oneLine(redactor.words(value), MAX_REQUEST_ID_CHARS);
}

function credits(headers: ResponseHeaders): Pick<CallMeta, 'credits' | 'namesNoCredits'> {
  const value = headerOf(headers, 'x-credits-charged')?.trim() ?? '';
  const number = Number(value);
  return value !== '' && Number.isFinite(number) && number >= 0 ? { credits: number } : { credits: 0, namesNoCredits: true };
}

/** The body's content coding in lower case, or null when it is plain. */
function codingOf(headers: ResponseHeaders): string | null {
  const value = headers['content-encoding'];
  if (value === undefined) return null;
  const coding = (typeof value === 'string' ? value : value.join(', ')).trim().toLowerCase();
  return coding === '' || coding === 'identity' ? null : coding;
}

/** The decoded bytes, at most `maxBytes` of them; null for an unknown coding, damaged data or too much of it. */
async function decodeBody(body: Buffer, coding: string, maxBytes: number): Promise<Buffer | null> {
  const limit = { maxOutputLength: maxBytes };
  try {
    // Some services send `deflate` without the zlib wrapper of RFC 9110 (8.4.1.2). The first byte shows which it is.
    if (coding === 'deflate') return await ((body[0] ?? 0) % 16 === 8 ? inflateZlib(body, limit) : inflateBare(body, limit));
    const decode = Object.hasOwn(decoders, coding) ? decoders[coding as keyof typeof decoders] : null;
    return decode === null ? null : await decode(body, limit);
  } catch {
    return null;
  }
}
