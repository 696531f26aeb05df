import { describe, expect, it } from 'vitest';
import type { EmailVerification } from '../../../src/verification/types.ts';
import { Verifier } from '../../../src/verification/verifier.ts';
import { verifyNow, verifyOnce } from '../../../src/service/verify/verify.ts';
import { openDirectory } from '../../../src/service/store/directory.ts';
import { suppressedResult } from '../../../src/service/records/suppressed-result.ts';
import { loadPeople } from '../../../src/service/store/rows/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { suppress } from '../../../src/service/erasure/suppress.ts';
import { toEnd } from '../../support/steps.ts';
import { NO_DNS } from '../../verification/in-world.ts';
import { KEY, makeKey, makeStore, serveStore, type Reply } from '../harness.ts';

describe('POST /v1/emails/verify', () => {
  it('answers in the order sent, with duplicates and a summary, and charges each mailbox that got an answer once', async () => {
    const store = await makeStore((open) =>
      open
        .prepare(
          'INSERT INTO deliveries (email, delivered_at, bounced_at) VALUES ' +
            "('jane.doe@acme.example', ?1, NULL), ('max.past@acme.example', NULL, ?1)",
        )
        .run(Date.now()),
    );
    const service = await serveStore({ store });
    const emails = ['max.past@acme.example', 'JANE.DOE@acme.example', 'n/a', 'new@acme.example', 'jane.doe@acme.example', 'n/a'];
    const { status, json, headers } = await service.post('/v1/emails/verify', { emails });
    expect(status).toBe(200);
    const data = json['data'] as EmailVerification[];
    expect(data.map(({ email }) => email)).toEqual(emails);
    expect(data.map(({ result }) => result)).toEqual([
      'undeliverable',
      'deliverable',
      'undeliverable',
      'unknown',
      'deliverable',
      'undeliverable',
    ]);
    expect(data[1]).toMatchObject({
      normalized: 'jane.doe@acme.example',
      confidence: 100,
      reason: 'recorded_delivery',
      flags: { accept_all: null },
    });
    expect(json['summary']).toEqual({ deliverable: 2, undeliverable: 3, risky: 0, unknown: 1 });
    expect(headers.get('x-credits-charged')).toBe('3');
  });

  it('answers one result for one address', async () => {
    const service = await serveStore();
    expect(
      (await service.post('/v1/emails/verify', { email: 'x@mailinator.com', mode: 'syntax', timeout_ms: 50, max_age_s: 0 })).json,
    ).toMatchObject({ result: 'risky', reason: 'disposable', confidence: 20 });
    expect((await service.post('/v1/emails/verify', { email: '' })).json).toMatchObject({
      result: 'undeliverable',
      reason: 'invalid_syntax',
    });
  });

  it('answers 451 for a person who asked to be removed, and says so in a list', async () => {
    const service = await serveStore();
    const refused = await service.post('/v1/emails/verify', { email: 'Gone@acme.example' });
    expect([refused.status, refused.json['code'], refused.headers.get('x-credits-charged')]).toEqual([451, 'suppressed_person', '0']);
    expect((await service.post('/v1/emails/verify', { email: 'Gone@acme.example' }, { headers: { prefer: 'respond-async' } })).status).toBe(
      451,
    );
    const emails = ['hired@acme.example', 'Gone@acme.example', 'n/a', 'gone@acme.example'];
    const { json, headers } = await service.post('/v1/emails/verify', { emails });
    expect(json['data']).toMatchObject([
      { result: 'deliverable' },
      { email: 'Gone@acme.example', normalized: null, result: 'unknown', reason: 'suppressed_person', confidence: 0, checks: [], mx: null },
      { result: 'undeliverable' },
      { email: 'gone@acme.example', reason: 'suppressed_person' },
    ]);
    expect([json['summary'], headers.get('x-credits-charged')]).toEqual([{ deliverable: 1, undeliverable: 1, risky: 0, unknown: 2 }, '2']);
  });

  it('hides a person who is erased during a later verification, also in results that were found before', async () => {
    const service = await serveStore();
    const fetched = async (body: unknown): Promise<() => Promise<Reply>> => {
      const at = (await service.post('/v1/emails/verify', body, { headers: { prefer: 'respond-async' } })).headers.get('location') ?? '';
      const get = (): Promise<Reply> => service.request(at, { headers: { authorization: `Bearer ${KEY}` } });
      while ((await get()).status === 202);
      return get;
    };
    const emails = ['hired@acme.example', 'jane.doe@acme.example', 'Gone@acme.example', 'hired@acme.example'];
    const [one, many] = [await fetched({ email: 'hired@acme.example' }), await fetched({ emails })];
    const store = openStore(service.store);
    suppress(store, ['hired@acme.example'], Date.now());
    const answer = await many();
    expect((answer.json['data'] as EmailVerification[]).map(({ email, reason }) => [email, reason === 'suppressed_person'])).toEqual([
      [null, true],
      ['jane.doe@acme.example', false],
      ['Gone@acme.example', true],
      [null, true],
    ]);
    expect(answer.text).not.toMatch(/hired@/);
    expect([(await one()).status, (await one()).json['code']]).toEqual([451, 'suppressed_person']);
    store.close();
  });

  it('names an address that was suppressed before, and hides one that is erased while its server is asked', async () => {
    const open = openStore(await makeStore());
    const directory = openDirectory(open);
    const verifier = {
      verify: (emails: readonly string[]): Promise<EmailVerification[]> => {
        suppress(open, ['hired@acme.example'], Date.now());
        return Promise.resolve(
          emails.map((email) => ({ ...suppressedResult(email, 0), email, normalized: email, reason: 'accepted', result: 'deliverable' })),
        );
      },
    };
    const answer = await verifyOnce(
      { evidence: directory, verifier, directory, now: Date.now, webhooks: { isDevelopment: false } },
      { emails: ['hired@acme.example', 'Gone@acme.example', 'jane.doe@acme.example'] },
    );
    const { data } = JSON.parse(answer.text) as { data: EmailVerification[] };
    expect([data.map(({ email, reason }) => [email, reason]), answer.credits]).toEqual([
      [
        [null, 'suppressed_person'],
        ['Gone@acme.example', 'suppressed_person'],
        ['jane.doe@acme.example', 'accepted'],
      ],
      1,
    ]);
    open.close();
  });

  it('pauses for others between the addresses of a list', async () => {
    const open = openStore(await makeStore());
    const directory = openDirectory(open);
    const verifier = new Verifier({ resolver: NO_DNS, smtp: null, clock: () => 0, now: () => 0 });
    const emails = Array.from({ length: 1_000 }, (_, i) => `person-${i}@acme.example`);
    const dependencies = { evidence: directory, verifier, directory, now: Date.now, webhooks: { isDevelopment: false } };
    const asked = { emails, single: false, mode: 'syntax', maxAgeS: null, timeoutMs: null, webhookUrl: null } as const;
    let pauses = 0;
    const answer = await verifyNow(dependencies, asked, new Set(), (steps) => toEnd(steps, () => pauses++));
    expect((JSON.parse(answer.text) as { data: unknown[] }).data).toHaveLength(1_000);
    // Each address is checked, made a result, and looked for among the erased ones.
    expect(pauses).toBe(3_000);
    open.close();
  });

  it('asks mail servers about unknown addresses, as far as `mode` allows', async () => {
    const service = await serveStore();
    const { json } = await service.post('/v1/emails/verify', { emails: ['hired@acme.example', 'jane@nowhere-at-all.example'] });
    expect(json['data']).toMatchObject([
      {
        result: 'deliverable',
        reason: 'accepted',
        confidence: 75,
        flags: { accept_all: null },
        mx: { provider: 'acme.example' },
        smtp: { code: 250, host: 'mx.acme.example' },
      },
      { result: 'undeliverable', reason: 'no_domain' },
    ]);
    expect((await service.post('/v1/emails/verify', { email: 'hired@acme.example', mode: 'dns' })).json).toMatchObject({
      reason: 'smtp_not_asked',
      smtp: null,
    });
  });

  it("learns a domain's address pattern from known people, and scores an unknown address by it", async () => {
    const person = (n: number, first: string, last: string, more: Record<string, unknown> = {}) => ({
      id: `pe_1${n}`,
      email: `${first[0]}.${last}@works.example`.toLowerCase(),
      name: `${first} ${last}`,
      first_name: first,
      last_name: last,
      company_domain: 'works.example',
      ...more,
    });
    const store = await makeStore((open) =>
      loadPeople(
        open,
        [
          person(0, 'Ana', 'Lopez'),
          person(1, 'Bob', 'Stone'),
          person(2, 'Cy', 'Young'),
          person(3, 'Dee', 'Fox', { email: 'deefox@works.example', email_status: 'bounced' }),
        ],
        'test',
      ),
    );
    const world = {
      hosts: { 'mx.works.example': {} },
      domains: { 'works.example': { mx: [[10, 'mx.works.example']], catchAll: true } },
    } as const;
    const service = await serveStore({ store, mail: { world } });
    const { json } = await service.post('/v1/emails/verify', { emails: ['e.new@works.example', 'newcomer@works.example'] });
    expect(
      (json['data'] as EmailVerification[]).map(({ confidence, score_factors: factors }) => [
        confidence,
        factors.map(({ factor }) => factor),
      ]),
    ).toEqual([
      [60, ['accept_all', 'fits_domain_pattern']],
      [50, ['accept_all']],
    ]);
  });

  it('answers unknown by the deadline, and closes without waiting for the server', async () => {
    const world = {
      hosts: { 'mx.slow.example': { quirk: 'silent' } },
      domains: { 'slow.example': { mx: [[10, 'mx.slow.example']] } },
    } as const;
    const service = await serveStore({ mail: { world } });
    expect((await service.post('/v1/emails/verify', { email: 'jane@slow.example', timeout_ms: 200 })).json).toMatchObject({
      result: 'unknown',
      reason: 'pending',
      retry_at: expect.any(String) as string,
    });
    const asked = service.post('/v1/emails/verify', { email: 'joe@slow.example' });
    await service.request('/healthz');
    await service.close();
    expect((await asked).json).toMatchObject({ result: 'unknown', reason: 'pending' });
  });

  it('verifies later on request: 202 with a location, then the answer, charged once and for the same key only', async () => {
    const service = await serveStore();
    const key = await makeKey(service.store, 'scale', { credits: 3 });
    const other = await makeKey(service.store, 'scale');
    const emails = ['hired@acme.example', 'hired@acme.example', 'n/a', 'stranger@acme.example'];
    const headers = { prefer: 'wait=10, Respond-Async', 'idempotency-key': 'k1' };
    const begun = await service.post('/v1/emails/verify', { emails }, { key, headers });
    expect(begun).toMatchObject({ status: 202, json: { status: 'in_progress', total: 3 } });
    const get = (name: string, at = begun.headers.get('location') ?? ''): Promise<Reply> =>
      service.request(at, { headers: { authorization: `Bearer ${name}` } });
    expect(begun.headers.get('location')).toBe(begun.json['location']);
    expect([begun.headers.get('preference-applied'), begun.headers.get('retry-after'), begun.headers.get('x-credits-charged')]).toEqual([
      'respond-async',
      '1',
      '0',
    ]);
    const look = (): Promise<Reply> =>
      service.request(begun.headers.get('location') ?? '', { method: 'HEAD', headers: { authorization: `Bearer ${key}` } });
    let looked = await look();
    for (; looked.status === 202; looked = await look()) expect(looked.headers.get('location')).toBe(begun.headers.get('location'));
    const polled = await get(key);
    expect(polled).toMatchObject({ status: 200, json: { summary: { deliverable: 2, undeliverable: 1, unknown: 1 } } });
    expect((polled.json['data'] as EmailVerification[]).map(({ email }) => email)).toEqual(emails);
    expect([looked.text, looked.headers.get('x-credits-charged')]).toEqual(['', '0']);
    expect([polled.headers.get('x-credits-charged'), (await get(key)).headers.get('x-credits-charged')]).toEqual(['2', '0']);
    expect(await get(other)).toMatchObject({ status: 404, json: { code: 'not_found' } });
    expect(await get(key, '/v1/emails/verify/ver_no-such')).toMatchObject({ status: 404 });
    const replayed = await service.post('/v1/emails/verify', { emails }, { key, headers });
    expect([replayed.status, replayed.headers.get('location'), replayed.headers.get('idempotency-replayed')]).toEqual([
      202,
      begun.headers.get('location'),
      'true',
    ]);
    // A replay stays a 202 without `respond-async` too: verdicts cost credits, and a replay costs none.
    const atOnce = await service.post('/v1/emails/verify', { emails }, { key, headers: { 'idempotency-key': 'k1' } });
    expect([atOnce.status, atOnce.headers.get('location'), atOnce.headers.get('idempotency-replayed')]).toEqual([
      202,
      begun.headers.get('location'),
      'true',
    ]);

    const single = await service.post('/v1/emails/verify', { email: 'jane@' }, { key, headers: { prefer: 'respond-async' } });
    let one = await get(key, single.headers.get('location') ?? '');
    for (; one.status === 202; one = await get(key, single.headers.get('location') ?? '')) expect(one.json).toMatchObject({ total: 1 });
    expect(one.json).toMatchObject({ result: 'undeliverable', reason: 'invalid_syntax' });
    // No job begins for an empty account.
    expect(await service.post('/v1/emails/verify', { emails }, { key, headers: { prefer: 'respond-async' } })).toMatchObject({
      status: 402,
    });
  });

  it('takes 1,000 addresses and not 1,001', async () => {
    const service = await serveStore();
    const emails = Array.from({ length: 1_001 }, (_, n) => `user${n}@acme.example`);
    const full = await service.post('/v1/emails/verify', { emails: emails.slice(1) });
    expect((full.json['data'] as unknown[]).length).toBe(1_000);
    const { status, json } = await service.post('/v1/emails/verify', { emails });
    expect([status, json['code']]).toEqual([422, 'too_many_emails']);
  });

  it.each([
    [{}, '', 'required'],
    [{ emails: [] }, '/emails', 'too_few'],
    [{ emails: 'a@acme.example' }, '/emails', 'type'],
    [{ emails: ['a@acme.example', 7, null] }, '/emails/2', 'type'],
    [{ emails: ['a@acme.example'], email: 'b@acme.example' }, '/email', 'ambiguous'],
    [{ email: {} }, '/email', 'type'],
    [{ email: 'a@acme.example', mode: 'smtp' }, '/mode', 'enum'],
    [{ email: 'a@acme.example', timeout_ms: 0 }, '/timeout_ms', 'range'],
    [{ email: 'a@acme.example', max_age_s: '1' }, '/max_age_s', 'type'],
    [{ email: 'a@acme.example', maxAge: 1 }, '/maxAge', 'unknown_field'],
  ])('refuses %j at %j: %s', async (body, pointer, code) => {
    const service = await serveStore();
    const { status, json } = await service.post('/v1/emails/verify', body);
    expect([status, json['code']]).toEqual([422, 'validation_failed']);
    expect(json['errors']).toContainEqual(expect.objectContaining({ pointer, code }));
  });
});
