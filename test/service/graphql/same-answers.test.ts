/** GraphQL answers as REST does: the same records, fields, order, numbers and prices. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from '../../support/fast-check.ts';
import type { GraphQLObjectType } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IMPORTED_COMPANY } from '../../../src/service/records/company-fields.ts';
import { IMPORTED_PERSON } from '../../../src/service/records/person-fields.ts';
import { FILTERS } from '../../../src/service/search/filters.ts';
import { startService, type RunningService } from '../../../src/service/app/start-service.ts';
import { SIGNAL_TYPES } from '../../../src/service/records/signal-types.ts';
import { loadCompanies, loadPeople, loadSignals } from '../../../src/service/store/rows/load.ts';
import { casesOf } from '../../support/sample.ts';
import { KEY, makeStore, requestsTo, serveStore, type Reply, type Requests } from '../harness.ts';
import { ask, cutTo, SCHEMA, selectionOf, wholeOf, written, type Selection } from './asking.ts';

const RUNS = { numRuns: casesOf(12, 40) };
const AUTH = { authorization: `Bearer ${KEY}` };

let folder: string;
let running: RunningService;
let service: Requests;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-graphql-'));
  // A store of its own: the shared sample store has no complete copy while another run writes it.
  running = await startService({
    store: join(folder, 'store.sqlite'),
    sample: true,
    embeddedKey: { key: KEY, rpm: null },
    mail: { world: { hosts: {}, domains: {} } },
  });
  service = requestsTo(running.url);
});
afterAll(async () => {
  await running.close();
  await rm(folder, { recursive: true });
});

const get = (path: string): Promise<Reply> => service.request(path, { headers: AUTH });
const charged = ({ headers }: Reply): number => Number(headers.get('x-credits-charged'));
const one = <T>(arbitrary: fc.Arbitrary<T>, seed: number): T => fc.sample(arbitrary, { numRuns: 1, seed })[0] as T;
const personId = fc.integer({ min: 1, max: 2_000 }).map((n) => `pe_${String(n).padStart(6, '0')}`);

async function domains(): Promise<string[]> {
  const { json } = await service.post('/v1/contacts/search', { limit: 100, fields: ['company'] });
  return (json['data'] as { company: { domain: string } }[]).map(({ company }) => company.domain);
}

/** A call of GraphQL and the record of REST that it is. */
async function same(call: string, type: string, selection: Selection, record: Reply): Promise<void> {
  const [, name = ''] = /^(?:mutation )?(\w+)/.exec(call) ?? [];
  const kind = call.startsWith('mutation') ? 'mutation' : 'query';
  const asked = await ask(service, `${kind} { found: ${call.replace('mutation ', '')} ${written(selection)} }`);
  expect([type, name, asked.status, asked.errors]).toEqual([type, name, 200, []]);
  expect(asked.data?.['found']).toEqual(cutTo(record.json, selection));
  expect(asked.credits).toBe(charged(record));
}

describe('GraphQL, for any selection of fields,', () => {
  it('answers a person as POST /v1/enrich does', async () => {
    await fc.assert(
      fc.asyncProperty(personId, selectionOf(SCHEMA.getType('Person') as never), async (id, selection) =>
        same(`mutation enrich(id: "${id}")`, 'Person', selection, await service.post('/v1/enrich', { id })),
      ),
      RUNS,
    );
  });

  it('answers a revealed contact as POST /v1/contacts/reveal does', async () => {
    await fc.assert(
      fc.asyncProperty(personId, fc.boolean(), selectionOf(SCHEMA.getType('RevealedContact') as never), async (id, mobile, selection) =>
        same(
          `mutation reveal(id: "${id}", reveal_mobile: ${mobile})`,
          'RevealedContact',
          selection,
          await service.post('/v1/contacts/reveal', { id, reveal_mobile: mobile }),
        ),
      ),
      RUNS,
    );
  });

  it('answers a company as GET /v1/companies/{domain} does', async () => {
    const known = await domains();
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...known), selectionOf(SCHEMA.getType('Company') as never), async (domain, selection) =>
        same(`company(domain: "${domain}")`, 'Company', selection, await get(`/v1/companies/${domain}`)),
      ),
      RUNS,
    );
  });

  it('answers verdicts as POST /v1/emails/verify does', async () => {
    const email = fc.constantFrom(
      'x@mailinator.com',
      'imani.irving@gmial.com',
      'info@cobalt-materials.example',
      'no address',
      'JEROME.noel@tundra-logistics.example',
      'ä@münchen.example',
    );
    // When and how quickly differ.
    const selection = selectionOf(SCHEMA.getType('VerificationBatch') as never, ['ms', 'verified_at', 'expires_at']);
    await fc.assert(
      fc.asyncProperty(
        fc.array(email, { minLength: 1, maxLength: 4 }),
        fc.constantFrom('syntax', 'dns'),
        selection,
        async (emails, mode, chosen) =>
          same(
            `mutation verifyEmails(emails: ${JSON.stringify(emails)}, mode: ${mode})`,
            'VerificationBatch',
            chosen,
            await service.post('/v1/emails/verify', { emails, mode }),
          ),
      ),
      RUNS,
    );
  });

  it('answers one contact, by profile and by id, as the row of a search', async () => {
    const { json } = await service.post('/v1/contacts/search', { has_linkedin: true, limit: 20 });
    for (const row of json['data'] as { id: string; linkedin_url: string }[]) {
      const selection = one(selectionOf(SCHEMA.getType('Contact') as never), 7);
      for (const by of [`id: "${row.id}"`, `linkedin_url: "${row.linkedin_url}"`]) {
        const { data, credits } = await ask(service, `{ contact(${by}) ${written(selection)} }`);
        expect([data?.['contact'], credits]).toEqual([cutTo(row, selection), 0]);
      }
    }
  });
});

