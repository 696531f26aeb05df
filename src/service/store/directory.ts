/** Reads people, companies and evidence from the store. Every read is one prepared statement by key. */
import type { DomainEvidence, EvidenceSource, MailboxEvidence } from '../../verification/types.ts';
import { phoneOf } from '../field-types.ts';
import { fold } from '../fold.ts';
import { companyText, type SparseRecord } from '../records.ts';
import { aliasReader, domainsReader, ownerReader } from './domain-aliases.ts';
import { idAsKey, profileAsKey } from './other-keys.ts';
import { numbersOf, numberTest } from './other-numbers.ts';
import { PERSON_COLUMNS, PersonRow, updatedAt, type PersonValues } from './person-row.ts';
import { RowHints } from './row-hints.ts';
import { suppressionTest, type Traces } from './suppressions.ts';
import type { Store } from './store.ts';
import { atOnce, type Turn } from './turn.ts';

/** Namesakes at one company that are told apart; more are nobody in particular. */
const MAX_NAMESAKES = 20;
/** What became of mails to a mailbox, and what the record of its owner says of it, which may be no more than somebody's verdict: a status names no mail. */
const MAILBOX = `
  SELECT 'bounced' AS kind, bounced_at AS at FROM deliveries WHERE email = ?1 AND bounced_at IS NOT NULL
  UNION ALL SELECT 'delivered', delivered_at FROM deliveries WHERE email = ?1 AND delivered_at IS NOT NULL
  UNION ALL SELECT iif(email_status = 'bounced', 'found_dead', email_status), email_verified_at FROM people WHERE email = ?1 AND email_status IN ('verified', 'bounced')`;

export interface NumberOwner {
  readonly row: PersonRow;
  /** Whether it is their mobile number: another may be a desk's or a switchboard's. */
  readonly isMobile: boolean;
}

export interface Directory extends EvidenceSource {
  /** By any normalised address of the person. */
  personByEmail(email: string): PersonRow | null;
  /** By the id that they are named by, else one that is theirs alone. */
  personById(id: string): PersonRow | null;
  /** By a profile's key, else a former one of theirs alone. */
  personByProfile(profile: string): PersonRow | null;
  /** By a number in E.164: their mobile one, else another of theirs. Null when several people have it, or it is that of where they work. */
  personByNumber(number: string): NumberOwner | null;
  /** Whether anybody has a number in E.164, however many do. */
  hasNumber(number: string): boolean;
  /** People of this name (folded), at the company with this domain or, with `company`, at a company of this name (folded). */
  peopleByName(nameKey: string, where: { readonly domain: string } | { readonly company: string }): PersonRow[];
  /** The whole company record as JSON text, by normalised domain, its own or another one of it. */
  companyByDomain(domain: string): string | null;
  /** The company record of where somebody works: where it has none, their record's name and domain of it; null when nothing is known. */
  companyOf(row: PersonRow): string | null;
  /** Whether whoever is known by any of these asked to be removed. */
  isSuppressed(traces: Traces): boolean;
  /** Whether the store can be read. */
  ready(): boolean;
}

/**
 * @param turn as of when the hot reads see the store: each by itself, or all of a turn of the event loop together
 */
export function openDirectory(store: Store, turn: Turn = atOnce(store)): Directory {
  const one = `SELECT ${PERSON_COLUMNS} FROM people WHERE`;
  const toPerson = (row: Readonly<Record<string, unknown>> | undefined): PersonRow | null => (row === undefined ? null : PersonRow.of(row));
  const byEmail = turn.prepare(`${one} email = ?`);
  const byOther = store.prepare(`SELECT ${PERSON_COLUMNS} FROM other_addresses JOIN people ON people.seq = person WHERE other_addresses.email = ? ORDER BY person LIMIT 1`);
  const byId = store.prepare(`${one} id = ?`);
  const byProfile = store.prepare(`${one} profile = ? ORDER BY observed_at DESC, seq LIMIT 1`);
  const byOtherKey = store.prepare(`SELECT ${PERSON_COLUMNS} FROM other_keys JOIN people ON people.seq = person WHERE key = ? LIMIT 2`);
  const byMobile = store.prepare(`${one} mobile = ? LIMIT 2`);
  const byOtherNumber = store.prepare(`SELECT ${PERSON_COLUMNS} FROM other_numbers JOIN people ON people.seq = person WHERE number = ? LIMIT 2`);
  const byName = store.prepare(`${one} name_key = ? AND company_domain = ? ORDER BY id LIMIT ${MAX_NAMESAKES}`);
  const byNameAlone = store.prepare(`${one} name_key = ? ORDER BY id LIMIT 1000`);
  const mailbox = store.prepare(MAILBOX);
  const domain = store.prepare('SELECT accepts_all, email_pattern FROM companies WHERE domain = ?');
  const probe = store.prepare('SELECT 1 FROM companies LIMIT 1');
  const readCompany = companyReader(store, turn);
  const [ownerOf, domainsOf] = [ownerReader(store), domainsReader(store)];

  const asTold = ({ companyDomain, companyName }: PersonRow): string | null => (companyDomain === null && companyName === null ? null : companyText(JSON.stringify({ name: companyName, domain: companyDomain }), { signals: null, updatedAt: null }, null));
  const ofOne = (key: string): PersonRow | null => {
    const found = byOtherKey.all(key);
    return found.length === 1 ? toPerson(found[0]) : null;
  };
  const companyOf = (row: PersonRow): string | null => (row.companyDomain === null ? null : readCompany(row.companyDomain)) ?? asTold(row);

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
      return { row, isMobile: numbersOf(row.person, 'mobile').includes(number) };
    },
    hasNumber: numberTest(store),
    peopleByName(nameKey, where) {
      if ('domain' in where) {
        // Some of a company's people are known by another domain of it.
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

/** A row as it is read: its text, when it is of, the signals that it shows, which fields it lacks, and by what it is found. */
type CompanyValues = readonly [doc: string, observedMs: number, signals: string | null, lacking: number | null, domain: string, seq: number];

function companyReader(store: Store, turn: Turn): (domain: string) => string | null {
  const find = companyFinder(turn);
  const aliasOf = aliasReader(store);
  return (domain) => {
    const row = find(domain) ?? find(aliasOf(domain));
    if (row === undefined) return null;
    const [doc, observedMs, signals, lacking] = row;
    return companyText(doc, { signals, updatedAt: updatedAt(observedMs) }, lacking);
  };
}

/** Many people work at the same companies: one that was found before is read without its index being gone through. */
function companyFinder(turn: Turn): (domain: string | null) => CompanyValues | undefined {
  const one = 'SELECT doc, observed_at, shown_signals, lacks, domain, seq FROM companies WHERE';
  const byDomain = turn.prepare(`${one} domain = ?`);
  const bySeq = turn.prepare(`${one} seq = ?`);
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
  return typeof name === 'string' ? fold(name) : null;
}

function companyField(text: string | null, field: 'name' | 'phone'): unknown {
  return text === null ? null : (JSON.parse(text) as SparseRecord)[field];
}
