import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { VerifyGate } from '../../../src/service/guards/verify-gate.ts';
import { listKeys } from '../../../src/service/accounts/keys.ts';
import { GRAPHQL_TYPE } from '../../../src/service/openapi/graphql-operation.ts';
import { loadPeople } from '../../../src/service/store/rows/load.ts';
import { suppress } from '../../../src/service/erasure/suppress.ts';
import { makeKey, type Served } from '../harness.ts';
import { ask } from './asking.ts';
import { inStore, left, many, once, serveGraphql } from './graphql-service.ts';

let service: Served;
beforeEach(async () => {
  service = await serveGraphql();
});
afterEach(() => {
  vi.restoreAllMocks();
});
describe('a GraphQL document', () => {
  it.each<[string, number]>([
    ['{ contacts { totalCount } contact(id: "pe_a") { name } signals { edges { cursor } } }', 0],
    [
      '{ company(domain: "acme.example") { name } again: company(domain: ' +
        '"www.acme.example") { name } none: company(domain: "none.example") { name } }',
      2,
    ],
    [
      'mutation { enrich(id: "pe_a") { name } other: enrich(domain: ' +
        '"acme.example") { company { name } } none: enrich(id: "pe_9") { name } }',
      2,
    ],
    ['mutation { reveal(id: "pe_a") { credits_charged } bare: reveal(id: "pe_bare") { credits_charged } }', 1],
    [
      'mutation { enrich(id: "pe_h", verify: true) { email_status } verifyEmails(emails: ["hired@acme.example", "HIRED@acme.example", ' +
        '"x@mailinator.com"]) { summary { deliverable } } }',
      4,
    ],
    ['{ __schema { description } }', 0],
  ])('%s costs %i credits', async (query, credits) => {
    expect((await ask(service, query)).credits).toBe(credits);
  });

  it('gets 402 as REST does when the key has too few credits', async () => {
    const [empty, one] = [await makeKey(service.store, 'growth', { credits: 0 }), await makeKey(service.store, 'growth', { credits: 1 })];
    expect((await ask(service, '{ contacts { totalCount } contact(id: "pe_a") { name } }', { key: empty })).errors).toEqual([]);
    const verify = vi.spyOn(VerifyGate.prototype, 'verify');
    for (const [key, query] of [
      [empty, '{ contacts { totalCount } company(domain: "acme.example") { name } }'],
      [empty, 'mutation { verifyEmails(emails: ["hired@acme.example"]) { summary { unknown } } }'],
      [one, 'mutation { a: enrich(id: "pe_1") { name } b: enrich(id: "pe_a") { name } }'],
    ] as const) {
      const refused = await ask(service, query, { key });
      expect([refused.status, refused.json['code'], refused.credits]).toEqual([402, 'insufficient_credits', 0]);
    }
    expect(verify).not.toHaveBeenCalled();
    expect((await ask(service, 'mutation { enrich(id: "pe_1") { name } }', { key: one })).credits).toBe(1);
  });

  it('takes one request of the quota and one trial call for each field at the top', async () => {
    const key = await makeKey(service.store, 'trial');
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
    // A document that is refused for good counts as a call, as by REST.
    expect(inStore(service, (open) => listKeys(open).map(({ callsUsed }) => callsUsed))).toEqual([12]);
  });
});

describe('a GraphQL request with an Idempotency-Key', () => {
  it('gets its first answer again at no cost, also after an import or in another media type, until a person in it is erased', async () => {
    const document =
      'mutation { found: enrich(id: "pe_h", verify: true) { name email_status } missed: enrich(email: "new@acme.example") { name } ' +
      'bare: reveal(id: "pe_bare") { email } verifyEmails(emails: ["able@acme.example"]) { summary { unknown } } }';
    const first = await ask(service, document, once('one'));
    expect([first.credits, first.codes]).toEqual([2, ['no_match']]);
    inStore(
      service,
      (open) =>
        void loadPeople(
          open,
          [
            { id: 'pe_n', email: 'new@acme.example', name: 'New' },
            { id: 'pe_bare', email: 'bare@acme.example' },
          ],
          'later',
        ),
    );
    const verify = vi.spyOn(VerifyGate.prototype, 'verify');
    for (const accept of ['application/json', GRAPHQL_TYPE]) {
      const again = await ask(service, document, { headers: { ...once('one').headers, accept } });
      expect([again.text, again.credits, again.headers.get('content-type'), again.headers.get('idempotency-replayed')]).toEqual([
        first.text,
        0,
        first.headers.get('content-type'),
        'true',
      ]);
    }
    expect(verify).not.toHaveBeenCalled();
    expect((await ask(service, '{ __typename }', once('one'))).json['code']).toBe('idempotency_mismatch');
    // Her address was asked about, and no field of the answer shows it.
    inStore(service, (open) => suppress(open, ['ann@acme.example'], Date.now()));
    expect((await ask(service, document, once('one'))).json['code']).toBe('suppressed_person');
  });

  it('gets the refusal of a wrong document again', async () => {
    const first = await ask(service, '{ nothing }', once('four'));
    const again = await ask(service, '{ nothing }', { headers: { ...once('four').headers, accept: GRAPHQL_TYPE } });
    expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([200, first.text, 'true']);
  });
});
