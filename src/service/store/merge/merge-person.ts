/** Merges two reports of one person. Pure. */
import type { SparseRecord } from '../../records/whole-record.ts';
import { textOrNull } from '../../http/values.ts';
import { employerOf, mergeEmployers, shownEmployer, type Employer, type NameAt } from './employer.ts';
import { FORMER_EMAILS, FORMER_MOBILES, formerStatuses, withFormer, withoutFormer } from '../identity/former-keys.ts';
import {
  isAccepted,
  merge,
  recordOf,
  isSameJson,
  stampOf,
  type MergeState,
  type MergedRecord,
  type MergeResult,
  type Provenance,
  type Stamp,
} from './merge.ts';
import { isNameKnown, namesOf, maximalNames } from '../identity/reported-names.ts';
import { addressesOf, otherAddressesOf } from '../identity/other-addresses.ts';
import { idAsKey, keysOfRecord } from '../identity/other-keys.ts';
import { numbersOf } from '../identity/other-numbers.ts';
import type { PersonKeys, ReportFacts } from '../rows/normalised-person.ts';

/** Fields of a verdict on the address. */
const VERDICT: readonly string[] = ['email_status', 'email_confidence', 'email_verified_at'];
const EMPLOYER: readonly string[] = ['company_domain', 'company_name'];
const SEPARATE: readonly string[] = [...VERDICT, ...EMPLOYER, FORMER_EMAILS.list, FORMER_MOBILES.list];
/** Another value of these fields is kept beside the winner, whichever is newer. */
const IDENTIFYING: readonly string[] = ['email', 'emails', 'personal_emails', 'mobile', 'phones', 'linkedin_url'];
const MAX_FORMER = 20;
/** The key of a verdict that came without an address. */
const NO_ADDRESS = '';

/** A record split into the parts that have their own merge rules. */
interface SplitRecord {
  /** Merged field by field; lists without former keys. */
  readonly rest: MergedRecord;
  /** By address; null when no verdict is known. */
  readonly verdicts: ReadonlyMap<string, MergedRecord | null>;
  readonly mobiles: readonly string[];
  readonly keys: readonly string[];
  /** See `reported-names.ts`. */
  readonly names: readonly string[];
  readonly employer: Employer;
}

/** Facts about a report that are not in its record. */
type ReportExtras = Partial<ReportFacts & Pick<PersonKeys, 'id'>>;

/**
 * As `merge`, with rules for fields that belong together.
 * - A verdict stays with its address, and an employer's name with its domain.
 * - Identifiers are never lost: a replaced address or mobile number moves to the list of others, a profile or id to the merge state.
 * - A full name is replaced only once first and last name are both newer; then they form the name (`nameOf`).
 * The result depends on the reports and their times alone, not on the order of arrival.
 */
export function mergePerson(
  stored: MergedRecord | null,
  incoming: SparseRecord,
  from: Provenance,
  { verdictMs = null, isEmployerDerived = false, id = null }: ReportExtras = {},
  nameAt: NameAt = () => null,
): MergeResult {
  const report = reported(incoming, from, verdictMs ?? from.atMs, isEmployerDerived);
  if (stored === null) return { record: withKeys(report, keysOfRecord({}, id)), change: 'new' };
  if (isKnown(stored, report, id)) return { record: stored, change: 'same' };
  const [one, other] = [split(stored), split(report)];
  const verdicts = new Map(one.verdicts);
  for (const [address, verdict] of other.verdicts) {
    const before = verdicts.get(address) ?? null;
    verdicts.set(
      address,
      verdict === null ? before : merge(before, verdict.doc, { source: from.source, atMs: verdictMs ?? from.atMs }).record,
    );
  }
  const rest = mergeReport(one.rest, other.rest.doc, from);
  const record = assemble(
    {
      rest,
      verdicts,
      mobiles: [...one.mobiles, ...other.mobiles],
      keys: [...one.keys, ...other.keys, ...keysOfRecord({}, id)],
      names: [...one.names, ...other.names],
      employer: mergeEmployers(one.employer, other.employer),
    },
    nameAt,
    stored,
  );
  const change = changeOf(stored, record);
  return { record: change === 'same' ? stored : record, change };
}

