/** Reads people, companies and evidence from the store. Every read is one prepared statement by key. */
import { hash } from 'node:crypto';
import type { DomainEvidence, EvidenceSource, MailboxEvidence } from '../../verification/types.ts';
import { companyText, type SparseRecord } from '../records.ts';
import type { Store } from './open-store.ts';

/** Companies kept as finished text: many people work at few of them. Bounded by count; a text is a few KB. */
const COMPANY_CACHE_SIZE = 2_000;
/** For how long an import in another process may go unseen in what is kept, monotonic milliseconds. */
const COMPANY_CACHE_MS = 1_000;

export interface PersonRow {
  readonly person: SparseRecord;
  readonly companyDomain: string | null;
}

export interface Directory extends EvidenceSource {
  /** By normalised address. */
  personByEmail(email: string): PersonRow | null;
  personById(id: string): PersonRow | null;
  /** The whole company record as JSON text, by normalised domain. */
  companyByDomain(domain: string): string | null;
  /** Whether the person with this normalised address asked to be removed. */
  isSuppressed(email: string): boolean;
  /** Whether the store can be read. */
  ready(): boolean;
}

/** The digest under which a suppressed address is kept. */
export function suppressionKey(email: string): Uint8Array {
  return hash('sha256', email, 'buffer');
}

/** @param clock monotonic, milliseconds. */
export function openDirectory(store: Store, clock: () => number): Directory {
  const byEmail = store.prepare('SELECT doc, company_domain FROM people WHERE email = ?');
  const byId = store.prepare('SELECT doc, company_domain FROM people WHERE id = ?');
  const company = store.prepare('SELECT doc FROM companies WHERE domain = ?');
  const suppressed = store.prepare('SELECT 1 FROM suppressions WHERE email_sha256 = ?');
  const mailbox = store.prepare('SELECT email_status, email_verified_at FROM people WHERE email = ?');
  const domain = store.prepare('SELECT accepts_all, email_pattern FROM companies WHERE domain = ?');
  const probe = store.prepare('SELECT 1 FROM companies LIMIT 1');

  const companies = new Map<string, string>();
  let companiesSince = clock();

  const toPerson = (row: Record<string, unknown> | undefined): PersonRow | null => {
    if (row === undefined) return null;
    return { person: JSON.parse(row['doc'] as string) as SparseRecord, companyDomain: row['company_domain'] as string | null };
  };

  return {
    personByEmail: (email) => toPerson(byEmail.get(email)),
    personById: (id) => toPerson(byId.get(id)),
    companyByDomain(name) {
      const now = clock();
      if (now - companiesSince > COMPANY_CACHE_MS || companies.size >= COMPANY_CACHE_SIZE) {
        companies.clear();
        companiesSince = now;
      }
      const kept = companies.get(name);
      if (kept !== undefined) return kept;
      const row = company.get(name);
      if (row === undefined) return null;
      const text = companyText(JSON.parse(row['doc'] as string) as SparseRecord);
      companies.set(name, text);
      return text;
    },
    isSuppressed: (email) => suppressed.get(suppressionKey(email)) !== undefined,
    mailbox(email): MailboxEvidence | null {
      const row = mailbox.get(email);
      const status = row?.['email_status'];
      if (row === undefined || (status !== 'verified' && status !== 'bounced')) return null;
      return { kind: status === 'verified' ? 'delivered' : 'bounced', atMs: row['email_verified_at'] as number | null };
    },
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
