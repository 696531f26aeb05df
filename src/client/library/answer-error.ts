/** From an answer that is no success to an error (clients/BEHAVIOUR.md). Pure: the clock is an argument. */
import { DataServiceError, type ErrorFinding } from '../data-service-error.ts';
import { oneLine } from '../problem.ts';
import type { Redactor } from '../redactor.ts';
import { parseRetryAfter } from '../retry-after.ts';
import type { ResponseHeaders } from '../types.ts';
import { isObject } from '../../util/is-object.ts';
import { parseJson } from '../../util/parse-json.ts';

/** Statuses that are worth another attempt when no problem document says more. */
const RETRYABLE: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);
const MAX_FINDINGS_IN_MESSAGE = 3;

export interface RefusedAnswer {
  /** Such as `POST https://api.example.com/v1/enrich`. */
  readonly call: string;
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly text: string;
  readonly requestId: string | null;
}

/** The error of an answer with a status of 300 and above. */
export function answerError(
  { call, status, headers, text, requestId }: RefusedAnswer,
  redactor: Redactor,
  nowMs: number,
): DataServiceError {
  const problem = readProblemDocument(redactor.data(text));
  const retryAfterMs = parseRetryAfter(headers['retry-after'], headers['date'], nowMs);
  if (problem === null) {
    const isElsewhere = status < 400 || status === 404;
    const code = isElsewhere ? 'wrong_address' : `http_${status}`;
    const words = isElsewhere ? `answered ${status}, so this is not the data service` : `answered ${status} without a problem document`;
    return new DataServiceError(`${call}: ${words} (${code})`, { status, code, retryable: RETRYABLE.has(status), requestId, retryAfterMs });
  }
  const { code, detail, findings } = problem;
  const shown = [detail, ...findings.slice(0, MAX_FINDINGS_IN_MESSAGE).map(describeFinding)].join('; ');
  return new DataServiceError(oneLine(redactor.words(`${call}: ${shown} (${code}, status ${status})`), 1000), {
    status,
    code: redactor.words(code),
    retryable: problem.retryable ?? RETRYABLE.has(status),
    requestId: requestId ?? problem.requestId,
    retryAfterMs,
    errors: findings,
  });
}

interface ProblemDocument {
  readonly code: string;
  readonly detail: string;
  readonly retryable: boolean | null;
  readonly requestId: string | null;
  readonly findings: readonly ErrorFinding[];
}

function readProblemDocument(text: string): ProblemDocument | null {
  const json = parseJson(text);
  if (!isObject(json) || typeof json['code'] !== 'string') return null;
  const { code, detail, title, retryable, request_id: requestId, errors } = json;
  return {
    code,
    detail: typeof detail === 'string' ? detail : typeof title === 'string' ? title : 'refused',
    retryable: typeof retryable === 'boolean' ? retryable : null,
    requestId: typeof requestId === 'string' ? requestId : null,
    findings: Array.isArray(errors) ? errors.filter((item): item is ErrorFinding & Record<string, unknown> => isObject(item)) : [],
  };
}

function describeFinding({ pointer, parameter, detail }: ErrorFinding): string {
  return `${pointer ?? parameter ?? 'the request'}: ${detail}`;
}