/** Whether a report certainly adds nothing. Most repeated reports do not, and then nothing is split. */
function isKnown(stored: MergedRecord, report: MergedRecord, id: string | null): boolean {
  const isAnother = (field: string): boolean => report.doc[field] !== undefined && !isSameJson(report.doc[field], stored.doc[field]);
  if (IDENTIFYING.some(isAnother) || (id !== null && id !== stored.doc['id'] && stored.mergeState?.keys?.includes(idAsKey(id)) !== true))
    return false;
  if (!isNameKnown(stored, report.doc)) return false;
  if (
    stored.mergeState?.employer?.isDerived === true &&
    report.mergeState === undefined &&
    EMPLOYER.some((field) => report.doc[field] !== undefined)
  )
    return false;
  return !Object.keys(report.doc).some((field) => isAccepted(stored, field, report.doc[field], stampOf(report, field)[1]));
}

function reported(incoming: SparseRecord, from: Provenance, verdictMs: number, isDerived: boolean): MergedRecord {
  const { record } = merge(null, incoming, from);
  const isOfOtherTime = verdictMs !== from.atMs && VERDICT.some((field) => record.doc[field] !== undefined);
  const timed = isOfOtherTime
    ? recordOf(record.doc, (field) => [from.source, VERDICT.includes(field) ? verdictMs : from.atMs], from)
    : record;
  return isDerived ? { ...timed, mergeState: { employer: { isDerived: true } } } : timed;
}

function split(record: MergedRecord): SplitRecord {
  const { doc, mergeState = {} } = record;
  const [emails, phones] = [withoutFormer(FORMER_EMAILS, doc), withoutFormer(FORMER_MOBILES, doc)];
  const lists: SparseRecord = {
    ...(emails.given.length === 0 ? {} : { emails: emails.given }),
    ...(phones.given.length === 0 ? {} : { phones: phones.given }),
  };
  const rest = part(record, { ...without(doc, SEPARATE), ...lists });
  const verdict = part(record, only(doc, VERDICT));
  const hasVerdict = Object.keys(verdict.doc).length > 0;
  const address = textOrNull(doc['email']) ?? NO_ADDRESS;
  const [source, atMs] = stampOf(record, 'emails');
  const formerVerdicts = [...formerStatuses(doc)].map(([email, status]): [string, MergedRecord] => [
    email,
    { doc: { email_status: status }, base: { source, atMs }, others: {} },
  ]);
  const verdicts = new Map<string, MergedRecord | null>([
    ...otherAddressesOf(doc).map((email) => [email, null] as const),
    ...formerVerdicts,
    ...Object.entries(mergeState.emails ?? {}),
    [address, hasVerdict ? verdict : null],
  ]);
  const mobiles = [
    ...phones.former,
    ...(mergeState.mobiles ?? []),
    ...numbersOf({ ...only(doc, ['mobile']), ...only(lists, ['phones']) }, 'mobile'),
  ];
  return {
    rest,
    verdicts,
    mobiles,
    keys: [...keysOfRecord(doc, null), ...(mergeState.keys ?? [])],
    names: namesOf(record),
    employer: employerOf(record),
  };
}

