/** Addresses and mobile numbers that were somebody's main ones: they stay in the lists of others, said to be former ones, so that they are found by them and erased with them. Pure. */
import type { SparseRecord } from '../records.ts';
import { isObject, textOrNull } from '../values.ts';
import { addressesOf } from './other-addresses.ts';
import { numbersOf } from './other-numbers.ts';

/** A field that one is known by, and the list of others like it. */
export interface FormerKind {
  readonly field: 'email' | 'mobile';
  readonly list: 'emails' | 'phones';
  /** Of a former one. */
  readonly type: string;
  readonly keysIn: (list: readonly unknown[]) => readonly string[];
  readonly entryOf: (key: string, type: string, status: string | null) => SparseRecord;
}

export const FORMER_EMAILS: FormerKind = { field: 'email', list: 'emails', type: 'former', keysIn: (emails) => addressesOf({ emails }), entryOf: (email, type, status) => ({ email, type, status }) };
/** Their type names them as mobile ones. */
export const FORMER_MOBILES: FormerKind = { field: 'mobile', list: 'phones', type: 'former_mobile', keysIn: (phones) => numbersOf({ phones }), entryOf: (number, type) => ({ number, type }) };

/** A list as it was given, and the former keys that it names. */
export function withoutFormer({ list, type, keysIn }: FormerKind, doc: SparseRecord): { given: readonly unknown[]; former: readonly string[] } {
  const all = doc[list];
  if (!Array.isArray(all)) return { given: [], former: [] };
  const isFormer = (entry: unknown): boolean => isObject(entry) && entry['type'] === type;
  return { given: all.filter((entry) => !isFormer(entry)), former: keysIn(all.filter(isFormer)) };
}

/** What was known of former addresses, by the list that names them. */
export function formerStatuses({ emails }: SparseRecord): Map<string, string> {
  const found = new Map<string, string>();
  for (const entry of Array.isArray(emails) ? (emails as readonly unknown[]) : []) {
    if (!isObject(entry) || entry['type'] !== FORMER_EMAILS.type) continue;
    const [[address], status] = [FORMER_EMAILS.keysIn([entry]), textOrNull(entry['status'])];
    if (address !== undefined && status !== null) found.set(address, status);
  }
  return found;
}

/** A record with its main address, which is somebody else's, among the others; of what was known of it the status stays. */
export function withoutMain(record: SparseRecord): SparseRecord {
  const { email, email_status: status, email_confidence: _confidence, email_verified_at: _at, ...rest } = record;
  const address = email as string;
  if (addressesOf(rest).includes(address)) return rest;
  const emails = Array.isArray(rest['emails']) ? (rest['emails'] as readonly unknown[]) : [];
  return { ...rest, emails: [...emails, FORMER_EMAILS.entryOf(address, FORMER_EMAILS.type, textOrNull(status))] };
}

/** A list as it was given with the former keys behind it, those that it has not; undefined: it is empty. @param statusOf what was known of one */
export function withFormer({ list, type, keysIn, entryOf }: FormerKind, doc: SparseRecord, former: readonly string[], statusOf: (key: string) => unknown): readonly unknown[] | undefined {
  const given = Array.isArray(doc[list]) ? (doc[list] as readonly unknown[]) : [];
  const listed = keysIn(given);
  const all = [...given, ...[...former].sort().filter((key) => !listed.includes(key)).map((key) => entryOf(key, type, textOrNull(statusOf(key))))];
  return all.length === 0 ? undefined : all;
}
