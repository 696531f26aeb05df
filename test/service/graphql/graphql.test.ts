import { buildClientSchema, getIntrospectionQuery, printSchema, type IntrospectionQuery } from 'graphql';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ServiceError } from '../../../src/service/errors.ts';
import { VerifyGate } from '../../../src/service/guard/verify-gate.ts';
import { listKeys } from '../../../src/service/keys.ts';
import { GRAPHQL_TYPE } from '../../../src/service/operations/graphql.ts';
import { loadPeople } from '../../../src/service/store/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { suppress } from '../../../src/service/store/suppress.ts';
import { makeKey, makeStore, serveStore, type Served } from '../harness.ts';
import { ask, SCHEMA, type Asked } from './asking.ts';

const ANN = { id: 'pe_a', email: 'ann@acme.example', name: 'Ann Able', linkedin_url: 'https://www.linkedin.com/in/ann-able', mobile: '+12125550100', email_status: 'unverified', emails: ['ann@home.example', { email: 'able@acme.example', type: 'work' }], company_domain: 'acme.example' };

let store: string;
let service: Served;
beforeEach(async () => {
  store = await makeStore((open) => void loadPeople(open, [ANN, { id: 'pe_h', email: 'hired@acme.example', name: 'Hal Hired', email_status: 'unverified' }, { id: 'pe_bare', name: 'Bare', linkedin_url: 'linkedin.com/in/bare' }], 'test'));
  service = await serveStore({ store });
});

function inStore<T>(work: (open: Store) => T): T {
  const open = openStore(store);
  try {
    return work(open);
  } finally {
    open.close();
  }
}

afterEach(() => {
  vi.restoreAllMocks();
});

const many = (count: number, field: string): string => `{ ${Array.from({ length: count }, (_, n) => `f${n}: ${field}`).join(' ')} }`;
const left = ({ headers }: Asked): number => Number(headers.get('x-ratelimit-remaining'));
const once = (key: string): { headers: Record<string, string> } => ({ headers: { 'idempotency-key': key } });

describe('a document', () => {
  it('has aliases, fragments, variables, directives and several operations', async () => {
    const document = `
      query Other { contact(id: "pe_1") { id } }
      query Wanted($id: String!, $more: Boolean = false) {
        ann: contact(id: $id) { ...Names ...Names label: title @include(if: $more) company { name } company { domain } }
        jane: contact(id: "pe_1") { ...Names ... on Contact { title @skip(if: $more) } }
      }
      fragment Names on Contact { __typename name }`;
    const { status, data, errors } = await ask(service, document, { variables: { id: 'pe_a' }, operationName: 'Wanted' });
    expect([status, errors]).toEqual([200, []]);
    expect(data).toEqual({ ann: { __typename: 'Contact', name: 'Ann Able', company: { name: 'Acme', domain: 'acme.example' } }, jane: { __typename: 'Contact', name: 'Jane Doe', title: 'CTO' } });
  });

  it('asks for the schema, as it is', async () => {
    const { data } = await ask(service, getIntrospectionQuery());
    expect(printSchema(buildClientSchema(data as unknown as IntrospectionQuery))).toBe(printSchema(SCHEMA));
  });

  it('may have text for an address where others are objects', async () => {
    const { data } = await ask(service, 'mutation { enrich(id: "pe_a") { emails { email type } } }');
    expect(data).toEqual({ enrich: { emails: [{ email: 'ann@home.example', type: null }, { email: 'able@acme.example', type: 'work' }] } });
  });

  it('has nothing in its schema by which a contact could be reached before it is revealed', () => {
    const shown = printSchema(SCHEMA).split(/\n(?=type )/).find((part) => part.startsWith('type Contact {')) ?? '';
    expect(shown).toContain('has_email');
    for (const field of ['email', 'emails', 'personal_emails', 'mobile', 'phones']) expect(shown).not.toMatch(new RegExp(`\\n  ${field}:`));
  });
});

