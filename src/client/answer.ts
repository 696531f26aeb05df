/** From an exchange on the wire to an answer that can be judged: body decoded, key masked, meta read. */
import type { Exchange, ExchangeFailure } from './exchange.ts';
import { MAX_REQUEST_ID_CHARS, oneLine, requestIdIn } from './problem.ts';
import type { QuotaReading } from './quota/quota-reading.ts';
import type { Redactor } from './redactor.ts';
import type { CallMeta, ResponseHeaders } from './types.ts';

export interface Answer {
  readonly status: number;
  /** The body as text; '' when there is none. */
  readonly text: string;
  /** Why there is no whole answer, though perhaps a status; null when there is one. */
  readonly failure: ExchangeFailure | null;
  readonly meta: CallMeta;
}

/** Reads the quota that headers state; null when they state none. @param nowMs epoch milliseconds */
export type QuotaReader = (headers: ResponseHeaders, nowMs: number) => QuotaReading | null;

/** The bytes behind a content coding, at most `maxBytes` of them; null for an unknown coding, damaged data or too much of it. */
export type Decompress = (body: Uint8Array, coding: string, maxBytes: number) => Promise<Uint8Array | null>;

/** A text, or why there is none. */
type Decoded = string | ExchangeFailure;

const BAD_CODING: ExchangeFailure = { code: 'bad_body', detail: 'the answer is compressed in a way that cannot be read', unfit: true };
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** Hardly ever asynchronous: only a compressed body is waited for. @param decompress undefined where the wire has done it */
export function readAnswer(
  exchange: Exchange,
  redactor: Redactor,
  readQuota: QuotaReader | null,
  decompress: Decompress | undefined,
  maxBytes: number,
): Answer | Promise<Answer> {
  const body = exchange.takeBody();
  const headers = exchange.takeHeaders();
  const { status, failure } = exchange;
  const answer = (decoded: Decoded): Answer => {
    const shown = redactor.headers(headers);
    return {
      status,
      text: typeof decoded === 'string' ? redactor.data(decoded) : '',
      // An error is judged by its status, with or without words.
      failure: typeof decoded === 'string' || status >= 300 ? failure : decoded,
      meta: {
        status,
        headers: shown,
        quota: readQuota?.(shown, Date.now()) ?? null,
        requestId: requestId(shown, redactor),
        ...credits(shown),
        ...(headerOf(shown, 'x-sample-data') === 'true' ? { isSample: true as const } : {}),
        latencyMs: Math.max(0, exchange.endedAt - exchange.startedAt),
      },
    };
  };
  if (body === null) return answer('');
  const coding = decompress === undefined ? null : codingOf(headers);
  if (coding === null) return answer(toText(body, headers, status));
  return (decompress as Decompress)(body, coding, maxBytes).then((bytes) =>
    answer(bytes === null ? BAD_CODING : toText(bytes, headers, status)),
  );
}

/** The text of a body in the charset that its type declares, else in UTF-8. An error, which may be cut, is read as well as it can be. */
function toText(body: Uint8Array, headers: ResponseHeaders, status: number): Decoded {
  const label = charsetOf(headers);
  const charset = label === null ? UTF8 : (decoderOf(label) ?? UTF8);
  try {
    return charset.decode(body);
  } catch {
    if (status >= 300) return new TextDecoder(charset.encoding).decode(body);
    return { code: 'bad_body', detail: `the answer is not text in ${charset.encoding}`, unfit: true };
  }
}

/** Null for a charset that nobody knows. */
function decoderOf(label: string): typeof UTF8 | null {
  try {
    return new TextDecoder(label, { fatal: true });
  } catch {
    return null;
  }
}

/** The charset that the type declares, in lower case; null for none, and for UTF-8. */
function charsetOf(headers: ResponseHeaders): string | null {
  const type = headerOf(headers, 'content-type');
  if (type === undefined) return null;
  const label = /;\s*charset\s*=\s*"?([\w.:-]{1,40})/i.exec(type)?.[1]?.toLowerCase() ?? null;
  return label === 'utf-8' || label === 'utf8' ? null : label;
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
