/** Two reports of one person made into one. Pure. */
import type { SparseRecord } from '../records.ts';
import { textOrNull } from '../values.ts';
import { employerOf, mergeEmployers, shownEmployer, type Employer, type NameAt } from './employer.ts';
import { FORMER_EMAILS, FORMER_MOBILES, formerStatuses, withFormer, withoutFormer } from './former-keys.ts';
import { isNews, merge, recordOf, same, stampOf, type Aside, type KeptRecord, type Merged, type Provenance, type Stamp } from './merge.ts';
import { isNameKnown, namesOf, wholeNames } from './names-told.ts';
import { addressesOf, otherAddressesOf } from './other-addresses.ts';
import { idAsKey, keysOfRecord } from './other-keys.ts';
import { numbersOf } from './other-numbers.ts';
import type { PersonKeys, ReportFacts } from './prepared-person.ts';

/** What a verdict on the address says. */
const OF_THE_ADDRESS: readonly string[] = ['email_status', 'email_confidence', 'email_verified_at'];
const EMPLOYER: readonly string[] = ['company_domain', 'company_name'];
const APART: readonly string[] = [...OF_THE_ADDRESS, ...EMPLOYER, FORMER_EMAILS.list, FORMER_MOBILES.list];
/** What of another value stays, whichever is newer. */
const KNOWN_BY: readonly string[] = ['email', 'emails', 'personal_emails', 'mobile', 'phones', 'linkedin_url'];
const MAX_FORMER = 20;
/** Whose a verdict is that came with no address. */
const NO_ADDRESS = '';

/** A record taken apart into what is merged by rules of its own. */
interface Parts {
  /** Field by field; lists without former keys. */
  readonly rest: KeptRecord;
  /** By the address that they are of; null: nothing is known of it. */
  readonly verdicts: ReadonlyMap<string, KeptRecord | null>;
  readonly mobiles: readonly string[];
  readonly keys: readonly string[];
  /** `names-told.ts` */
  readonly names: readonly string[];
  readonly employer: Employer;
}

/** What of somebody who comes is told beside their record. */
type Told = Partial<ReportFacts & Pick<PersonKeys, 'id'>>;

/**
 * As `merge`, but for what belongs together: a verdict stays with its address, an employer's name with its domain, and whatever somebody was known by is kept: an address or mobile number
 * that the newest reports have no more among the others, a profile or another id beside the record. A name holds until first and last name are both known from later: then they make it (`nameOf`). One of them alone replaces nothing of it.
 * What is kept follows from the reports and their times alone, so that the order in which they arrive makes no difference.
 */
export function mergePerson(kept: KeptRecord | null, incoming: SparseRecord, from: Provenance, { learntMs = null, isEmployerDerived = false, id = null }: Told = {}, nameAt: NameAt = () => null): Merged {
  const report = reported(incoming, from, learntMs ?? from.atMs, isEmployerDerived);
  if (kept === null) return { record: withKeys(report, keysOfRecord({}, id)), change: 'new' };
  if (isKnown(kept, report, id)) return { record: kept, change: 'same' };
  const [one, other] = [takenApart(kept), takenApart(report)];
  const verdicts = new Map(one.verdicts);
  for (const [address, verdict] of other.verdicts) {
    const before = verdicts.get(address) ?? null;
    verdicts.set(address, verdict === null ? before : merge(before, verdict.doc, { source: from.source, atMs: learntMs ?? from.atMs }).record);
  }
  const rest = mergeReport(one.rest, other.rest.doc, from);
  const record = putTogether({ rest, verdicts, mobiles: [...one.mobiles, ...other.mobiles], keys: [...one.keys, ...other.keys, ...keysOfRecord({}, id)], names: [...one.names, ...other.names], employer: mergeEmployers(one.employer, other.employer) }, nameAt, kept);
  const change = changeOf(kept, record);
  return { record: change === 'same' ? kept : record, change };
}

/** Whether a report plainly says nothing that is not known. Most of what comes again does, and then nothing is taken apart. */
function isKnown(kept: KeptRecord, report: KeptRecord, id: string | null): boolean {
  const isAnother = (field: string): boolean => report.doc[field] !== undefined && !same(report.doc[field], kept.doc[field]);
  if (KNOWN_BY.some(isAnother) || (id !== null && id !== kept.doc['id'] && kept.aside?.keys?.includes(idAsKey(id)) !== true)) return false;
  if (!isNameKnown(kept, report.doc)) return false;
  if (kept.aside?.employer?.isDerived === true && report.aside === undefined && EMPLOYER.some((field) => report.doc[field] !== undefined)) return false;
  return !Object.keys(report.doc).some((field) => isNews(kept, field, report.doc[field], stampOf(report, field)[1]));
}

function reported(incoming: SparseRecord, from: Provenance, learntMs: number, isDerived: boolean): KeptRecord {
  const { record } = merge(null, incoming, from);
  const isOfOtherTime = learntMs !== from.atMs && OF_THE_ADDRESS.some((field) => record.doc[field] !== undefined);
  const timed = isOfOtherTime ? recordOf(record.doc, (field) => [from.source, OF_THE_ADDRESS.includes(field) ? learntMs : from.atMs], from) : record;
  return isDerived ? { ...timed, aside: { employer: { isDerived: true } } } : timed;
}

