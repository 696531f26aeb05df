/**
 * An answer as the ledger keeps it: the provider's own status and body, on one line. The record is mapped from it each time, so that a
 * corrected mapping costs nothing. An answer that no rule took is judged each time, so that corrected rules cost nothing either.
 */
import type { ResponseHeaders } from '../../client/types.ts';
import { isObject } from '../../util/is-object.ts';
import type { ProviderOperation } from '../compiled-provider.ts';
import { firstTrue, type AnswerInput } from './judge.ts';
import { mapRecord, undecidedRecord } from './map-record.ts';
import { NotTaken, Refusal } from './refusal.ts';
import { parseJson } from '../../util/parse-json.ts';

/**
 * @param text the body as it came; null for an item of a batch
 * @param isJudged false for an answer that no rule took
 * @throws Refusal `bad_shape` for a body that is nested too deeply to be written
 */
export function storedAnswer(
  { record }: ProviderOperation,
  { status, headers, body }: AnswerInput,
  text: string | null,
  isJudged = true,
): string {
  // Headers change with each answer, and hardly any record needs them. A corrected rule may.
  const kept = !isJudged || /\bheaders\b/.test(record.text) ? `,"headers":${JSON.stringify(headers)}` : '';
  // A body that is no JSON is its own text: it is written as a string.
  const line = text === null || typeof body === 'string' || /[\r\n]/.test(text) ? oneLine(body) : text.trim();
  return `{"status":${status}${isJudged ? '' : ',"judged":false'}${kept},"body":${line}}`;
}

/** Bytes of a miss that the ledger keeps at most. */
const MAX_MISS_BYTES = 4_096;
const NAMES_HEADERS = /\bheaders\b/;

/** A miss as the ledger keeps it, to be judged by the rules of the day; null for one that is too large. Parameters as `storedAnswer`. */
export function storedMiss(operation: ProviderOperation, input: AnswerInput, text: string | null): string | null {
  // Headers change with each answer; only a rule that reads them needs them.
  const rules = [operation.record, ...Object.values(operation.answers)].map((mapping) => mapping?.text ?? '');
  const headers = rules.some((rule) => NAMES_HEADERS.test(rule)) ? input.headers : {};
  const stored = storedAnswer(operation, { ...input, headers }, text, false);
  return Buffer.byteLength(stored) > MAX_MISS_BYTES ? null : stored;
}

/**
 * The record of a stored answer, by the rules and the mapping of today; null when the rules call it a miss.
 * @throws Refusal when the definition does not fit it
 */
export async function recordOfStored(operation: ProviderOperation, text: string): Promise<Readonly<Record<string, unknown>> | null> {
  const { input, isJudged } = readStoredAnswer(text);
  if (isJudged) return (await mapRecord(operation, input)) ?? {};
  const { answers, name } = operation;
  const rule = await firstTrue(answers, input);
  if (rule === 'match') return (await mapRecord(operation, input)) ?? {};
  if (rule === 'miss') return null;
  // A miss by its status alone.
  if (rule === null && input.status >= 300) return null;
  if (rule === null) return undecidedRecord(operation, input);
  throw new NotTaken(`operations.${name}.answers: a stored answer is ${rule}`);
}

function oneLine(body: unknown): string {
  try {
    return JSON.stringify(body) ?? 'null';
  } catch {
    throw new Refusal('bad_shape', 'the answer is nested too deeply');
  }
}

const BODY = ',"body":';

/** A body that is no JSON, as earlier versions wrote it: bare. */
function earlierText(line: string): unknown {
  const [head, body] = [line.slice(0, line.indexOf(BODY)), line.slice(line.indexOf(BODY) + BODY.length, -1)];
  const kept = parseJson(`${head}}`);
  return isObject(kept) && line.includes(BODY) ? { ...kept, body } : undefined;
}

/** @throws Refusal `bad_shape` for a text that `storedAnswer` did not make */
function readStoredAnswer(text: string): { readonly input: AnswerInput; readonly isJudged: boolean } {
  const json = parseJson(text) ?? earlierText(text);
  if (!isObject(json) || typeof json['status'] !== 'number' || !('body' in json))
    throw new Refusal('bad_shape', 'the ledger holds an answer of another client for this provider');
  const { status, headers = {}, body, judged } = json;
  return { input: { status, headers: headers as ResponseHeaders, body }, isJudged: judged !== false };
}