function assemble({ rest, verdicts, mobiles, keys, names, employer }: SplitRecord, nameAt: NameAt, stored: MergedRecord): MergedRecord {
  const { email } = rest.doc;
  const [listedEmails, listedMobiles] = [addressesOf(rest.doc), numbersOf(rest.doc, 'mobile')];
  const verdict = verdicts.get(textOrNull(email) ?? NO_ADDRESS) ?? null;
  const formerEmails = bounded(
    [...verdicts].flatMap(([address, one]) =>
      address === email || address === NO_ADDRESS || (one === null && listedEmails.includes(address)) ? [] : [address],
    ),
  );
  const formerMobiles = bounded(mobiles.filter((number) => !listedMobiles.includes(number)));
  const allNames = bounded(maximalNames(names));
  const works = shownEmployer(employer, nameAt);
  const lists = {
    emails: withFormer(
      FORMER_EMAILS,
      rest.doc,
      formerEmails.filter((address) => !listedEmails.includes(address)),
      (address) => verdicts.get(address)?.doc['email_status'],
    ),
    phones: withFormer(FORMER_MOBILES, rest.doc, formerMobiles, () => null),
  };
  const values: SparseRecord = { ...rest.doc, ...lists, ...verdict?.doc, ...works.fields };
  // Existing fields keep their position, because an unchanged record is recognised by its text.
  const doc = { ...only(values, Object.keys(stored.doc)), ...only(values, Object.keys(values)) };
  const stamp = (field: string): Stamp => {
    if (verdict !== null && VERDICT.includes(field)) return stampOf(verdict, field);
    if (works.stamp !== null && EMPLOYER.includes(field)) return works.stamp;
    // A list of former entries alone has the stamp of the main field.
    const of = rest.doc[field] !== undefined ? field : field === 'phones' ? 'mobile' : 'email';
    return stampOf(rest, of);
  };
  const mergeState: MergeState = {
    ...(works.mergeState === null ? {} : { employer: works.mergeState }),
    ...(formerEmails.length === 0
      ? {}
      : { emails: Object.fromEntries(formerEmails.map((address) => [address, withOwnTimes(verdicts.get(address) ?? null)])) }),
    ...(formerMobiles.length === 0 ? {} : { mobiles: formerMobiles }),
    ...(isSameJson(allNames, namesOf(rest)) ? {} : { names: allNames }),
  };
  const record = recordOf(doc, stamp, stored.base);
  return withKeys(Object.keys(mergeState).length === 0 ? record : { ...record, mergeState }, keys);
}

/** Adds the keys that the record itself does not have to the merge state. */
function withKeys(record: MergedRecord, keys: readonly string[]): MergedRecord {
  const own = keysOfRecord(record.doc, textOrNull(record.doc['id']));
  const others = bounded(keys.filter((key) => !own.includes(key)));
  return others.length === 0 ? record : { ...record, mergeState: { ...record.mergeState, keys: others } };
}

/** No person has more; beyond that, one wrong key has merged many people. The selection does not depend on the order of arrival. */
function bounded(keys: readonly string[]): string[] {
  return [...new Set(keys)].toSorted().slice(0, MAX_FORMER);
}

/** A verdict with the time of its own fields. */
function withOwnTimes(verdict: MergedRecord | null): MergedRecord | null {
  return verdict === null ? null : recordOf(verdict.doc, (field) => stampOf(verdict, field), verdict.base);
}

/** The kind of change; a repeated report changes nothing. */
function changeOf(stored: MergedRecord, record: MergedRecord): MergeResult['change'] {
  const fields = Object.keys(record.doc);
  if (fields.length !== Object.keys(stored.doc).length || fields.some((field) => !isSameJson(record.doc[field], stored.doc[field])))
    return 'fields';
  const areOfThen = fields.every((field) => isSameJson(stampOf(record, field), stampOf(stored, field)));
  return areOfThen && isSameJson(record.base, stored.base) && isSameJson(record.mergeState ?? null, stored.mergeState ?? null)
    ? 'same'
    : 'times';
}

function mergeReport(stored: MergedRecord, incoming: SparseRecord, from: Provenance): MergedRecord {
  const { record } = merge(stored, isNameOutdated(stored, from.atMs) ? without(incoming, ['name']) : incoming, from);
  return record.doc['name'] !== undefined && isNameOutdated(record, stampOf(record, 'name')[1])
    ? part(record, without(record.doc, ['name']))
    : record;
}

/** Whether both parts of the name are newer than `nameAtMs`. */
function isNameOutdated(record: MergedRecord, nameAtMs: number): boolean {
  return ['first_name', 'last_name'].every((name) => record.doc[name] !== undefined && stampOf(record, name)[1] > nameAtMs);
}

/** A record of some fields, with their stamps. */
function part({ base, others }: MergedRecord, doc: SparseRecord): MergedRecord {
  return { doc, base, others: only(others, Object.keys(doc)) };
}

function only<T>(record: Readonly<Record<string, T>>, fields: readonly string[]): Record<string, T> {
  const found: Record<string, T> = {};
  for (const field of fields) if (record[field] !== undefined) found[field] = record[field];
  return found;
}

function without<T>(record: Readonly<Record<string, T>>, fields: readonly string[]): Record<string, T> {
  const found: Record<string, T> = {};
  for (const field in record) if (!fields.includes(field)) found[field] = record[field] as T;
  return found;
}
