/** The names under which reports know a person. The shown name may be another, or combined from several reports. Pure. */
import { normalise, words } from '../../records/normalise.ts';
import { fullName } from '../../records/person-name.ts';
import type { SparseRecord } from '../../records/whole-record.ts';
import type { MergedRecord } from '../merge/merge.ts';

/** The words of a name, sorted; null if there is no name. */
export function reportedName(doc: SparseRecord): string | null {
  const name = fullName(doc);
  return name === null ? null : words(normalise(name)).toSorted().join(' ');
}

/** All names of a merged record. */
export function namesOf({ doc, mergeState = {} }: MergedRecord): readonly string[] {
  const name = mergeState.names === undefined ? reportedName(doc) : null;
  return mergeState.names ?? (name === null ? [] : [name]);
}

/** Names that are not contained in another one. The result does not depend on the order of arrival. */
export function maximalNames(names: readonly string[]): string[] {
  const different = [...new Set(names)];
  return different.filter((name) => !different.some((other) => other !== name && isNamePart(name, other)));
}

/** Whether a report's name is contained in a known one. */
export function isNameKnown(stored: MergedRecord, report: SparseRecord): boolean {
  if (stored.mergeState?.names === undefined && fullName(report) === fullName(stored.doc)) return true;
  const name = reportedName(report);
  return name === null || namesOf(stored).some((other) => isNamePart(name, other));
}

/** Whether `other` has all words of `name`. */
export function isNamePart(name: string, other: string): boolean {
  const has = words(other);
  return words(name).every((word) => has.includes(word));
}
