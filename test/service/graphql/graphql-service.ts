/** A service whose store has the people that the GraphQL tests ask for. */
import { loadPeople } from '../../../src/service/store/rows/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { makeStore, serveStore, type Served } from '../harness.ts';
import type { Asked } from './asking.ts';

const ANN = {
  id: 'pe_a',
  email: 'ann@acme.example',
  name: 'Ann Able',
  linkedin_url: 'https://www.linkedin.com/in/ann-able',
  mobile: '+12125550100',
  email_status: 'unverified',
  emails: ['ann@home.example', { email: 'able@acme.example', type: 'work' }],
  company_domain: 'acme.example',
};

export async function serveGraphql(): Promise<Served> {
  const store = await makeStore(
    (open) =>
      void loadPeople(
        open,
        [
          ANN,
          { id: 'pe_h', email: 'hired@acme.example', name: 'Hal Hired', email_status: 'unverified' },
          { id: 'pe_bare', name: 'Bare', linkedin_url: 'linkedin.com/in/bare' },
        ],
        'test',
      ),
  );
  return serveStore({ store });
}

/** Opens the store of a service for `work`. */
export function inStore<T>({ store }: Served, work: (open: Store) => T): T {
  const open = openStore(store);
  try {
    return work(open);
  } finally {
    open.close();
  }
}

/** A document with `count` fields at the top. */
export const many = (count: number, field: string): string => `{ ${Array.from({ length: count }, (_, n) => `f${n}: ${field}`).join(' ')} }`;
/** The requests that are left of the quota. */
export const left = ({ headers }: Asked): number => Number(headers.get('x-ratelimit-remaining'));
/** The options of a request with an Idempotency-Key. */
export const once = (key: string): { headers: Record<string, string> } => ({ headers: { 'idempotency-key': key } });
