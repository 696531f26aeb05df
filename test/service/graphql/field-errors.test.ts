import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ServiceError } from '../../../src/service/http/problem.ts';
import { VerifyGate } from '../../../src/service/guards/verify-gate.ts';
import { listKeys } from '../../../src/service/accounts/keys.ts';
import { GRAPHQL_TYPE } from '../../../src/service/openapi/graphql-operation.ts';
import { suppress } from '../../../src/service/erasure/suppress.ts';
import { makeKey, type Served } from '../harness.ts';
import { ask } from './asking.ts';
import { inStore, left, once, serveGraphql } from './graphql-service.ts';

let service: Served;
beforeEach(async () => {
  service = await serveGraphql();
});
afterEach(() => {
  vi.restoreAllMocks();
});
describe('a field of a GraphQL document', () => {
  it('fails with the error of REST, beside the results of the other fields', async () => {
    const { status, data, errors, codes, credits } = await ask(
      service,
      `mutation {
      good: enrich(id: "pe_1") { name }
      unknown: enrich(id: "pe_9") { name }
      removed: enrich(email: "gone@acme.example") { name }
      odd: reveal(email: "x") { name }
      both: enrich(id: "pe_1", email: "a@acme.example") { name }
    }`,
      { headers: { accept: GRAPHQL_TYPE } },
    );
    expect([status, data, credits]).toEqual([200, { good: { name: 'Jane Doe' }, unknown: null, removed: null, odd: null, both: null }, 1]);
    expect(codes).toEqual(['no_match', 'suppressed_person', 'validation_failed', 'validation_failed']);
    expect(errors.map(({ path }) => path)).toEqual([['unknown'], ['removed'], ['odd'], ['both']]);
    expect(errors.slice(1).map(({ extensions }) => [extensions.status, extensions.errors[0]?.pointer])).toEqual([
      [451, undefined],
      [422, '/email'],
      [422, '/id'],
    ]);
    const queries = await ask(
      service,
      '{ contact { name } removed: contact(linkedin_url: "x") { name } company(domain: "x") { name ' +
        '} none: company(domain: "none.example") { name } contacts(filter: { country: "nowhere" }, ' +
        'first: 0) { totalCount } signals(since: "soon", after: "x") { edges { cursor } } }',
    );
    expect(queries.codes).toEqual([
      'validation_failed',
      'validation_failed',
      'invalid_parameter',
      'no_match',
      'validation_failed',
      'invalid_parameter',
    ]);
    expect(queries.errors[0]?.message).toBe('nothing to look up: give one of linkedin_url, id');
    expect(queries.errors[4]?.extensions.errors).toMatchObject([
      { pointer: '/filter/country' },
      { pointer: '/first', detail: 'first must be a whole number from 1 to 100' },
    ]);
    expect(queries.errors[5]?.extensions.errors).toMatchObject([
      { parameter: 'since' },
      { parameter: 'after', detail: 'after is none of this search: pass endCursor as it was, with the same filters and order' },
    ]);
    const sorted = await ask(service, '{ contacts(sort: "nope", filter: { domain: ["acme.example", "?"] }) { totalCount } }');
    expect(sorted.errors[0]?.extensions.errors.map(({ pointer }) => pointer)).toEqual(['/filter/domain', '/sort']);
    expect((await ask(service, `mutation { verifyEmails(emails: [${'"a" '.repeat(1_001)}]) { summary { unknown } } }`)).codes).toEqual([
      'too_many_emails',
    ]);
  });

  it('shows nothing of a person who asked to be removed, alone or among others', async () => {
    inStore(service, (open) => suppress(open, ['ann@acme.example'], Date.now()));
    const { data, codes } = await ask(
      service,
      '{ contact(linkedin_url: "linkedin.com/in/ann-able") { name } contacts(filter: { name: "Ann" }) { totalCount } }',
    );
    expect([data, codes]).toEqual([{ contact: null, contacts: { totalCount: 0 } }, ['suppressed_person']]);
    const verdicts = await ask(
      service,
      'mutation { verifyEmails(emails: ["ann@acme.example"], mode: syntax) { data { email result reason } } }',
    );
    expect(verdicts.data).toEqual({
      verifyEmails: { data: [{ email: 'ann@acme.example', result: 'unknown', reason: 'suppressed_person' }] },
    });
  });

  it('fails the whole request without a charge when a retry may succeed', async () => {
    const key = await makeKey(service.store, 'trial', { credits: 5 });
    const first = await ask(service, '{ __typename }', { key });
    vi.spyOn(VerifyGate.prototype, 'verify').mockRejectedValueOnce(
      new ServiceError('overloaded', 'no room', { headers: { 'retry-after': '5' } }),
    );
    const document = 'mutation { a: enrich(id: "pe_1") { name } b: enrich(id: "pe_h", verify: true) { name } }';
    const busy = await ask(service, document, { key, ...once('busy') });
    expect([busy.status, busy.json['code'], busy.headers.get('retry-after'), busy.credits]).toEqual([503, 'overloaded', '5', 0]);
    expect(left(busy)).toBeGreaterThanOrEqual(left(first));
    const again = await ask(service, document, { key, ...once('busy') });
    expect([again.status, again.credits, again.errors, again.headers.get('idempotency-replayed')]).toEqual([200, 3, [], null]);
    await service.close();
    expect(inStore(service, (open) => listKeys(open).map(({ callsUsed, creditsUsed }) => [callsUsed, creditsUsed]))).toEqual([[3, 3]]);
  });
});