describe('what is refused as a whole', () => {
  it.each<[string, string, string]>([
    ['no document', '', 'invalid_document'],
    ['no field of the schema', '{ contact(id: "pe_1") { email } }', 'invalid_document'],
    ['no argument of the schema', '{ contact(email: "ann@acme.example") { name } }', 'invalid_document'],
    ['a value that is none', '{ signals(type: [rain]) { edges { cursor } } }', 'invalid_document'],
    ['a variable that is not there', '{ contact(id: $id) { name } }', 'invalid_document'],
    ['a variable without its value', 'query ($id: String!) { company(domain: $id) { name } }', 'invalid_document'],
    ['a kind of operation that there is not', 'subscription { contact { name } }', 'invalid_document'],
    ['several operations', 'query A { __typename } query B { __typename }', 'unknown_operation'],
    ['fragments in a circle', '{ contact(id: "pe_1") { ...A } } fragment A on Contact { ...B } fragment B on Contact { ...A }', 'invalid_document'],
    ['one name for two fields', '{ contact(id: "pe_1") { name name: title } }', 'conflict'],
    ['one name for two calls', '{ contact(id: "pe_1") { name } contact(id: "pe_2") { name } }', 'conflict'],
    ['a field under two names', '{ contact(id: "pe_1") { a: name b: name } }', 'repeated'],
    ['a flood of names', many(101, '__typename').replaceAll('__typename', 'contact(id: "pe_1") { name }'), 'too_many'],
    ['more than is shown at once', `{ ${Array.from({ length: 60 }, (_, n) => `c${n}: contacts(first: 100) { edges { cursor node { id name title headline summary skills languages } } }`).join(' ')} }`, 'too_costly'],
    ['more verdicts than that', `mutation { verifyEmails(emails: [${'"a" '.repeat(1_000)}]) { data { email normalized result reason confidence verified did_you_mean checks { name result detail ms } score_factors { factor points } mx { records { host preference } } smtp { stage host code message } } } }`, 'too_costly'],
    ['verdicts that are not shown', `mutation ($emails: [String!]! = [${'"a" '.repeat(1_000)}]) { ${Array.from({ length: 51 }, (_, n) => `v${n}: verifyEmails(emails: $emails) { summary { unknown } }`).join(' ')} }`, 'too_costly'],
    ['depth', `{ contact(id: "pe_1") ${'{ company '.repeat(40)} { name } ${'}'.repeat(40)} }`, 'too_deep'],
    ['depth by introspection', `{ __type(name: "Person") ${'{ ofType '.repeat(20)} { name } ${'}'.repeat(20)} }`, 'too_deep'],
    ['types of fields of types', '{ __schema { types { fields { type { fields { name } } } } } }', 'too_deep'],
    ['the schema twice', '{ a: __schema { description } b: __schema { description } }', 'repeated'],
    ['too many tokens', `{ ${'__typename '.repeat(5_000)} }`, 'too_many_tokens'],
    ['too many characters', `{ __typename #${'x'.repeat(100_000)}\n }`, 'too_long'],
  ])('%s', async (_what, query, wrong) => {
    const plain = await ask(service, query);
    expect([plain.status, plain.data, plain.credits, plain.codes[0]]).toEqual([200, undefined, 0, 'validation_failed']);
    expect(plain.errors[0]?.extensions).toMatchObject({ status: 422, retryable: false, request_id: plain.headers.get('x-request-id'), errors: [{ pointer: '/query', code: wrong }] });
    const own = await ask(service, query, { headers: { accept: GRAPHQL_TYPE } });
    expect([own.status, own.headers.get('content-type')]).toEqual([400, `${GRAPHQL_TYPE}; charset=utf-8`]);
    expect(own.errors.map(({ message }) => message)).toEqual(plain.errors.map(({ message }) => message));
  });

  it.each<[string, unknown, string]>([
    ['no object', [], ''], ['nothing', {}, '/query'], ['no text', { query: 5 }, '/query'], ['a misspelt name', { qeury: '{ __typename }' }, '/qeury'],
    ['variables that are a list', { query: '{ __typename }', variables: [] }, '/variables'], ['a name that is none', { query: '{ __typename }', operationName: 5 }, '/operationName'], ['odd extensions', { query: '{ __typename }', extensions: 'x' }, '/extensions'],
  ])('a body that is none: %s', async (_what, body, pointer) => {
    const { status, json } = await service.post('/v1/graphql', body);
    expect([status, json['code']]).toEqual([422, 'validation_failed']);
    expect(json['errors']).toContainEqual(expect.objectContaining({ pointer }));
  });
});

