/**
 * Former main addresses and mobile numbers. They stay in the stored lists of a person, marked as former, so that lookups and erasures still
 * find the person. No answer shows them. Pure.
 */
import type { SparseRecord } from '../../records/whole-record.ts';
import { isObject } from '../../../util/is-object.ts';
import { textOrNull } from '../../http/values.ts';
import { addressesOf } from './other-addresses.ts';
import { numbersOf } from './other-numbers.ts';

/** An identifying field, and the list of further values of its kind. */
export interface FormerKind {
  readonly field: 'email' | 'mobile';
  readonly list: 'emails' | 'phones';
  /** The `type` of a former entry. */
  readonly type: string;
  readonly keysIn: (list: readonly unknown[]) => readonly string[];
  readonly entryOf: (key: string, type: string, status: string | null) => SparseRecord;
}

export const FORMER_EMAILS: FormerKind = {
  field: 'email',
  list: 'emails',
  type: 'former',
  keysIn: (emails) => addressesOf({ emails }),
  entryOf: (email, type, status) => ({ email, type, status }),
};
/** The type contains "mobile", so that these count as mobile numbers. */
export const FORMER_MOBILES: FormerKind = {
  field: 'mobile',
  list: 'phones',
  type: 'former_mobile',
  keysIn: (phones) => numbersOf({ phones }),
  entryOf: (number, type) => ({ number, type }),
};

/** How the type of every former entry begins in the text of a record. */
const FORMER = '"type":"former';

/** Whether the text of a record may have former entries. */
export function mayHaveFormer(text: string): boolean {
  return text.includes(FORMER);
}

/** A record without the former entries of its lists, as answers show it. */
export function withoutFormerKeys(doc: SparseRecord): SparseRecord {
  const shown: Record<string, unknown> = { ...doc };
  for (const kind of [FORMER_EMAILS, FORMER_MOBILES]) {
    if (withoutFormer(kind, doc).former.length === 0) continue;
    const { given } = withoutFormer(kind, doc);
    if (given.length === 0) delete shown[kind.list];
    else shown[kind.list] = given;
  }
  return shown;
}

/** A list without its former entries, and the keys of those. */
export function withoutFormer(
  { list, type, keysIn }: FormerKind,
  doc: SparseRecord,
): { given: readonly unknown[]; former: readonly string[] } {
  const all = doc[list];
  if (!Array.isArray(all)) return { given: [], former: [] };
  const isFormer = (entry: unknown): boolean => isObject(entry) && entry['type'] === type;
  return { given: all.filter((entry) => !isFormer(entry)), former: keysIn(all.filter(isFormer)) };
}

/** The status of each former address in the list. */
export function formerStatuses({ emails }: SparseRecord): Map<string, string> {
  const found = new Map<string, string>();
  for (const entry of Array.isArray(emails) ? (emails as readonly unknown[]) : []) {
    if (!isObject(entry) || entry['type'] !== FORMER_EMAILS.type) continue;
    const [[address], status] = [FORMER_EMAILS.keysIn([entry]), textOrNull(entry['status'])];
    if (address !== undefined && status !== null) found.set(address, status);
  }
  return found;
}

/**
 * A list with the former keys that it lacks appended; undefined if it is empty.
 * @param statusOf the status of a key
 */
export function withFormer(
  { list, type, keysIn, entryOf }: FormerKind,
  doc: SparseRecord,
  former: readonly string[],
  statusOf: (key: string) => unknown,
): readonly unknown[] | undefined {
  const given = Array.isArray(doc[list]) ? (doc[list] as readonly unknown[]) : [];
  const listed = keysIn(given);
  const all = [
    ...given,
    ...[...former]
      .sort()
      .filter((key) => !listed.includes(key))
      .map((key) => entryOf(key, type, textOrNull(statusOf(key)))),
  ];
  return all.length === 0 ? undefined : all;
}
