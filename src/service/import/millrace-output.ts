/** Rows of an enriched JSONL output of Millrace, in their parts. Pure. */
import type { SparseRecord } from '../records.ts';
import { isEmpty, isObject } from '../values.ts';
import type { Target } from './names.ts';

export interface MillraceOutput {
  readonly input: SparseRecord;
  readonly bought: SparseRecord;
  readonly verify: Readonly<Record<Target, unknown>>;
  readonly outcome: unknown;
}

/** The parts of a row of an enriched JSONL output of Millrace, or null when it is none. */
export function millraceOutput(object: SparseRecord): MillraceOutput | null {
  const { input, result, enrich, reveal, verify, company } = object;
  if (!isObject(input) || !isObject(result) || typeof result['outcome'] !== 'string') return null;
  const verdict = isObject(verify) ? verify : {};
  return {
    input,
    bought: { ...(isObject(enrich) ? enrich : {}), ...(isObject(company) ? { company } : {}), ...(isObject(reveal) ? known(reveal) : {}) },
    verify: { 'verify.result': verdict['result'], 'verify.confidence': verdict['confidence'], 'verify.email': verdict['normalized'] ?? verdict['email'], 'verify.verified_at': verdict['verified_at'] ?? verdict['checked_at'] },
    outcome: result['outcome'],
  };
}

/** What says something. */
export function known(record: SparseRecord): SparseRecord {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => !isEmpty(value)));
}