function takenApart(record: KeptRecord): Parts {
  const { doc, aside = {} } = record;
  const [emails, phones] = [withoutFormer(FORMER_EMAILS, doc), withoutFormer(FORMER_MOBILES, doc)];
  const lists: SparseRecord = { ...(emails.given.length === 0 ? {} : { emails: emails.given }), ...(phones.given.length === 0 ? {} : { phones: phones.given }) };
  const rest = part(record, { ...without(doc, APART), ...lists });
  const verdict = part(record, only(doc, OF_THE_ADDRESS));
  const hasVerdict = Object.keys(verdict.doc).length > 0;
  const address = textOrNull(doc['email']) ?? NO_ADDRESS;
  const [source, atMs] = stampOf(record, 'emails');
  const told = [...formerStatuses(doc)].map(([email, status]): [string, KeptRecord] => [email, { doc: { email_status: status }, base: { source, atMs }, others: {} }]);
  const verdicts = new Map<string, KeptRecord | null>([...otherAddressesOf(doc).map((email) => [email, null] as const), ...told, ...Object.entries(aside.emails ?? {}), [address, hasVerdict ? verdict : null]]);
  const mobiles = [...phones.former, ...(aside.mobiles ?? []), ...numbersOf({ ...only(doc, ['mobile']), ...only(lists, ['phones']) }, 'mobile')];
  return { rest, verdicts, mobiles, keys: [...keysOfRecord(doc, null), ...(aside.keys ?? [])], names: namesOf(record), employer: employerOf(record) };
}

function putTogether({ rest, verdicts, mobiles, keys, names, employer }: Parts, nameAt: NameAt, kept: KeptRecord): KeptRecord {
  const { email } = rest.doc;
  const [listed, listedMobiles] = [addressesOf(rest.doc), numbersOf(rest.doc, 'mobile')];
  const verdict = verdicts.get(textOrNull(email) ?? NO_ADDRESS) ?? null;
  const formerEmails = fewOf([...verdicts].flatMap(([address, said]) => (address === email || address === NO_ADDRESS || (said === null && listed.includes(address)) ? [] : [address])));
  const formerMobiles = fewOf(mobiles.filter((number) => !listedMobiles.includes(number)));
  const called = fewOf(wholeNames(names));
  const works = shownEmployer(employer, nameAt);
  const lists = { emails: withFormer(FORMER_EMAILS, rest.doc, formerEmails.filter((address) => !listed.includes(address)), (address) => verdicts.get(address)?.doc['email_status']), phones: withFormer(FORMER_MOBILES, rest.doc, formerMobiles, () => null) };
  const values: SparseRecord = { ...rest.doc, ...lists, ...verdict?.doc, ...works.fields };
  // What was there stays where it was: a record that comes again is known by its text.
  const doc = { ...only(values, Object.keys(kept.doc)), ...only(values, Object.keys(values)) };
  const stamp = (field: string): Stamp => {
    if (verdict !== null && OF_THE_ADDRESS.includes(field)) return stampOf(verdict, field);
    if (works.stamp !== null && EMPLOYER.includes(field)) return works.stamp;
    // A list of nothing but former ones is of who told of the main one.
    const of = rest.doc[field] !== undefined ? field : field === 'phones' ? 'mobile' : 'email';
    return stampOf(rest, of);
  };
  const aside: Aside = {
    ...(works.aside === null ? {} : { employer: works.aside }),
    ...(formerEmails.length === 0 ? {} : { emails: Object.fromEntries(formerEmails.map((address) => [address, byItself(verdicts.get(address) ?? null)])) }),
    ...(formerMobiles.length === 0 ? {} : { mobiles: formerMobiles }),
    ...(same(called, namesOf(rest)) ? {} : { names: called }),
  };
  const record = recordOf(doc, stamp, kept.base);
  return withKeys(Object.keys(aside).length === 0 ? record : { ...record, aside }, keys);
}

/** A record with the keys beside it that it has not in itself. */
function withKeys(record: KeptRecord, keys: readonly string[]): KeptRecord {
  const own = keysOfRecord(record.doc, textOrNull(record.doc['id']));
  const others = fewOf(keys.filter((key) => !own.includes(key)));
  return others.length === 0 ? record : { ...record, aside: { ...record.aside, keys: others } };
}

/** Nobody has had more: they are many people's who came by one wrong key. Which ones stay does not depend on the order in which they came. */
function fewOf(keys: readonly string[]): string[] {
  return [...new Set(keys)].toSorted().slice(0, MAX_FORMER);
}

/** A verdict that is of when its own fields are. */
function byItself(verdict: KeptRecord | null): KeptRecord | null {
  return verdict === null ? null : recordOf(verdict.doc, (field) => stampOf(verdict, field), verdict.base);
}

/** What becomes of a record; what comes again changes nothing. */
function changeOf(kept: KeptRecord, record: KeptRecord): Merged['change'] {
  const fields = Object.keys(record.doc);
  if (fields.length !== Object.keys(kept.doc).length || fields.some((field) => !same(record.doc[field], kept.doc[field]))) return 'fields';
  const areOfThen = fields.every((field) => same(stampOf(record, field), stampOf(kept, field)));
  return areOfThen && same(record.base, kept.base) && same(record.aside ?? null, kept.aside ?? null) ? 'same' : 'times';
}

function mergeReport(kept: KeptRecord, incoming: SparseRecord, from: Provenance): KeptRecord {
  const { record } = merge(kept, isOutgrown(kept, from.atMs) ? without(incoming, ['name']) : incoming, from);
  return record.doc['name'] !== undefined && isOutgrown(record, stampOf(record, 'name')[1]) ? part(record, without(record.doc, ['name'])) : record;
}

/** Whether both parts of the name are of after `nameAtMs`. */
function isOutgrown(record: KeptRecord, nameAtMs: number): boolean {
  return ['first_name', 'last_name'].every((name) => record.doc[name] !== undefined && stampOf(record, name)[1] > nameAtMs);
}

/** Fields of a record, as of when they are. */
function part({ base, others }: KeptRecord, doc: SparseRecord): KeptRecord {
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
