/** Nested objects of a record have all of their declared members, null for an unknown one. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cleanRecord } from '../../../src/service/records/clean-record.ts';
import { IMPORTED_COMPANY } from '../../../src/service/records/company-fields.ts';
import { IMPORTED_PERSON } from '../../../src/service/records/person-fields.ts';
import type { SparseRecord } from '../../../src/service/records/whole-record.ts';
import { exportRecords } from '../../../src/service/admin/export/export-records.ts';
import { loadCompanies, loadPeople, loadSignals } from '../../../src/service/store/rows/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { KEY, makeStore, serveStore, temporaryFolder } from '../harness.ts';

const NOWHERE = { name: null, city: null, region: null, country: null, country_code: null, postal_code: null, lat: null, lng: null };
const NO_FUNDING = {
  total_usd: null,
  rounds_count: null,
  last_stage: null,
  last_amount_usd: null,
  last_date: null,
  investors: null,
  rounds: null,
};

const COMPANY: SparseRecord = {
  domain: 'whole.example',
  name: 'Whole',
  hq: { city: 'Köln', country_code: 'DE' },
  funding: { last_stage: 'Series A' },
  hiring: { open_roles: 3, by_department: {} },
  headcount_growth: { m12: 0.2 },
  industry: 'Real-Estate',
  technologies: [{ name: 'SAP' }],
  locations: [{ city: 'Bonn' }, {}],
};
const PERSON: SparseRecord = {
  email: 'ann@whole.example',
  name: 'Ann Whole',
  company_domain: 'whole.example',
  location: { city: 'Bonn' },
  skills: ['Data-Science'],
  phones: [{ number: '+12125550100' }],
  emails: [{ email: 'ann@whole.example', type: 'work' }, 'ann@private.example'],
  employment_history: [{ title: 'CTO', started_on: '2024-01-01', at: 'no such field' }],
  education: [{ school: 'Example University' }],
};
const SIGNAL: SparseRecord = {
  id: 'sg_whole',
  type: 'funding',
  occurred_at: '2026-01-02',
  company: { domain: 'whole.example' },
  person: { name: 'Ann Whole' },
  data: { amount: 5 },
};

describe('nested objects of a record', () => {
  it('nested objects have every declared member, null for an unknown one, and no other; an object without a value is dropped', () => {
    const { record, dropped } = cleanRecord({ ...COMPANY, subsidiaries: [{ name: '' }], employees_by_country: {} }, IMPORTED_COMPANY);
    expect(record).toEqual({
      domain: 'whole.example',
      name: 'Whole',
      industry: 'Real-Estate',
      hq: { ...NOWHERE, city: 'Köln', country_code: 'DE' },
      funding: { ...NO_FUNDING, last_stage: 'Series A' },
      hiring: { open_roles: 3, by_department: null, by_country: null, delta_30d: null, last_posted_on: null },
      headcount_growth: { m3: null, m6: null, m12: 0.2, m24: null },
      technologies: [{ name: 'SAP', category: null, first_seen_on: null, last_seen_on: null }],
      locations: [{ ...NOWHERE, city: 'Bonn' }],
    });
    expect(dropped).toEqual([]);
    expect(cleanRecord({ hq: { lat: 'north' }, location: { lat: 'north' } }, { ...IMPORTED_PERSON, ...IMPORTED_COMPANY })).toEqual({
      record: {},
      dropped: ['hq.lat', 'location.lat'],
    });
    expect(cleanRecord(PERSON, IMPORTED_PERSON).record).toMatchObject({
      location: { ...NOWHERE, city: 'Bonn' },
      emails: [
        { email: 'ann@whole.example', type: 'work', status: null },
        { email: 'ann@private.example', type: null, status: null },
      ],
      employment_history: [{ title: 'CTO', company: null, domain: null, started_on: '2024-01-01', ended_on: null, is_current: null }],
      education: [{ school: 'Example University', degree: null, started_on: null, ended_on: null }],
    });
    // A second cleaning changes nothing.
    expect(cleanRecord(record, IMPORTED_COMPANY)).toEqual({ record, dropped: [] });
  });

  it('nested objects are complete in every answer of the service', async () => {
    const service = await serveStore({ store: await makeStore(fill) });
    const location = { ...NOWHERE, city: 'Bonn' };
    const company = {
      hq: { ...NOWHERE, city: 'Köln', country_code: 'DE' },
      funding: { ...NO_FUNDING, last_stage: 'Series A' },
      signals: [expect.objectContaining({ person: { id: null, name: 'Ann Whole', title: null, linkedin_url: null } })],
    };
    const lookup = { email: 'ann@whole.example' };
    expect((await service.post('/v1/enrich', lookup)).json).toMatchObject({ location, company });
    expect((await service.post('/v1/enrich', { ...lookup, fields: ['location', 'company'] })).json).toMatchObject({ location, company });
    expect((await service.post('/v1/enrich/bulk', { requests: [{ params: lookup }] })).json).toMatchObject({
      data: [{ record: { location, company } }],
    });
    expect((await service.post('/v1/contacts/reveal', lookup)).json).toMatchObject({ location, company });
    const get = async (path: string): Promise<unknown> =>
      (await service.request(path, { headers: { authorization: `Bearer ${KEY}` } })).json;
    expect(await get('/v1/contacts/search?name=ann&months_at_company=1-')).toMatchObject({
      data: [{ location, company: { hq: company.hq } }],
    });
    expect(await get('/v1/companies/whole.example')).toMatchObject(company);
    const data = {
      round_type: null,
      amount: 5,
      currency: null,
      amount_usd: null,
      investors: null,
      lead_investors: null,
      total_raised_usd: null,
    };
    expect(await get('/v1/signals?domain=whole.example')).toMatchObject({ data: [{ data, company: { hq: company.hq } }] });
  });

  it('nested objects do not change when the record is imported again without its nulls, or from its own export', async () => {
    const store = openStore(join(await temporaryFolder(), 'store.sqlite'));
    fill(store);
    const stored = rows(store);
    fill(store);
    expect(rows(store)).toEqual(stored);
    const exported = (kind: 'companies' | 'contacts' | 'signals'): SparseRecord[] => [...exportRecords(store, kind, false)];
    loadCompanies(store, exported('companies'), 'test');
    loadPeople(
      store,
      exported('contacts').map((record) => ({ ...record, company_domain: 'whole.example' })),
      'test',
    );
    loadSignals(store, exported('signals'), 'test');
    expect(rows(store).map(inOrder)).toEqual(stored.map(inOrder));
    store.close();
  });
});

function fill(store: Store): void {
  loadCompanies(store, [COMPANY], 'test');
  loadPeople(store, [PERSON], 'test');
  loadSignals(store, [SIGNAL], 'test');
}

/** All stored rows of records, without the search index. */
function rows(store: Store): Record<string, unknown>[] {
  return ['companies', 'people', 'signals', 'other_addresses', 'other_numbers'].flatMap((table) =>
    store.prepare(`SELECT * FROM ${table}`).all(),
  );
}

/** The row with its document parsed, so that the order of fields does not count. */
function inOrder(row: Readonly<Record<string, unknown>>): unknown {
  return typeof row['doc'] === 'string' ? { ...row, doc: JSON.parse(row['doc']) as unknown } : row;
}