describe('what a field comes to', () => {
  it('is the error of REST, beside what the others came to', async () => {
    const { status, data, errors, codes, credits } = await ask(service, `mutation {
      good: enrich(id: "pe_1") { name } unknown: enrich(id: "pe_9") { name } removed: enrich(email: "gone@acme.example") { name } odd: reveal(email: "x") { name } both: enrich(id: "pe_1", email: "a@acme.example") { name }
    }`, { headers: { accept: GRAPHQL_TYPE } });
    expect([status, data, credits]).toEqual([200, { good: { name: 'Jane Doe' }, unknown: null, removed: null, odd: null, both: null }, 1]);
    expect(codes).toEqual(['no_match', 'suppressed_person', 'validation_failed', 'validation_failed']);
    expect(errors.map(({ path }) => path)).toEqual([['unknown'], ['removed'], ['odd'], ['both']]);
    expect(errors.slice(1).map(({ extensions }) => [extensions.status, extensions.errors[0]?.pointer])).toEqual([[451, undefined], [422, '/email'], [422, '/id']]);
    const queries = await ask(service, '{ contact { name } removed: contact(linkedin_url: "x") { name } company(domain: "x") { name } none: company(domain: "none.example") { name } contacts(filter: { country: "nowhere" }, first: 0) { totalCount } signals(since: "soon", after: "x") { edges { cursor } } }');
    expect(queries.codes).toEqual(['validation_failed', 'validation_failed', 'invalid_parameter', 'no_match', 'validation_failed', 'invalid_parameter']);
    expect(queries.errors[0]?.message).toBe('nothing to look up: give one of linkedin_url, id');
    expect(queries.errors[4]?.extensions.errors).toMatchObject([{ pointer: '/filter/country' }, { pointer: '/first', detail: 'first must be a whole number from 1 to 100' }]);
    expect(queries.errors[5]?.extensions.errors).toMatchObject([{ parameter: 'since' }, { parameter: 'after', detail: 'after is none of this search: pass endCursor as it was, with the same filters and order' }]);
    const sorted = await ask(service, '{ contacts(sort: "nope", filter: { domain: ["acme.example", "?"] }) { totalCount } }');
    expect(sorted.errors[0]?.extensions.errors.map(({ pointer }) => pointer)).toEqual(['/filter/domain', '/sort']);
    expect((await ask(service, `mutation { verifyEmails(emails: [${'"a" '.repeat(1_001)}]) { summary { unknown } } }`)).codes).toEqual(['too_many_emails']);
  });

  it('is nothing of somebody who asked to be removed, among others as alone', async () => {
    inStore((open) => suppress(open, ['ann@acme.example'], Date.now()));
    const { data, codes } = await ask(service, '{ contact(linkedin_url: "linkedin.com/in/ann-able") { name } contacts(filter: { name: "Ann" }) { totalCount } }');
    expect([data, codes]).toEqual([{ contact: null, contacts: { totalCount: 0 } }, ['suppressed_person']]);
    const verdicts = await ask(service, 'mutation { verifyEmails(emails: ["ann@acme.example"], mode: syntax) { data { email result reason } } }');
    expect(verdicts.data).toEqual({ verifyEmails: { data: [{ email: 'ann@acme.example', result: 'unknown', reason: 'suppressed_person' }] } });
  });

  it('is one failure of all where it may work later, and nothing is charged', async () => {
    const key = await makeKey(store, 'trial', { credits: 5 });
    const first = await ask(service, '{ __typename }', { key });
    vi.spyOn(VerifyGate.prototype, 'verify').mockRejectedValueOnce(new ServiceError('overloaded', 'no room', { headers: { 'retry-after': '5' } }));
    const document = 'mutation { a: enrich(id: "pe_1") { name } b: enrich(id: "pe_h", verify: true) { name } }';
    const busy = await ask(service, document, { key, ...once('busy') });
    expect([busy.status, busy.json['code'], busy.headers.get('retry-after'), busy.credits]).toEqual([503, 'overloaded', '5', 0]);
    expect(left(busy)).toBeGreaterThanOrEqual(left(first));
    const again = await ask(service, document, { key, ...once('busy') });
    expect([again.status, again.credits, again.errors, again.headers.get('idempotency-replayed')]).toEqual([200, 3, [], null]);
    await service.close();
    expect(inStore((open) => listKeys(open).map(({ callsUsed, creditsUsed }) => [callsUsed, creditsUsed]))).toEqual([[3, 3]]);
  });
});

