/** The fields that a row lacks because a provider gave no answer. Pure. */
import type { Waterfall } from '../definition/waterfall.ts';
import { specOf, type Step } from '../steps/registry.ts';
import type { Contribution } from './contribution.ts';
import { shownKey } from './lookup-keys.ts';
import { hasAll } from './merge-records.ts';

/** A step that would go on if a provider answered that was skipped or has failed. */
export interface OpenPart {
  readonly step: Step;
  readonly key: string;
  /** The fields of `until` without a value; of a verdict its field. */
  readonly missing: readonly string[];
}

/** Whether a lookup ended without an answer of the provider. */
export function isUnanswered({ kind }: Pick<Contribution, 'kind'>): boolean {
  return kind === 'failed' || kind === 'unavailable';
}

/**
 * The open part of a step that has found something; null when nothing is wanted, or every provider that was due has answered.
 * @param contributions the ends of its lookups; undefined for a job with one service
 */
export function openPart(
  step: Step,
  { until }: Pick<Waterfall, 'until'>,
  record: Readonly<Record<string, unknown>>,
  key: string,
  contributions: readonly Contribution[] | undefined,
): OpenPart | null {
  if (contributions === undefined || !contributions.some(isUnanswered)) return null;
  const { verdicts } = specOf(step);
  const missing =
    verdicts === null
      ? until.filter((path) => !hasAll(record, [path]))
      : until.includes(String(record[verdicts.field]))
        ? []
        : [verdicts.field];
  return missing.length === 0 ? null : { step, key: shownKey(key), missing };
}
