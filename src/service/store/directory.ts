/** Reads people, companies and evidence from the store. Every read is one prepared statement by key. */
import type { DomainEvidence, EvidenceSource, MailboxEvidence } from '../../verification/types.ts';
import { fold } from '../fold.ts';
import { withName } from '../person-name.ts';
import { companyText, type SparseRecord } from '../records.ts';
import { aliasReader } from './domain-aliases.ts';
import { timeText } from './kept-columns.ts';
import { suppressionTest } from './suppressions.ts';
import type { Store } from './store.ts';

/** Companies kept as finished text: many people work at few of them. Bounded by count; a text is a few KB. */
const COMPANY_CACHE_SIZE = 2_000;
/** For how long an import in another process may go unseen in what is kept, monotonic milliseconds. */
const COMPANY_CACHE_MS = 1_000;
/** The newest signals that a company's record shows; all of them are at /v1/signals. */
const SIGNALS_SHOWN = 10;
/** Namesakes at one company that are told apart; more are nobody in particular. */
const MAX_NAMESAKES = 20;
/** What became of mails to a mailbox, and what the record of its owner says of it. */
const MAILBOX = `
  SELECT 'bounced' AS kind, bounced_at AS at FROM deliveries WHERE email = ?1 AND bounced_at IS NOT NULL
  UNION ALL SELECT 'delivered', delivered_at FROM deliveries WHERE email = ?1 AND delivered_at IS NOT NULL
  UNION ALL SELECT email_status, email_verified_at FROM people WHERE email = ?1 AND email_status IN ('verified', 'bounced')`;

export interface PersonRow {
  readonly person: SparseRecord;
  readonly companyDomain: string | null;
  /** Where the company's name is all that is known of it. */
  readonly companyName: string | null;
}

export interface Directory extends EvidenceSource {
  /** By any normalised address of the person. */
  personByEmail(email: string): PersonRow | null;
  personById(id: string): PersonRow | null;
  /** By a profile's key. */
  personByProfile(profile: string): PersonRow | null;
  /** By a mobile number in E.164. Null when several people have it. */
  personByMobile(mobile: string): PersonRow | null;
  /** People of this name (folded), at this domain or, with `company`, at a company of this name (folded). */
  peopleByName(nameKey: string, where: { readonly domain: string } | { readonly company: string }): PersonRow[];
  /** The whole company record as JSON text, by normalised domain, its own or another one of it. */
  companyByDomain(domain: string): string | null;
  /** The company record of where somebody works, or null. */
  companyOf(row: PersonRow): string | null;
  /** Whether the person with this normalised address asked to be removed. */
  isSuppressed(email: string): boolean;
  isProfileSuppressed(profile: string): boolean;
  /** Whether the store can be read. */
  ready(): boolean;
}

/** @param clock monotonic, milliseconds. */
export function openDirectory(store: Store, clock: () => number): Directory {
  const one = 'SELECT doc, company_domain, observed_at FROM people WHERE';
  const byEmail = store.prepare(`${one} email = ?`);
  const byOther = store.prepare('SELECT doc, company_domain, observed_at FROM other_addresses JOIN people ON people.seq = person WHERE other_addresses.email = ?');
  const byId = store.prepare(`${one} id = ?`);
  const byProfile = store.prepare(`${one} profile = ? ORDER BY observed_at DESC, seq LIMIT 1`);
  const byMobile = store.prepare(`${one} mobile = ? LIMIT 2`);
  const byName = store.prepare(`${one} name_key = ? AND company_domain = ? ORDER BY id LIMIT ${MAX_NAMESAKES}`);
  const byNameAlone = store.prepare(`${one} name_key = ? ORDER BY id LIMIT 1000`);
  const isSuppressed = suppressionTest(store);
  const mailbox = store.prepare(MAILBOX);
  const domain = store.prepare('SELECT accepts_all, email_pattern FROM companies WHERE domain = ?');
  const probe = store.prepare('SELECT 1 FROM companies LIMIT 1');
  const readCompany = companyReader(store, clock);

  const companyOf = ({ companyDomain, companyName }: PersonRow): string | null =>
    (companyDomain === null ? null : readCompany(companyDomain)) ?? (companyName === null ? null : companyText({ name: companyName, domain: companyDomain }));

  return {
    personByEmail: (email) => toPerson(byEmail.get(email) ?? byOther.get(email)),
    personById: (id) => toPerson(byId.get(id)),
    personByProfile: (profile) => toPerson(byProfile.get(profile)),
    personByMobile(mobile) {
      const found = byMobile.all(mobile);
      return found.length === 1 ? toPerson(found[0]) : null;
    },
    peopleByName(nameKey, where) {
      if ('domain' in where) return byName.all(nameKey, where.domain).flatMap((row) => toPerson(row) ?? []);
      const rows = byNameAlone.all(nameKey).flatMap((row) => toPerson(row) ?? []);
      return rows.filter((row) => companyNameOf(companyOf(row)) === where.company).slice(0, MAX_NAMESAKES);
    },
    companyByDomain: readCompany,
    companyOf,
    isSuppressed: (email) => isSuppressed({ emails: [email], profile: null }),
    isProfileSuppressed: (profile) => isSuppressed({ emails: [], profile }),
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

/** A row of `people` as it is answered: without what only the store needs. */
export function toPerson(row: Readonly<Record<string, unknown>> | undefined): PersonRow | null {
  if (row === undefined) return null;
  const { company_name: companyName, ...person } = JSON.parse(row['doc'] as string) as SparseRecord;
  return {
    person: { ...withName(person), ...updatedAt(row) },
    companyDomain: row['company_domain'] as string | null,
    companyName: typeof companyName === 'string' ? companyName : null,
  };
}

/** When the newest of a record was reported; nothing where nobody said. */
export function updatedAt(row: Readonly<Record<string, unknown>>): { updated_at?: string } {
  const ms = row['observed_at'] as number;
  return ms === 0 ? {} : { updated_at: timeText(ms) };
}

function companyReader(store: Store, clock: () => number): (domain: string) => string | null {
  const company = store.prepare('SELECT domain, doc, observed_at FROM companies WHERE domain = ?');
  const signals = store.prepare(`SELECT doc FROM signals WHERE company_domain = ? ORDER BY occurred_at DESC, seq DESC LIMIT ${SIGNALS_SHOWN}`);
  const aliasOf = aliasReader(store);
  const kept = new Map<string, string>();
  let since = clock();
  return (domain) => {
    const now = clock();
    if (now - since > COMPANY_CACHE_MS || kept.size >= COMPANY_CACHE_SIZE) {
      kept.clear();
      since = now;
    }
    const before = kept.get(domain);
    if (before !== undefined) return before;
    const row = company.get(domain) ?? company.get(aliasOf(domain));
    if (row === undefined) return null;
    const shown = signals.all(row['domain'] as string).map(({ doc }) => {
      // The record says already whose they are.
      const { company: _company, ...signal } = JSON.parse(doc as string) as SparseRecord;
      return signal;
    });
    const text = companyText({ ...(JSON.parse(row['doc'] as string) as SparseRecord), ...updatedAt(row), ...(shown.length === 0 ? {} : { signals: shown }) });
    kept.set(domain, text);
    return text;
  };
}

function companyNameOf(text: string | null): string | null {
  const name = text === null ? null : (JSON.parse(text) as SparseRecord)['name'];
  return typeof name === 'string' ? fold(name) : null;
}
