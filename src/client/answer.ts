/** From an exchange on the wire to an answer that can be judged: body decoded, key masked, meta read. */
import { codingOf, decodeBody } from './body.ts';
import type { Exchange, Failure } from './exchange.ts';
import { MAX_REQUEST_ID_CHARS, oneLine, requestIdIn } from './problem.ts';
import type { Redactor } from './redactor.ts';
import type { CallMeta, ResponseHeaders } from './types.ts';

export interface Answer {
  readonly status: number;
  /** The body as text; '' when there is none. */
  readonly text: string;
  /** Why there is no whole answer, though perhaps a status; null when there is one. */
  readonly failure: Failure | null;
  readonly meta: CallMeta;
}

const BAD_CODING: Failure = { code: 'bad_body', detail: 'the answer is compressed in a way that cannot be read' };
const BYTE_ORDER_MARK = 0xfeff;

/** Hardly ever asynchronous: only a compressed body is waited for. */
export function readAnswer(exchange: Exchange, redactor: Redactor, maxBytes: number): Answer | Promise<Answer> {
  const body = exchange.takeBody();
  if (body === null) return toAnswer(exchange, '', exchange.failure, redactor);
  const coding = codingOf(exchange.headers);
  if (coding === null) return toAnswer(exchange, toText(body), exchange.failure, redactor);
  return decodeBody(body, coding, maxBytes).then((decoded) => {
    if (decoded !== null) return toAnswer(exchange, toText(decoded), exchange.failure, redactor);
    // An error is judged by its status, with or without words.
    return toAnswer(exchange, '', exchange.status < 300 ? BAD_CODING : null, redactor);
  });
}

function toAnswer(exchange: Exchange, text: string, failure: Failure | null, redactor: Redactor): Answer {
  const headers = redactor.headers(exchange.takeHeaders());
  return {
    status: exchange.status,
    text: redactor.data(text),
    failure,
    meta: {
      status: exchange.status,
      headers,
      requestId: requestId(headers, redactor),
      credits: credits(headers),
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

function credits(headers: ResponseHeaders): number {
  const value = headerOf(headers, 'x-credits-charged');
  if (value === undefined) return 0;
  const number = Number(value);
  return Number.isFinite(number) && number > 0 ? number : 0;
}
