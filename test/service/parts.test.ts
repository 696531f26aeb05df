/** The parts of nested objects: each that has a name is there, `null` where nothing is known of it; also in records that were kept before that was so. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cleanRecord } from '../../src/service/clean-record.ts';
import { IMPORTED_COMPANY } from '../../src/service/records/company.ts';
import { IMPORTED_PERSON } from '../../src/service/records/person.ts';
import type { SparseRecord } from '../../src/service/records.ts';
import { fold } from '../../src/service/fold.ts';
import { exportRecords } from '../../src/service/export/export-records.ts';
import { FILTERS } from '../../src/service/search/filters.ts';
import { SearchIndex } from '../../src/service/search/search-index.ts';
import { loadCompanies, loadPeople, loadSignals } from '../../src/service/store/load.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import type { Store } from '../../src/service/store/store.ts';
import { KEY, makeStore, serveStore, temporaryFolder } from './harness.ts';
import { backTo } from './older-stores.ts';

const NOWHERE = { name: null, city: null, region: null, country: null, country_code: null, postal_code: null, lat: null, lng: null };
const NO_FUNDING = { total_usd: null, rounds_count: null, last_stage: null, last_amount_usd: null, last_date: null, investors: null, rounds: null };

const COMPANY: SparseRecord = {
  domain: 'whole.example', name: 'Whole', hq: { city: 'Köln', country_code: 'DE' }, funding: { last_stage: 'Series A' }, hiring: { open_roles: 3, by_department: {} }, headcount_growth: { m12: 0.2 }, industry: 'Real-Estate',
  technologies: [{ name: 'SAP' }], locations: [{ city: 'Bonn' }, {}],
};
const PERSON: SparseRecord = {
  email: 'ann@whole.example', name: 'Ann Whole', company_domain: 'whole.example', location: { city: 'Bonn' }, skills: ['Data-Science'], phones: [{ number: '+12125550100' }], emails: [{ email: 'ann@whole.example', type: 'work' }, 'ann@private.example'],
  employment_history: [{ title: 'CTO', started_on: '2024-01-01', at: 'no such field' }], education: [{ school: 'Example University' }],
};
const SIGNAL: SparseRecord = { id: 'sg_whole', type: 'funding', occurred_at: '2026-01-02', company: { domain: 'whole.example' }, person: { name: 'Ann Whole' }, data: { amount: 5 } };

describe('the parts of what is nested', () => {
  it('are all there, null where nothing is known, and no other; an object of nothing is none', () => {
    const { record, dropped } = cleanRecord({ ...COMPANY, subsidiaries: [{ name: '' }], employees_by_country: {} }, IMPORTED_COMPANY);
    expect(record).toEqual({
      domain: 'whole.example', name: 'Whole', industry: 'Real-Estate', hq: { ...NOWHERE, city: 'Köln', country_code: 'DE' }, funding: { ...NO_FUNDING, last_stage: 'Series A' },
      hiring: { open_roles: 3, by_department: null, by_country: null, delta_30d: null, last_posted_on: null }, headcount_growth: { m3: null, m6: null, m12: 0.2, m24: null },
      technologies: [{ name: 'SAP', category: null, first_seen_on: null, last_seen_on: null }], locations: [{ ...NOWHERE, city: 'Bonn' }],
    });
    expect(dropped).toEqual([]);
    expect(cleanRecord({ hq: { lat: 'north' }, location: { lat: 'north' } }, { ...IMPORTED_PERSON, ...IMPORTED_COMPANY })).toEqual({ record: {}, dropped: ['hq.lat', 'location.lat'] });
    expect(cleanRecord(PERSON, IMPORTED_PERSON).record).toMatchObject({
      location: { ...NOWHERE, city: 'Bonn' }, emails: [{ email: 'ann@whole.example', type: 'work', status: null }, { email: 'ann@private.example', type: null, status: null }],
      employment_history: [{ title: 'CTO', company: null, domain: null, started_on: '2024-01-01', ended_on: null, is_current: null }],
      education: [{ school: 'Example University', degree: null, started_on: null, ended_on: null }],
    });
    // What was cleaned is clean.
    expect(cleanRecord(record, IMPORTED_COMPANY)).toEqual({ record, dropped: [] });
  });

  it('are so in every answer', async () => {
    const service = await serveStore({ store: await makeStore(fill) });
    const location = { ...NOWHERE, city: 'Bonn' };
    const company = { hq: { ...NOWHERE, city: 'Köln', country_code: 'DE' }, funding: { ...NO_FUNDING, last_stage: 'Series A' }, signals: [expect.objectContaining({ person: { id: null, name: 'Ann Whole', title: null, linkedin_url: null } })] };
    const lookup = { email: 'ann@whole.example' };
    expect((await service.post('/v1/enrich', lookup)).json).toMatchObject({ location, company });
    expect((await service.post('/v1/enrich', { ...lookup, fields: ['location', 'company'] })).json).toMatchObject({ location, company });
    expect((await service.post('/v1/enrich/bulk', { requests: [{ params: lookup }] })).json).toMatchObject({ data: [{ record: { location, company } }] });
    expect((await service.post('/v1/contacts/reveal', lookup)).json).toMatchObject({ location, company });
    const get = async (path: string): Promise<unknown> => (await service.request(path, { headers: { authorization: `Bearer ${KEY}` } })).json;
    expect(await get('/v1/contacts/search?name=ann&months_at_company=1-')).toMatchObject({ data: [{ location, company: { hq: company.hq } }] });
    expect(await get('/v1/companies/whole.example')).toMatchObject(company);
    const data = { round_type: null, amount: 5, currency: null, amount_usd: null, investors: null, lead_investors: null, total_raised_usd: null };
    expect(await get('/v1/signals?domain=whole.example')).toMatchObject({ data: [{ data, company: { hq: company.hq } }] });
  });

  it('make nothing new of a record that is told again without them, nor of what was exported', async () => {
    const store = openStore(join(await temporaryFolder(), 'store.sqlite'));
    fill(store);
    const kept = rows(store);
    fill(store);
    expect(rows(store)).toEqual(kept);
    const exported = (kind: 'companies' | 'contacts' | 'signals'): SparseRecord[] => [...exportRecords(store, kind, false)];
    loadCompanies(store, exported('companies'), 'test');
    loadPeople(store, exported('contacts').map((record) => ({ ...record, company_domain: 'whole.example' })), 'test');
    loadSignals(store, exported('signals'), 'test');
    expect(rows(store).map(inOrder)).toEqual(kept.map(inOrder));
    store.close();
  });
});

describe('a store of before', () => {
  it('has its records as they would be kept today, of the same times and sources', async () => {
    const folder = await temporaryFolder();
    const path = join(folder, 'store.sqlite');
    const store = openStore(path);
    fill(store);
    const today = rows(store);
    // As it was kept: only what is known, and what is no value of its field's type.
    const old: [string, SparseRecord][] = [['companies', { ...COMPANY, employees: 'many', funding: { last_stage: 'Series A', total_usd: 'some' } }], ['people', { ...PERSON, company_domain: undefined, languages: [] }], ['signals', { ...SIGNAL, occurred_at: '2026-01-02T00:00:00Z' }]];
    for (const [table, record] of old) {
      const { id, ...detected } = JSON.parse(store.prepare(`SELECT doc FROM ${table}`).get()?.['doc'] as string) as SparseRecord;
      const rest = table === 'signals' ? { detected_at: detected['detected_at'] } : {};
      store.prepare(`UPDATE ${table} SET doc = ?`).run(JSON.stringify({ ...record, id, ...rest }));
    }
    // As it was found: by terms of an earlier form.
    store.exec(`UPDATE person_terms SET term = 'skills=data-science' WHERE term = 'skills=data science'; UPDATE company_terms SET term = 'funding_stage=series-a' WHERE term = 'funding_stage=series a'`);
    store.exec(`UPDATE companies SET industry = 'real-estate'; UPDATE signals SET industry = 'real-estate'`);
    store.exec(`UPDATE companies SET field_sources = '{"employees":[1,7],"funding":[1,8]}', shown_signals = '[]', lacks = NULL; UPDATE people SET lacks = NULL`);
    backTo(store, 10);
    store.close();
    const again = openStore(path);
    const found = rows(again);
    const ids = (name: string, value: string): unknown[] => searchIn(again, name, value);
    expect([ids('funding_stage', 'series_a'), ids('skills', 'Data Science')]).toEqual([[PERSON['email']], [PERSON['email']]]);
    // Terms are numbered anew.
    const asFound = (row: Readonly<Record<string, unknown>>): unknown => inOrder('terms' in row ? { ...row, terms: null } : row);
    expect(found.map(asFound)).toEqual(today.map((row) => asFound(row['domain'] === 'whole.example' ? { ...row, field_sources: '{"funding":[1,8]}' } : row['type'] === 'funding' ? { ...row, observed_at: null } : row)));
    again.close();
  });
});

describe('a store of before marks could be vowels', () => {
  it('has its people and companies under what names and words are compared as today', async () => {
    const path = join(await temporaryFolder(), 'store.sqlite');
    const store = openStore(path);
    loadCompanies(store, [{ domain: 'kana.example', name: 'がき' }], 'test');
    loadPeople(store, [{ email: 'kamala@kana.example', name: 'कमला', company_domain: 'kana.example' }, { email: 'ada@kana.example', name: 'Ada', company_domain: 'kana.example' }], 'test');
    loadSignals(store, [{ type: 'hiring', domain: 'kana.example', occurred_at: '2026-01-02', data: { titles: ['パン'] } }], 'test');
    const asked = [['name', 'कमला'], ['company', 'がき'], ['hiring_title', 'パン']] as const;
    const both = ['ada@kana.example', 'kamala@kana.example'];
    const today = [['kamala@kana.example'], both, both];
    const found = (open: Store): unknown[] => asked.map(([name, value]) => searchIn(open, name, value));
    const names = (open: Store): unknown[] => open.prepare('SELECT name_key FROM people ORDER BY email').all().map(({ name_key: name }) => name);
    expect([found(store), names(store)]).toEqual([today, ['ada', fold('कमला')]]);
    for (const [table, now, before] of [['person', 'name~कमला', 'name~कमल'], ['company', `company~${fold('がき')}`, 'company~かき'], ['company', `hiring_title~${fold('パン')}`, 'hiring_title~ハン']]) store.prepare(`UPDATE ${table}_terms SET term = ? WHERE term = ?`).run(before ?? '', now ?? '');
    store.exec("UPDATE people SET name_key = 'कमल' WHERE name_key <> 'ada'");
    expect(found(store)).toEqual([[], [], []]);
    backTo(store, 12);
    store.close();
    const again = openStore(path);
    expect([found(again), names(again)]).toEqual([today, ['ada', fold('कमला')]]);
    again.close();
  });
});

function fill(store: Store): void {
  loadCompanies(store, [COMPANY], 'test');
  loadPeople(store, [PERSON], 'test');
  loadSignals(store, [SIGNAL], 'test');
}

/** Addresses of who is found by a filter. */
function searchIn(store: Store, name: string, value: string): unknown[] {
  const search = new SearchIndex(store, () => Date.parse('2026-06-15'));
  const clauses = [FILTERS[name]?.compile([value], search.context, () => [])].flat().map((meaning) => ({ ...meaning, exclude: false }));
  return search.find({ clauses, sort: 'name', descending: false, after: null, limit: 10 }).rows.map(({ row: { doc } }) => (JSON.parse(doc as string) as SparseRecord)['email']);
}

/** Everything that is kept of records, but for the index. */
function rows(store: Store): Record<string, unknown>[] {
  return ['companies', 'people', 'signals', 'other_addresses', 'other_numbers'].flatMap((table) => store.prepare(`SELECT * FROM ${table}`).all());
}

/** With the record itself as it is compared: in whatever order its fields are. */
function inOrder(row: Readonly<Record<string, unknown>>): unknown {
  return typeof row['doc'] === 'string' ? { ...row, doc: JSON.parse(row['doc']) as unknown } : row;
}