describe('GraphQL, for any imported records,', () => {
  it('answers in the types of the schema and as REST does', async () => {
    const odd = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom(
        '12',
        '2020',
        3e15,
        ['a@b.example', { email: 5 }],
        [{ city: 5, lat: 'x', started_on: 2019, is_current: 'yes' }, 'text', 7],
        { total_usd: '1M', investors: 'a; b', by_department: { sales: 'x' }, m12: [], lat: '52.5' },
      ),
    );
    const record = (fields: readonly string[]): fc.Arbitrary<Record<string, unknown>> =>
      fc.dictionary(fc.constantFrom(...fields), odd, { maxKeys: 12 });
    const [people, companies, told] = [
      Object.keys(IMPORTED_PERSON),
      Object.keys(IMPORTED_COMPANY),
      ['subtype', 'confidence', 'source_url', 'person', 'data', 'detected_at'],
    ].map((fields) => fc.sample(record(fields), { numRuns: 100 })) as [
      Record<string, unknown>[],
      Record<string, unknown>[],
      Record<string, unknown>[],
    ];
    const store = await makeStore((open) => {
      loadCompanies(
        open,
        companies.map((company, n) => ({ ...company, id: `c${n}`, domain: `c${n}.example` })),
        'test',
      );
      loadPeople(
        open,
        people.map((person, n) => ({ ...person, id: `p${n}`, email: `p${n}@c${n}.example`, company_domain: `c${n}.example` })),
        'test',
      );
      loadSignals(
        open,
        told.map((signal, n) => ({
          ...signal,
          id: `s${n}`,
          type: fc.sample(fc.constantFrom(...SIGNAL_TYPES), 1)[0],
          domain: `c${n}.example`,
          occurred_at: '2026-01-01',
        })),
        'test',
      );
    });
    const odder = await serveStore({ store });
    const whole = (name: string): Selection => wholeOf(SCHEMA.getType(name) as GraphQLObjectType);
    for (let n = 0; n < 100; n++) {
      const { data, errors } = await ask(
        odder,
        `mutation { enrich(id: "p${n}") ${written(whole('Person'))} reveal(id: "p${n}") ${written(whole('RevealedContact'))} }`,
      );
      expect(errors).toEqual([]);
      expect(data?.['enrich']).toEqual(cutTo((await odder.post('/v1/enrich', { id: `p${n}` })).json, whole('Person')));
    }
    const lists = await ask(
      odder,
      `{ contacts(first: 100) { edges { node ${written(whole('Contact'))} } ` +
        `} signals(first: 100) { edges { node ${written(whole('Signal'))} } } }`,
    );
    expect([lists.status, lists.errors]).toEqual([200, []]);
  });
});

interface Connection {
  readonly edges: readonly { readonly cursor: string; readonly node: unknown }[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
  readonly totalCount: number;
  readonly totalRelation: string;
}
const PAGE = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor }';

