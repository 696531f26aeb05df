/** Puts records of the definitions' shape into the store: JSON lines in, rows with their lookup columns out. */
import { normaliseEmail } from '../../verification/address.ts';
import { normaliseDomain } from '../../verification/domain.ts';
import type { SparseRecord } from '../records.ts';
import { suppressionKey } from './directory.ts';
import { transaction, type Store } from './open-store.ts';

export interface LoadCount {
  readonly loaded: number;
  /** Records without what identifies them: an id, and for a company its domain. */
  readonly rejected: number;
}

/** Companies by domain: one that is there already is replaced. */
export function loadCompanies(store: Store, companies: Iterable<SparseRecord>): LoadCount {
  const insert = store.prepare(
    'INSERT INTO companies (id, domain, accepts_all, email_pattern, doc) VALUES (?, ?, ?, ?, ?) ' +
      'ON CONFLICT (domain) DO UPDATE SET id = excluded.id, accepts_all = excluded.accepts_all, email_pattern = excluded.email_pattern, doc = excluded.doc',
  );
  return inOneTransaction(store, companies, (company) => {
    const id = text(company['id']);
    const domain = normaliseDomain(text(company['domain']) ?? '');
    if (id === null || domain === null) return false;
    const acceptsAll = typeof company['accepts_all'] === 'boolean' ? Number(company['accepts_all']) : null;
    insert.run(id, domain, acceptsAll, text(company['email_pattern']), JSON.stringify({ ...company, domain }));
    return true;
  });
}

/** People by id: one that is there already is replaced. `company_domain` says where one works; suppressed people are left out. */
export function loadPeople(store: Store, people: Iterable<SparseRecord>): LoadCount {
  const suppressed = store.prepare('SELECT 1 FROM suppressions WHERE email_sha256 = ?');
  const insert = store.prepare(
    'INSERT OR REPLACE INTO people (id, email, company_domain, email_status, email_verified_at, doc) VALUES (?, ?, ?, ?, ?, ?)',
  );
  return inOneTransaction(store, people, ({ company_domain: worksAt, ...person }) => {
    const id = text(person['id']);
    const email = normaliseEmail(text(person['email']) ?? '');
    if (id === null || (email !== null && suppressed.get(suppressionKey(email)) !== undefined)) return false;
    const verifiedMs = Date.parse(text(person['email_verified_at']) ?? '');
    const doc = JSON.stringify(email === null ? person : { ...person, email });
    insert.run(id, email, normaliseDomain(text(worksAt) ?? ''), text(person['email_status']), Number.isNaN(verifiedMs) ? null : verifiedMs, doc);
    return true;
  });
}

/** Erases the people with these addresses and remembers, as digests, that they are not to come back. */
export function suppress(store: Store, emails: Iterable<string>, nowMs: number): LoadCount {
  const remember = store.prepare('INSERT OR IGNORE INTO suppressions (email_sha256, at) VALUES (?, ?)');
  const erase = store.prepare('DELETE FROM people WHERE email = ?');
  return inOneTransaction(store, emails, (address) => {
    const email = normaliseEmail(address);
    if (email === null) return false;
    remember.run(suppressionKey(email), nowMs);
    erase.run(email);
    return true;
  });
}

/** The records of a JSON-lines text. @throws SyntaxError naming the line that is no JSON object. */
export function* parseJsonLines(jsonl: string, name: string): Generator<SparseRecord> {
  let line = 0;
  for (const entry of jsonl.split('\n')) {
    line++;
    if (entry.trim() === '') continue;
    let value: unknown;
    try {
      value = JSON.parse(entry);
    } catch (error) {
      throw new SyntaxError(`${name}, line ${line}: no JSON`, { cause: error });
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new SyntaxError(`${name}, line ${line}: no JSON object`);
    yield value as SparseRecord;
  }
}

function inOneTransaction<T>(store: Store, items: Iterable<T>, put: (item: T) => boolean): LoadCount {
  return transaction(store, () => {
    let loaded = 0;
    let rejected = 0;
    for (const item of items) {
      if (put(item)) loaded++;
      else rejected++;
    }
    return { loaded, rejected };
  });
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
