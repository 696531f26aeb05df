/** Reads people, companies and evidence from the store. Every read is one prepared statement by key. */
import type { DomainEvidence, EvidenceSource, MailboxEvidence } from '../../verification/types.ts';
import { phoneOf } from '../records/field-types.ts';
import { normalise } from '../records/normalise.ts';
import { absentCompanyFields, companyText, type SparseRecord } from '../records/whole-record.ts';
import { aliasReader, domainsReader, ownerReader } from './identity/domain-aliases.ts';
import { idAsKey, profileAsKey } from './identity/other-keys.ts';
import { numberTest } from './identity/other-numbers.ts';
import { PERSON_COLUMNS, PersonRow, updatedAt, type PersonValues } from './rows/person-row.ts';
import { RowHints } from './rows/row-hints.ts';
import { suppressionTest, type Traces } from './identity/suppressions.ts';
import type { Store } from './store.ts';
import { singleReads, type PreparedReads } from './read-transaction.ts';

/** Namesakes at one company that are considered; with more, a name identifies nobody. */
const MAX_NAMESAKES = 20;
/**
 * Evidence on a mailbox: mail events, and the status in its owner's record. A status of `bounced` there may be a mere verdict, so it counts
 * as `found_dead`.
 */
const MAILBOX = `
  SELECT 'bounced' AS kind, bounced_at AS at FROM deliveries WHERE email = ?1 AND bounced_at IS NOT NULL
  UNION ALL SELECT 'delivered', delivered_at FROM deliveries WHERE email = ?1 AND delivered_at IS NOT NULL
  UNION ALL SELECT iif(email_status = 'bounced', 'found_dead', email_status), email_verified_at FROM people WHERE email = ?1
  AND email_status IN ('verified', 'bounced')`;

interface NumberOwner {
  readonly row: PersonRow;
  /** A number that is not a mobile one may belong to a desk or switchboard. */
  readonly isMobile: boolean;
}

export interface Directory extends EvidenceSource {
  /** By any normalised address of the person. */
  personByEmail(email: string): PersonRow | null;
  /** By the row's id, else by a further id that nobody else has. */
  personById(id: string): PersonRow | null;
  /** By the key of a profile, else of a former one that nobody else has. */
  personByProfile(profile: string): PersonRow | null;
  /** By a number in E.164: the mobile one, else another. Null if several people have it, or if it is the employer's. */
  personByNumber(number: string): NumberOwner | null;
  /** Whether any person has a number (E.164), however many share it. */
  hasNumber(number: string): boolean;
  /** People of this name (normalised) at the company with a domain, or at a company of a name (normalised). */
  peopleByName(nameKey: string, where: { readonly domain: string } | { readonly company: string }): PersonRow[];
  /** The company's whole record as JSON, by its domain or an alias (normalised). */
  companyByDomain(domain: string): string | null;
  /** The employer's record as JSON. If it has none, name and domain from the person's record; null if they are unknown. */
  companyOf(row: PersonRow): string | null;
  /** Whether a person with any of these traces was erased. */
  isSuppressed(traces: Traces): boolean;
  /** Whether the store can be read. */
  ready(): boolean;
}