describe('what it costs', () => {
  it.each<[string, number]>([
    ['{ contacts { totalCount } contact(id: "pe_a") { name } signals { edges { cursor } } }', 0],
    ['{ company(domain: "acme.example") { name } again: company(domain: "www.acme.example") { name } none: company(domain: "none.example") { name } }', 2],
    ['mutation { enrich(id: "pe_a") { name } other: enrich(domain: "acme.example") { company { name } } none: enrich(id: "pe_9") { name } }', 2],
    ['mutation { reveal(id: "pe_a") { credits_charged } bare: reveal(id: "pe_bare") { credits_charged } }', 1],
    ['mutation { enrich(id: "pe_h", verify: true) { email_status } verifyEmails(emails: ["hired@acme.example", "HIRED@acme.example", "x@mailinator.com"]) { summary { deliverable } } }', 4],
    ['{ __schema { description } }', 0],
  ])('%s', async (query, credits) => {
    expect((await ask(service, query)).credits).toBe(credits);
  });

  it('is what REST takes of a key that has not enough', async () => {
    const [empty, one] = [await makeKey(store, 'growth', { credits: 0 }), await makeKey(store, 'growth', { credits: 1 })];
    expect((await ask(service, '{ contacts { totalCount } contact(id: "pe_a") { name } }', { key: empty })).errors).toEqual([]);
    const verify = vi.spyOn(VerifyGate.prototype, 'verify');
    for (const [key, query] of [[empty, '{ contacts { totalCount } company(domain: "acme.example") { name } }'], [empty, 'mutation { verifyEmails(emails: ["hired@acme.example"]) { summary { unknown } } }'], [one, 'mutation { a: enrich(id: "pe_1") { name } b: enrich(id: "pe_a") { name } }']] as const) {
      const refused = await ask(service, query, { key });
      expect([refused.status, refused.json['code'], refused.credits]).toEqual([402, 'insufficient_credits', 0]);
    }
    expect(verify).not.toHaveBeenCalled();
    expect((await ask(service, 'mutation { enrich(id: "pe_1") { name } }', { key: one })).credits).toBe(1);
  });

  it('is a request of the quota and a call of a trial for each field at the top', async () => {
    const key = await makeKey(store, 'trial');
    const first = await ask(service, '{ __typename __schema { description } }', { key });
    const ten = await ask(service, many(10, 'contact(id: "pe_1") { name }'), { key });
    expect([left(first), ten.status]).toEqual([59, 200]);
    expect([49, 50]).toContain(left(ten));
    const tooMany = await ask(service, many(55, 'contact(id: "pe_1") { name }'), { key });
    expect([tooMany.status, tooMany.json['code'], Number(tooMany.headers.get('retry-after')) > 0]).toEqual([429, 'rate_limited', true]);
    expect(left(tooMany)).toBeGreaterThanOrEqual(left(ten));
    const never = await ask(service, many(61, 'contact(id: "pe_1") { name }'), { key });
    expect([never.status, never.json['errors']]).toEqual([422, [expect.objectContaining({ pointer: '/query', code: 'too_many' })]]);
    await service.close();
    // What is refused for good is a call, as by REST.
    expect(inStore((open) => listKeys(open).map(({ callsUsed }) => callsUsed))).toEqual([12]);
  });
});

describe('with an Idempotency-Key', () => {
  it('is answered as the first time at no cost, also after an import and in another type, until somebody of them is erased', async () => {
    const document = 'mutation { found: enrich(id: "pe_h", verify: true) { name email_status } missed: enrich(email: "new@acme.example") { name } bare: reveal(id: "pe_bare") { email } verifyEmails(emails: ["able@acme.example"]) { summary { unknown } } }';
    const first = await ask(service, document, once('one'));
    expect([first.credits, first.codes]).toEqual([2, ['no_match']]);
    inStore((open) => void loadPeople(open, [{ id: 'pe_n', email: 'new@acme.example', name: 'New' }, { id: 'pe_bare', email: 'bare@acme.example' }], 'later'));
    const verify = vi.spyOn(VerifyGate.prototype, 'verify');
    for (const accept of ['application/json', GRAPHQL_TYPE]) {
      const again = await ask(service, document, { headers: { ...once('one').headers, accept } });
      expect([again.text, again.credits, again.headers.get('content-type'), again.headers.get('idempotency-replayed')]).toEqual([first.text, 0, first.headers.get('content-type'), 'true']);
    }
    expect(verify).not.toHaveBeenCalled();
    expect((await ask(service, '{ __typename }', once('one'))).json['code']).toBe('idempotency_mismatch');
    // Her address was asked about, and no field of the answer shows it.
    inStore((open) => suppress(open, ['ann@acme.example'], Date.now()));
    expect((await ask(service, document, once('one'))).json['code']).toBe('suppressed_person');
  });

  it('says again what was wrong with a document', async () => {
    const first = await ask(service, '{ nothing }', once('four'));
    const again = await ask(service, '{ nothing }', { headers: { ...once('four').headers, accept: GRAPHQL_TYPE } });
    expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([200, first.text, 'true']);
  });
});
