import { describe, expect, it } from 'vitest';
import { ERRORS, type ErrorCode } from '../../../src/service/http/problem.ts';
import { listKeys, revokeKey } from '../../../src/service/accounts/keys.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { KEY, makeKey, makeStore, serveStore, type Reply } from '../harness.ts';

/** A mail server that never says a word. */
const SILENT = {
  hosts: { 'mx.slow.example': { quirk: 'silent' } },
  domains: { 'slow.example': { mx: [[10, 'mx.slow.example']] } },
} as const;
const AUTH = { authorization: `Bearer ${KEY}` };
const KNOWN = { email: 'jane.doe@acme.example' };

/**
 * Provoked elsewhere: what is half sent (`guard/limits.test.ts`), what only a socket sends (`hostile.test.ts`), a fault that is asked for
 * (`faults.test.ts`), and a full disk (`store/unwritable.test.ts`).
 */
const ELSEWHERE: readonly ErrorCode[] = ['request_timeout', 'internal_error', 'disk_full', 'expectation_failed'];

describe('the error table', () => {
  it('describes each error as a client gets it: status, headers and words', async () => {
    const store = await makeStore();
    const [empty, foreign, revoked, small, slow] = [
      await makeKey(store, 'growth', { credits: 0 }),
      await makeKey(store, 'growth', { region: 'apac' }),
      await makeKey(store, 'growth'),
      await makeKey(store, 'trial'),
      await makeKey(store, 'enterprise'),
    ];
    const open = openStore(store);
    revokeKey(open, listKeys(open).find(({ plan, region, credits }) => plan === 'growth' && region === 'us' && credits === null)?.id ?? '');
    open.close();
    const service = await serveStore({ store, mail: { world: SILENT } });
    const enrich = (body: unknown, options = {}): Promise<Reply> => service.post('/v1/enrich', body, options);
    const verifyLater = (): Promise<Reply> =>
      service.post('/v1/emails/verify', { email: 'jane@slow.example' }, { key: slow, headers: { prefer: 'respond-async' } });
    const reuse = { headers: { 'idempotency-key': 'one' } };
    const inFlight = { key: slow, headers: { 'idempotency-key': 'two' } };

    const provoke: Readonly<
      Record<Exclude<ErrorCode, 'request_timeout' | 'internal_error' | 'disk_full' | 'expectation_failed'>, () => Promise<Reply>>
    > = {
      invalid_json: () => enrich('{'),
      unknown_parameter: () => service.request('/v1/signals?tpye=funding', { headers: AUTH }),
      invalid_parameter: () => service.request('/v1/signals?limit=0', { headers: AUTH }),
      unauthorized: () => enrich(KNOWN, { key: null }),
      insufficient_credits: () => enrich(KNOWN, { key: empty }),
      forbidden: () => enrich(KNOWN, { key: revoked }),
      no_match: () => enrich({ email: 'nobody@acme.example' }),
      not_found: () => service.request('/v1/nope', { headers: AUTH }),
      method_not_allowed: () => service.request('/v1/enrich', { headers: AUTH }),
      idempotency_in_flight: async () => {
        const first = service.post('/v1/emails/verify', { email: 'joe@slow.example', timeout_ms: 1_000 }, inFlight);
        const second = await Promise.race([
          first,
          service.post('/v1/emails/verify', { email: 'joe@slow.example', timeout_ms: 1_000 }, inFlight),
        ]);
        await first;
        return second;
      },
      job_state_conflict: async () =>
        service.request(`/v1/batches/${String((await service.post('/v1/batches', { operation: 'enrich' })).json['id'])}/results`, {
          headers: AUTH,
        }),
      payload_too_large: () => enrich(`"${'x'.repeat(1024 * 1024)}"`),
      unsupported_media_type: () => enrich('{}', { headers: { 'content-type': 'text/plain' } }),
      wrong_region: () => enrich(KNOWN, { key: foreign }),
      validation_failed: () => enrich({}),
      too_many_emails: () => service.post('/v1/emails/verify', { emails: Array.from({ length: 1_001 }, () => 'x') }),
      idempotency_mismatch: async () => {
        await enrich(KNOWN, reuse);
        return enrich({ id: 'pe_1' }, reuse);
      },
      rate_limited: async () => {
        await service.post('/v1/enrich/bulk', { requests: Array.from({ length: 60 }, () => ({ params: KNOWN })) }, { key: small });
        return enrich(KNOWN, { key: small });
      },
      headers_too_large: () => service.request('/v1/signals', { headers: { ...AUTH, 'x-many': 'x'.repeat(20_000) } }),
      suppressed_person: () => enrich({ email: 'gone@acme.example' }),
      overloaded: async () => {
        for (let n = 0; n < 25; n++) await verifyLater();
        return verifyLater();
      },
    };
    for (const [code, send] of Object.entries(provoke)) {
      const { status, title, retryable } = ERRORS[code as ErrorCode];
      const reply = await send();
      expect(reply.json, code).toMatchObject({
        type: `urn:millrace:error:${code}`,
        code,
        status,
        title,
        retryable,
        request_id: reply.headers.get('x-request-id'),
      });
      expect([reply.status, reply.headers.get('x-credits-charged')], code).toEqual([status, '0']);
      expect(reply.headers.has('retry-after'), code).toBe(retryable);
    }
    expect([...Object.keys(provoke), ...ELSEWHERE].sort()).toEqual(Object.keys(ERRORS).sort());
  });
});
