/** A store with rows in each of its tables, enough that tables have several pages. */
import { join } from 'node:path';
import { loadCompanies, loadPeople, loadSignals } from '../../../../src/service/store/rows/load.ts';
import { createKey } from '../../../../src/service/accounts/keys.ts';
import { openStore } from '../../../../src/service/store/open-store.ts';
import { suppress } from '../../../../src/service/erasure/suppress.ts';

export const PEOPLE = 480;

export const emailOf = (n: number): string => `p${n}@c${n % 40}.example`;

/** Person n has the id pe_n and works at company n % 40, at cN.example. */
export function makeFullStore(folder: string): string {
  const path = join(folder, 'whole.sqlite');
  const store = openStore(path);
  suppress(store, ['gone@c1.example'], 1_000);
  loadCompanies(
    store,
    Array.from({ length: 40 }, (_, n) => ({
      id: `co_${n}`,
      domain: `c${n}.example`,
      name: `Company ${n}`,
      employees: n,
      domain_aliases: [`a${n}.example`],
    })),
    'test',
  );
  loadPeople(
    store,
    Array.from({ length: PEOPLE }, (_, n) => ({
      id: `pe_${n}`,
      email: emailOf(n),
      name: `Person N${n}`,
      title: n % 2 === 0 ? 'CTO' : 'Head of Sales',
      summary: `About person ${n}. `.repeat(6),
      company_domain: `c${n % 40}.example`,
      emails: [{ email: `other${n}@home.example` }],
      phones: [{ number: `+1212555${String(n).padStart(4, '0')}` }],
    })),
    'test',
  );
  loadSignals(
    store,
    Array.from({ length: 60 }, (_, n) => ({
      id: `sg_${n}`,
      type: 'funding',
      occurred_at: '2026-01-02',
      domain: `c${n % 40}.example`,
      person: { email: emailOf(n) },
      data: { round_type: 'seed' },
    })),
    'test',
  );
  for (let n = 0; n < 3; n++) createKey(store, { plan: 'growth', credits: 1_000, label: `key ${n}` });
  store.close();
  return path;
}
