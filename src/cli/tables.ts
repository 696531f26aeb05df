/** Results of `enrich` and `verify` for a terminal: one block of lines for each key. Pure. */
import type { OneOffResult } from '../job/commands/one-off.ts';
import { verificationTable, type Shown } from '../verification/table.ts';

/** Longer values are cut; `--json` has all of it. */
const MAX_VALUE = 160;
const OUTCOMES: Readonly<Record<OneOffResult['outcome'], string>> = {
  matched: 'matched',
  no_match: 'nothing is known',
  suppressed: 'the person asked to be removed',
  invalid: 'cannot be looked up',
  failed: 'failed',
};

type Fields = Readonly<Record<string, unknown>>;

/** A record with one field a line, by its dotted path. Fields without a value are left out. */
export function recordTable(result: OneOffResult): string {
  if (result.answer === null) return withoutAnswer(result);
  const rows = flatten(result.answer.record, '');
  const wide = Math.max(0, ...rows.map(([path]) => path.length));
  return clean([
    nameOf(result),
    ...rows.map(([path, value]) => `  ${path.padEnd(wide)}  ${value.length > MAX_VALUE ? `${value.slice(0, MAX_VALUE)}...` : value}`),
  ]);
}

/** The verdict, with the checks and score factors that the service sends. */
export function verdictTable(result: OneOffResult): string {
  return result.answer === null ? withoutAnswer(result) : verificationTable(toShown(result.key.text ?? '', result.answer.record));
}

function withoutAnswer(result: OneOffResult): string {
  return clean([
    `${nameOf(result)}   ${OUTCOMES[result.outcome]}${result.error === null ? '' : ` (${result.error.replaceAll('_', ' ')})`}`,
  ]);
}

function nameOf({ key }: OneOffResult): string {
  return key.text ?? `number ${key.place}, which is no UTF-8`;
}

function flatten(record: Fields, path: string): (readonly [string, string])[] {
  return Object.entries(record).flatMap(([name, value]): (readonly [string, string])[] => {
    const here = path === '' ? name : `${path}.${name}`;
    if (value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) return [];
    if (Array.isArray(value)) return [[here, value.map(asText).join(', ')]];
    return typeof value === 'object' ? flatten(value as Fields, here) : [[here, asText(value)]];
  });
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Control characters could move the cursor, or worse. */
function clean(lines: readonly string[]): string {
  return lines.map((line) => line.replaceAll(/\p{C}/gu, '\ufffd')).join('\n');
}

/** Services differ in the fields beside the verdict: fields of an unexpected shape are not shown. */
function toShown(email: string, record: Fields): Shown {
  const text = (name: string): string | null => (typeof record[name] === 'string' && record[name] !== '' ? record[name] : null);
  const number = (name: string): number | null => (typeof record[name] === 'number' ? record[name] : null);
  return {
    email,
    result: text('result') ?? 'unknown',
    reason: text('reason'),
    confidence: number('confidence'),
    did_you_mean: text('did_you_mean'),
    retry_at: text('retry_at'),
    checks: listOf(record['checks'], isCheck),
    score_factors: listOf(record['score_factors'], isFactor),
    score_version: number('score_version'),
  };
}

/** The complete list or none of it: points that do not add up would mislead. */
function listOf<T>(value: unknown, is: (entry: unknown) => entry is T): readonly T[] {
  return Array.isArray(value) && value.every(is) ? value : [];
}

function isCheck(entry: unknown): entry is Shown['checks'][number] {
  const { name, result, detail, ms } = (entry ?? {}) as Fields;
  return (
    typeof name === 'string' && typeof result === 'string' && (detail === null || typeof detail === 'string') && typeof ms === 'number'
  );
}

function isFactor(entry: unknown): entry is Shown['score_factors'][number] {
  const { factor, points } = (entry ?? {}) as Fields;
  return typeof factor === 'string' && typeof points === 'number';
}
