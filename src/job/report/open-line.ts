import type { Contribution } from '../../processor/contribution.ts';
import { isUnanswered } from '../../processor/open-part.ts';
import { isOpen, type RecordResult } from '../../processor/result.ts';
import type { FinishedOpen, FinishedStep, InputManifest, InputRecord } from '../../formats/input-record.ts';
import { originOf } from './error-line.ts';

/**
 * A line of the file of open rows: `{file, line, outcome, kind, verdict, steps}`. Each step that was asked has `{step, key, missing,
 * providers}`.
 * Null unless the row lacks a wanted field because a provider gave no answer.
 */
export function openLine(manifest: InputManifest, record: InputRecord, result: RecordResult): string | null {
  if (!isOpen(result)) return null;
  const verify = result.answers['verify'];
  const content: Omit<FinishedOpen, 'line'> = {
    outcome: result.outcome,
    kind: result.isCompany === true ? 'company' : 'person',
    verdict: verify === undefined ? null : String(verify.record['result']),
    steps: stepsOf(result),
  };
  return JSON.stringify({ ...originOf(manifest, record), ...content });
}

function stepsOf({ contributions = [], open = [] }: RecordResult): FinishedStep[] {
  return [...Map.groupBy(contributions, ({ step }) => step)].map(([step, ends]) => {
    const { key = null, missing = [] } = open.find((one) => one.step === step) ?? {};
    return { step, key, missing, providers: ends.map(providerOf) };
  });
}

function providerOf(end: Contribution): FinishedStep['providers'][number] {
  const { provider: name, kind, fields, code } = end;
  return { name, end: kind, ...(fields === 0 ? {} : { fields }), ...(isUnanswered(end) && code !== undefined ? { code } : {}) };
}
