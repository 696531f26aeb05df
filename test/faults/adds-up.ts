/** Checks that the numbers of a finished job agree: report and output, output and input, errors file and both, page and all. */
import { resolve } from 'node:path';
import { expect } from 'vitest';
import type { InputRecord } from '../../src/formats/input-record.ts';
import { freeze, readAll } from '../formats/helpers.ts';
import type { Folder } from '../support/cli.ts';
import { requestsIn, sectionsOf } from '../support/report-page.ts';

export interface Report {
  readonly records: Record<string, number>;
  readonly calls: Record<string, number>;
  readonly retries: number;
  readonly throttled: { readonly events: number };
}

export async function report(folder: Folder): Promise<Report> {
  return (await folder.json('out.csv.report.json')) as unknown as Report;
}

/**
 * Checks a job from `in.csv` to `out.csv`: each record has a row with an outcome, in order, and each failed or invalid one has a line in
 * the errors file.
 */
export async function addsUp(folder: Folder, rows: number, input = 'in.csv'): Promise<Report> {
  const found = await report(folder);
  const { total, ...outcomes } = found.records;
  expect(total).toBe(rows);
  const inputs = await recordsOf(resolve(folder.path, input));
  const outputs = await recordsOf(folder.at('out.csv'));
  const width = inputs[0]?.values?.length ?? 0;
  // A limit may leave records for a later run.
  expect(outputs.map(({ values }) => values?.slice(0, width))).toEqual(inputs.slice(0, rows).map(({ values }) => values));
  const outcomeOf = ({ values }: InputRecord): string => values?.[width] ?? '';
  const counted: Record<string, number> = { matched: 0, no_match: 0, invalid: 0, suppressed: 0, failed: 0 };
  for (const row of outputs) counted[outcomeOf(row)] = (counted[outcomeOf(row)] ?? 0) + 1;
  expect(counted).toEqual(outcomes);
  const bad = outputs.flatMap((row, i) =>
    ['failed', 'invalid'].includes(outcomeOf(row)) ? [{ line: inputs[i]?.line, error: row.values?.[width + 1] }] : [],
  );
  const errors = (await folder.read('out.csv.errors.jsonl').catch(() => ''))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { line: number; code: string; step: string | null });
  // The row names the step unless it is the first one.
  expect(errors.map(({ line, code }) => ({ line, code }))).toEqual(
    bad.map(({ line, error }) => ({ line, code: error?.replace(/^\w+:/, '') })),
  );
  const page = await folder.read('out.csv.report.html');
  const calls = Object.values(found.calls).reduce((sum, n) => sum + n, 0);
  expect(requestsIn(page)).toEqual({ said: calls, inTable: calls });
  const counts = [...(sectionsOf(page)['Errors'] ?? '').matchAll(/<tr><td>[^<]*<code>[^<]*<\/code><\/td><td[^>]*>([\d,]+)<\/td>/g)].map(
    ([, n = '']) => Number(n.replaceAll(',', '')),
  );
  expect(counts.reduce((sum, n) => sum + n, 0)).toBe(bad.length);
  return found;
}

async function recordsOf(path: string): Promise<InputRecord[]> {
  return readAll(await freeze(path));
}
