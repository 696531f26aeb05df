/**
 * Classifies an answer ("What the client must understand from a service it does not know" of the service's definitions). Pure: the clock is
 * an argument.
 * Liberal in what it reads; it never throws.
 */
import { headerOf, withBodyId } from './answer.ts';
import type { Answer } from './answer.ts';
import { isObject } from '../util/is-object.ts';
import { oneLine, readProblem } from './problem.ts';
import type { Problem } from './problem.ts';
import type { Redactor } from './redactor.ts';
import { parseRetryAfter } from './retry-after.ts';
import type { CallMeta, CallResult, Miss } from './types.ts';

/** The errors of nginx, Go and Apache for plain HTTP at a TLS port. */
const PLAIN_TO_TLS =
  /plain HTTP request was sent to HTTPS port|sent an HTTP request to an HTTPS server|speaking plain HTTP to an SSL-enabled server port/i;

/** The result of a call without a record. */
export type Unsuccessful = Exclude<CallResult<never>, { kind: 'ok' }>;

export interface ClassifyOptions {
  /** For messages, such as `POST https://api.example.com/v1/enrich`. */
  readonly call: string;
  /** Whether this is a lookup, which may find nothing (404, 204). */
  readonly lookup: boolean;
  readonly redactor: Redactor;
  /** Epoch milliseconds, asked only when a date must be read and the answer has none. */
  readonly clock: () => number;
}

/** 200 and 201 have a result, which the caller reads because it knows its shape. */
export function isSuccess(answer: Answer): boolean {
  return answer.failure === null && (answer.status === 200 || answer.status === 201);
}

/** Judges everything but a success. */
export function classify(answer: Answer, options: ClassifyOptions): Unsuccessful {
  const { status, failure } = answer;
  const says = read(answer, options);
  if (failure !== null && (failure.code === 'aborted' || !standsAlone(status)))
    return retryable(answer, says, failure.code, failure.detail, options);
  if (status === 204 && options.lookup) return { kind: 'miss', meta: says.meta };
  if (status < 300) return retryable(answer, says, `http_${status}`, 'a success without a result', options);
  if (status < 400) return { kind: 'wrong_address', detail: redirect(answer, options), meta: says.meta };

  const code = says.problem.code ?? `http_${status}`;
  const detail = says.problem.detail || `HTTP ${status}`;
  if (status === 400 && PLAIN_TO_TLS.test(answer.text.slice(0, 4096))) {
    return { kind: 'wrong_address', detail: `${options.call} met a port that speaks TLS: write https:// in --base-url`, meta: says.meta };
  }
  switch (status) {
    case 401:
    case 402:
    case 403:
      return denied(answer, { code, detail }, options);
    case 404:
      return options.lookup && isMiss(answer, says)
        ? missOf(answer, says)
        : {
            kind: 'wrong_address',
            detail: oneLine(`${options.call} answered 404${says.problem.detail === '' ? '' : `: ${detail}`}`),
            meta: says.meta,
          };
    case 408:
    case 425:
      return retryable(answer, says, code, detail, options);
    case 409:
      return code === 'idempotency_in_flight'
        ? retryable(answer, says, code, detail, options)
        : { kind: 'rejected', code, detail, meta: says.meta };
    // The key is another region's: no record of this file will be answered.
    case 421:
      return code === 'wrong_region' ? denied(answer, { code, detail }, options) : { kind: 'rejected', code, detail, meta: says.meta };
    case 429:
      return { kind: 'throttled', retryAfterMs: retryAfter(answer, options), meta: says.meta };
    case 451:
      return { kind: 'suppressed', meta: says.meta };
    case 503: {
      const retryAfterMs = retryAfter(answer, options);
      return retryAfterMs === null ? retryable(answer, says, code, detail, options) : { kind: 'throttled', retryAfterMs, meta: says.meta };
    }
    default:
      return status < 500
        ? { kind: 'rejected', code, detail, meta: says.meta, ...pageOf(answer) }
        : retryable(answer, says, code, detail, options);
  }
}

/**
 * A refusal of the key or of its credits. An HTML page comes from what stands in front of the service, and fails one attempt. A 403 that
 * says when to come back, or that no request is left, is a pause.
 */
export function denied(answer: Answer, words: Problem & { readonly code: string }, options: ClassifyOptions): Unsuccessful {
  const says = read(answer, options);
  if (isPage(answer)) return retryable(answer, says, `http_${answer.status}`, words.detail, options);
  if (answer.status !== 403) return { kind: 'denied', ...words, meta: says.meta };
  const retryAfterMs = retryAfter(answer, options);
  if (retryAfterMs !== null || isUsedUp(says.meta)) return { kind: 'throttled', retryAfterMs, meta: says.meta };
  return { kind: 'denied', ...words, ...(says.json === undefined ? { isForeign: true } : {}), meta: says.meta };
}

/** Whether the answer states that no request is left. A limit of 0 means unlimited. */
function isUsedUp({ quota }: CallMeta): boolean {
  const windows = quota === null ? [] : [...(quota.plan === null ? [] : [quota.plan]), ...quota.windows];
  return windows.some(({ limit, remaining }) => remaining === 0 && limit !== 0);
}

