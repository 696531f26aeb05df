/** What reports called somebody: the name that is shown may be another by now, or made of the parts of several. Pure. */
import { fold, words } from '../fold.ts';
import { nameOf } from '../person-name.ts';
import type { SparseRecord } from '../records.ts';
import type { KeptRecord } from './merge.ts';

/** A name as the words that it has, in their order; null: none. */
export function nameTold(doc: SparseRecord): string | null {
  const name = nameOf(doc);
  return name === null ? null : words(fold(name)).toSorted().join(' ');
}

/** All names of a kept record. */
export function namesOf({ doc, aside = {} }: KeptRecord): readonly string[] {
  const name = aside.names === undefined ? nameTold(doc) : null;
  return aside.names ?? (name === null ? [] : [name]);
}

/** Names without those of which another has all words: what follows from them alone, in whatever order they came. */
export function wholeNames(names: readonly string[]): string[] {
  const different = [...new Set(names)];
  return different.filter((name) => !different.some((other) => other !== name && isPartOf(name, other)));
}

/** Whether a report calls somebody nothing that is not known. */
export function isNameKnown(kept: KeptRecord, report: SparseRecord): boolean {
  if (kept.aside?.names === undefined && nameOf(report) === nameOf(kept.doc)) return true;
  const name = nameTold(report);
  return name === null || namesOf(kept).some((other) => isPartOf(name, other));
}

/** Whether the other has all words of a name. */
export function isPartOf(name: string, other: string): boolean {
  const has = words(other);
  return words(name).every((word) => has.includes(word));
}