/** @param reads how frequent lookups read: each by itself, or all of an event-loop turn in one transaction */
export function openDirectory(store: Store, reads: PreparedReads = singleReads(store)): Directory {
  const one = `SELECT ${PERSON_COLUMNS} FROM people WHERE`;
  const toPerson = (row: Readonly<Record<string, unknown>> | undefined): PersonRow | null => (row === undefined ? null : PersonRow.of(row));
  const byEmail = reads.prepare(`${one} email = ?`);
  const byOther = store.prepare(
    `SELECT ${PERSON_COLUMNS} FROM other_addresses JOIN people ON people.seq ` +
      '= person WHERE other_addresses.email = ? ORDER BY person LIMIT 1',
  );
  const byId = store.prepare(`${one} id = ?`);
  const byProfile = store.prepare(`${one} profile = ? ORDER BY observed_at DESC, seq LIMIT 1`);
  const byOtherKey = store.prepare(`SELECT ${PERSON_COLUMNS} FROM other_keys JOIN people ON people.seq = person WHERE key = ? LIMIT 2`);
  const byMobile = store.prepare(`${one} mobile = ? LIMIT 2`);
  const byOtherNumber = store.prepare(
    `SELECT ${PERSON_COLUMNS} FROM other_numbers JOIN people ON people.seq = person WHERE number = ? LIMIT 2`,
  );
  const byName = store.prepare(`${one} name_key = ? AND company_domain = ? ORDER BY id LIMIT ${MAX_NAMESAKES}`);
  const byNameAlone = store.prepare(`${one} name_key = ? ORDER BY id LIMIT 1000`);
  const mailbox = store.prepare(MAILBOX);
  const domain = store.prepare('SELECT accepts_all, email_pattern FROM companies WHERE domain = ?');
  const probe = store.prepare('SELECT 1 FROM companies LIMIT 1');
  const readCompany = companyReader(store, reads);
  const [ownerOf, domainsOf] = [ownerReader(store), domainsReader(store)];

  const asReported = ({ companyDomain, companyName }: PersonRow): string | null => {
    if (companyDomain === null && companyName === null) return null;
    const company = { name: companyName, domain: companyDomain };
    return companyText(JSON.stringify(company), { signals: null, updatedAt: null }, absentCompanyFields(company));
  };
  const ofOne = (key: string): PersonRow | null => {
    const found = byOtherKey.all(key);
    return found.length === 1 ? toPerson(found[0]) : null;
  };
  const companyOf = (row: PersonRow): string | null =>
    (row.companyDomain === null ? null : readCompany(row.companyDomain)) ?? asReported(row);

  return {
    personByEmail(email) {
      const values = byEmail(email);
      return values === undefined ? toPerson(byOther.get(email)) : new PersonRow(values as PersonValues);
    },
    personById: (id) => toPerson(byId.get(id)) ?? ofOne(idAsKey(id)),
    personByProfile: (profile) => toPerson(byProfile.get(profile)) ?? ofOne(profileAsKey(profile)),
    personByNumber(number) {
      const owners = byMobile.all(number);
      const found = owners.length > 0 ? owners : byOtherNumber.all(number);
      const row = found.length === 1 ? toPerson(found[0]) : null;
      if (row === null || phoneOf(companyField(companyOf(row), 'phone')) === number) return null;
      return { row, isMobile: row.mobiles.includes(number) };
    },
    hasNumber: numberTest(store),
    peopleByName(nameKey, where) {
      if ('domain' in where) {
        // People of a company may be stored under any of its domains.
        const rows = domainsOf(ownerOf(where.domain) ?? where.domain).flatMap((domain) => byName.all(nameKey, domain));
        return rows.slice(0, MAX_NAMESAKES).flatMap((row) => toPerson(row) ?? []);
      }
      const rows = byNameAlone.all(nameKey).flatMap((row) => toPerson(row) ?? []);
      return rows.filter((row) => companyNameOf(companyOf(row)) === where.company).slice(0, MAX_NAMESAKES);
    },
    companyByDomain: readCompany,
    companyOf,
    isSuppressed: suppressionTest(store),
    mailbox: (email) => mailbox.all(email).map(({ kind, at }) => ({ kind: kind as MailboxEvidence['kind'], atMs: at as number | null })),
    domain(name): DomainEvidence | null {
      const row = domain.get(name);
      if (row === undefined) return null;
      const acceptsAll = row['accepts_all'];
      return { acceptsAll: acceptsAll === null ? null : acceptsAll === 1, emailPattern: row['email_pattern'] as string | null };
    },
    ready() {
      try {
        probe.get();
        return true;
      } catch {
        return false;
      }
    },
  };
}

/** The columns of a company that an answer needs, and those that identify its row. */
type CompanyValues = readonly [doc: string, observedMs: number, signals: string | null, absentFields: number, domain: string, seq: number];

function companyReader(store: Store, reads: PreparedReads): (domain: string) => string | null {
  const find = companyFinder(reads);
  const aliasOf = aliasReader(store);
  return (domain) => {
    const row = find(domain) ?? find(aliasOf(domain));
    if (row === undefined) return null;
    const [doc, observedMs, signals, absentFields] = row;
    return companyText(doc, { signals, updatedAt: updatedAt(observedMs) }, absentFields);
  };
}

/** Many people share an employer, so the row of a company is cached as a hint and found without an index. */
function companyFinder(reads: PreparedReads): (domain: string | null) => CompanyValues | undefined {
  const one = 'SELECT doc, observed_at, shown_signals, absent_fields, domain, seq FROM companies WHERE';
  const byDomain = reads.prepare(`${one} domain = ?`);
  const bySeq = reads.prepare(`${one} seq = ?`);
  const hints = new RowHints();
  return (domain) => {
    if (domain === null) return undefined;
    const hint = hints.find(domain);
    const guessed = hint === 0 ? undefined : (bySeq(hint) as CompanyValues | undefined);
    if (guessed?.[4] === domain) return guessed;
    const row = byDomain(domain) as CompanyValues | undefined;
    if (row !== undefined) hints.put(domain, row[5]);
    return row;
  };
}

function companyNameOf(text: string | null): string | null {
  const name = companyField(text, 'name');
  return typeof name === 'string' ? normalise(name) : null;
}

function companyField(text: string | null, field: 'name' | 'phone'): unknown {
  return text === null ? null : (JSON.parse(text) as SparseRecord)[field];
}