/** A success that cannot be read, or that has no record: worth another attempt. */
export function badBody(answer: Answer, detail: string, code: 'bad_body' | 'bad_shape' = 'bad_body'): Unsuccessful {
  const failed = { kind: 'retryable', code, detail, retryAfterMs: null, meta: answer.meta } as const;
  return isPage(answer) ? { ...failed, detail: 'the answer is an HTML page', page: true } : { ...failed, unfit: true };
}

/** Whether the body is an HTML page, by its type or its first words: some services serve one as JSON. */
export function isPage({ text, meta }: Answer): boolean {
  const type = headerOf(meta.headers, 'content-type') ?? '';
  return /^(?:text\/html|application\/xhtml\+xml)\b/i.test(type) || /^\s*<(?:!doctype\s+html|html)\b/i.test(text.slice(0, 1024));
}

function pageOf(answer: Answer): { page?: true } {
  return isPage(answer) ? { page: true } : {};
}

/** The code and the words of an error body, masked and on one line, found by their usual names. */
export function problemOf(answer: Answer, options: ClassifyOptions): Problem {
  return read(answer, options).problem;
}

interface Said {
  readonly problem: Problem;
  /** The parsed body, undefined when it is not JSON. */
  readonly json: unknown;
  readonly meta: CallMeta;
}

function read(answer: Answer, { redactor }: ClassifyOptions): Said {
  const json = parse(answer.text);
  const problem = readProblem(json, answer.text);
  return {
    // Masked before it is cut: half a key at the edge would no longer be recognised.
    problem: { code: problem.code === null ? null : safeCode(problem.code, redactor), detail: oneLine(redactor.words(problem.detail)) },
    json,
    meta: withBodyId(answer.meta, json),
  };
}

function safeCode(code: string, redactor: Redactor): string | null {
  return redactor.words(code) === code ? code : null;
}

function parse(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/**
 * These statuses say all there is to say, with or without their body. The others do not: a 404 that broke off may have been a miss or a
 * wrong address, and only another attempt tells.
 */
function standsAlone(status: number): boolean {
  return status === 429 || status >= 500;
}

/**
 * A 404 is a miss when it speaks JSON. But `not_found` of a problem+json is what a service of this specification says of a
 * path it does not have (a lookup that found nothing is `no_match`), and then the address is wrong.
 */
function isMiss(answer: Answer, says: Said): boolean {
  const type = typeOf(answer);
  if (type === 'application/problem+json' && isObject(says.json) && says.json['code'] === 'not_found') return false;
  if (isObject(says.json)) return true;
  const saysJson = type === 'application/json' || type.endsWith('+json');
  return saysJson && (says.json !== undefined || answer.text.trim() === '');
}

/** A 404 of an unknown form is asked about once more after this long: by then a deploy of the gateway in front of the service is over. */
export const ASK_AGAIN_MS = 30_000;
/** Letters of a form that count. */
const MAX_FORM = 300;

/**
 * The form of a 404, by which a service's own miss is told from the 404 of what stands in front of it: content type, code, and the keys of
 * the body. A body that is no object has its type in place of keys, because its text may name the lookup.
 */
export function formOf404(answer: Answer, options: ClassifyOptions): string {
  return formOf(answer, read(answer, options));
}

function formOf(answer: Answer, { problem, json }: Said): string {
  const keys = isObject(json) ? Object.keys(json).toSorted().join(',') : json === undefined ? '' : jsonTypeOf(json);
  return `${typeOf(answer)} ${problem.code ?? '-'} ${keys}`.slice(0, MAX_FORM);
}

function jsonTypeOf(json: unknown): string {
  if (json === null) return 'null';
  return Array.isArray(json) ? 'array' : typeof json;
}

/** Only a service of this specification says `no_match`. */
function missOf(answer: Answer, says: Said): Miss {
  return says.problem.code === 'no_match'
    ? { kind: 'miss', meta: says.meta }
    : { kind: 'miss', form: formOf(answer, says), meta: says.meta };
}

/** The media type in lower case; '' without one. */
function typeOf({ meta }: Answer): string {
  return (headerOf(meta.headers, 'content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** A redirect is not followed: a POST with a key must not wander off. Where it leads is told, without query and credentials. */
function redirect(answer: Answer, { call, redactor }: ClassifyOptions): string {
  const location = headerOf(answer.meta.headers, 'location');
  if (location === undefined) return oneLine(`${call} answered ${answer.status}`);
  const bare = location.replace(/[?#].*$/s, '').replace(/^([a-z][a-z0-9+.-]*:)?\/\/[^/]*@/i, '$1//');
  return oneLine(redactor.words(`${call} answered ${answer.status} and points to ${bare}`));
}

/** Milliseconds that `Retry-After` asks to wait; null without one. */
export function retryAfter(answer: Answer, { clock }: Pick<ClassifyOptions, 'clock'>): number | null {
  const { headers } = answer.meta;
  const value = headers['retry-after'];
  return value === undefined ? null : parseRetryAfter(value, headers['date'], clock());
}

function retryable(answer: Answer, says: Said, code: string, detail: string, options: ClassifyOptions): Unsuccessful {
  const words = oneLine(options.redactor.words(detail));
  const { fault = null, unfit } = answer.failure ?? {};
  const more = { ...(fault === null ? {} : { fault }), ...(unfit === true ? { unfit } : {}), ...pageOf(answer) };
  return { kind: 'retryable', code, detail: words, retryAfterMs: retryAfter(answer, options), meta: says.meta, ...more };
}