describe('the contacts of GraphQL', () => {
  it.each(Object.keys(FILTERS))('take the filter %s as REST does', async (name) => {
    const example = FILTERS[name]?.example ?? '';
    const { takes, single } = FILTERS[name] ?? {};
    const value = takes?.['type'] === 'boolean' ? example === 'true' : example;
    const rest = await get(`/v1/contacts/search?${name}=${encodeURIComponent(example)}&limit=5`);
    const { data, errors } = await ask(
      service,
      `query ($filter: ContactFilter) { contacts(filter: $filter, first: 5) { totalCount totalRelation edges { node { id } } ${PAGE} } }`,
      { variables: { filter: { [name]: single === true ? value : [value] } } },
    );
    expect(errors).toEqual([]);
    const { edges, totalCount, totalRelation, pageInfo } = (data?.['contacts'] ?? null) as Connection;
    const { data: rows, meta } = rest.json as { data: { id: string }[]; meta: Record<string, unknown> };
    expect([edges.map(({ node }) => node), totalCount, totalRelation, pageInfo.hasNextPage]).toEqual([
      rows.map(({ id }) => ({ id })),
      meta['total'],
      meta['total_relation'],
      meta['next_cursor'] !== null,
    ]);
  });

  it.each(['relevance', '-updated_at', 'name', '-headcount'])(
    'come page by page in the order of %s, with the cursors of REST',
    async (sort) => {
      const selection = one(selectionOf(SCHEMA.getType('Contact') as never), 11);
      let after: string | null = null;
      for (let pages = 0; pages < 4; pages++) {
        const { json } = await service.post('/v1/contacts/search', { sort, seniority: 'director', limit: 7, cursor: after });
        const asked = await ask(
          service,
          `query ($after: String) { contacts(filter: { seniority: "director" }, sort: "${sort}", first: 7, after: $after) { edges { ` +
            `cursor node ${written(selection)} } ${PAGE} } }`,
          { variables: { after } },
        );
        const { edges, pageInfo } = (asked.data?.['contacts'] ?? null) as Connection;
        expect(edges.map(({ node }) => node)).toEqual((json['data'] as unknown[]).map((row) => cutTo(row, selection)));
        const { next_cursor: next } = json['meta'] as { next_cursor: string | null };
        expect(pageInfo).toEqual({
          hasNextPage: next !== null,
          hasPreviousPage: after !== null,
          startCursor: edges[0]?.cursor,
          endCursor: next ?? edges.at(-1)?.cursor,
        });
        // The cursor of the third row continues like the end of a page of three rows.
        const inner = edges[2]?.cursor ?? '';
        const rest = await service.post('/v1/contacts/search', { sort, seniority: 'director', limit: 4, cursor: inner });
        expect((rest.json['data'] as unknown[]).map((row) => cutTo(row, selection))).toEqual(edges.slice(3).map(({ node }) => node));
        after = pageInfo.endCursor;
      }
    },
  );
});

describe('the signals of GraphQL', () => {
  it.each(['', 'type: [funding, exec_moves]', 'country: ["US", "DE"], since: "2025-01-01"', 'industry: "Retail", until: "2026-01-01"'])(
    'equal the pages of GET /v1/signals: (%s)',
    async (filter) => {
      const selection = one(selectionOf(SCHEMA.getType('Signal') as never), 3);
      const query = filter
        .replaceAll(/[[\]" ]/g, '')
        .replace('funding,exec', 'funding%2Cexec')
        .replace('US,DE', 'US%2CDE')
        .replaceAll(',', '&')
        .replaceAll(':', '=');
      let next: string | null = null;
      for (let pages = 0; pages < 3; pages++) {
        const { json } = await get(`/v1/signals?limit=4&${query}${next === null ? '' : `&cursor=${next}`}`);
        const asked = await ask(
          service,
          `{ signals(${[filter, 'first: 4', ...(next === null ? [] : [`after: "${next}"`])].filter(Boolean).join(', ')}) { edges { ` +
            `cursor node ${written(selection)} } ${PAGE} } }`,
        );
        const { edges, pageInfo } = (asked.data?.['signals'] ?? null) as Connection;
        expect([edges.map(({ node }) => node), asked.credits]).toEqual([
          (json['data'] as unknown[]).map((row) => cutTo(row, selection)),
          0,
        ]);
        ({ next_cursor: next } = json['meta'] as { next_cursor: string | null });
        expect([pageInfo.hasNextPage, pageInfo.endCursor]).toEqual([next !== null, next ?? edges.at(-1)?.cursor ?? null]);
        if (next === null) break;
      }
    },
  );
});
