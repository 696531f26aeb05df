/**
 * A match as the ledger keeps it: the provider's own status and body, on one line. The record is mapped from it each time, so that a
 * corrected mapping costs nothing. Pure.
 */
import type { ResponseHeaders } from '../../client/types.ts';
import { isObject } from '../../util/is-object.ts';
import type { ProviderOperation } from '../compiled-provider.ts';
import type { AnswerInput } from './judge.ts';
import { Refusal } from './refusal.ts';

/**
 * @param text the body as it came; null for an item of a batch
 * @throws Refusal `bad_shape` for a body that is nested too deeply to be written
 */
export function storedAnswer({ record }: ProviderOperation, { status, headers, body }: AnswerInput, text: string | null): string {
  // Headers change with each answer, and hardly any record needs them.
  const kept = /\bheaders\b/.test(record.text) ? `,"headers":${JSON.stringify(headers)}` : '';
  const line = text === null || /[\r\n]/.test(text) ? oneLine(body) : text.trim();
  return `{"status":${status}${kept},"body":${line}}`;
}

function oneLine(body: unknown): string {
  try {
    return JSON.stringify(body) ?? 'null';
  } catch {
    throw new Refusal('bad_shape', 'the answer is nested too deeply');
  }
}

/** @throws Refusal `bad_shape` for a text that `storedAnswer` did not make */
export function readStoredAnswer(text: string): AnswerInput {
  const json = parsed(text);
  if (!isObject(json) || typeof json['status'] !== 'number' || !('body' in json))
    throw new Refusal('bad_shape', 'the ledger holds an answer of another client for this provider');
  const { status, headers = {}, body } = json;
  return { status, headers: headers as ResponseHeaders, body };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
