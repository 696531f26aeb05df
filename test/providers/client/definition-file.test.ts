/** A definition file, compiled, against a provider that behaves as the file says. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { RotatingKey } from '../../../src/client/rotating-key.ts';
import { DeclaredClient } from '../../../src/providers/client/declared-client.ts';
import { compileProvider } from '../../../src/providers/definition/compile-provider.ts';
import { loadProvider } from '../../../src/providers/definition/load-provider.ts';
import { answer, bodyOf, serve } from '../../client/servers.ts';
import { cleanUp } from '../../support/clean-up.ts';

const DEFINITION = `
name: acme-data
baseUrl: https://api.acme.example/v1
authentication: {header: X-Api-Key, prefix: "Key "}
idempotency: {header: Idempotency-Key}
defaultPlan: free
quota:
  plans: {free: [100/minute, 1000/month]}
  headers:
    - {window: day, limit: X-Limit-Day, used: X-Used-Day, reset: X-Reset-Day, resetUnit: seconds}
operations:
  enrich:
    keys: [email, name+domain]
    request:
      path: /people
      query: {email: email, first: first_name, domain: domain, min: min_likelihood}
    answers:
      match: status = 200 and body.data
      miss: status = 404
      wait: status = 429
      waitSeconds: $number(headers.\`x-wait\`)
      code: body.error.type
      message: body.error.message
    record: {email: body.data.mail, name: body.data.full, company: {name: body.data.org, stack: body.data.tech.name}}
    credits: "status = 200 ? 1 : 0"
    batch:
      size: 2
      request:
        method: POST
        path: /people/bulk
        body: {requests: "lookups.{'params': {'email': email, 'name': name, 'domain': domain}, 'metadata': {'id': id}}[]"}
      items: body
      itemStatus: status
      itemId: metadata.id
  verify:
    request: {path: "/verify/{email}"}
    record: {result: body.verdict, confidence: body.score}
`;

interface Entry {
  readonly params: { readonly email: string };
  readonly metadata: { readonly id: string };
}

it('a definition file answers lookups, batches and verdicts as it says', async () => {
  const asked: string[] = [];
  const url = await serve(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x.example');
    asked.push(`${request.method} ${request.url} ${String(request.headers['x-api-key'])} ${String(request.headers['idempotency-key'])}`);
    const headers = { 'x-limit-day': '1000', 'x-used-day': '400', 'x-reset-day': '60', 'x-wait': '3' };
    const send = (status: number, body: unknown): void => answer(response, { status, headers, body: JSON.stringify(body) });
    if (pathname === '/v1/people/bulk') {
      const { requests } = JSON.parse(await bodyOf(request)) as { requests: Entry[] };
      const found = requests.map(({ params, metadata }) => ({ status: 200, metadata, data: { mail: params.email, full: 'Ana' } }));
      return send(200, found.toReversed());
    }
    if (pathname.startsWith('/v1/verify/')) return send(200, { verdict: 'deliverable', score: 90 });
    const email = searchParams.get('email') ?? '';
    if (email.startsWith('none')) return send(404, { error: { type: 'not_found' } });
    if (email.startsWith('busy')) return send(429, {});
    if (email.startsWith('bad')) return send(400, { error: { type: 'bad_email', message: 'No such form.' } });
    return send(200, { data: { mail: email, full: searchParams.get('first'), org: 'Acme', tech: [{ name: 'Go' }] } });
  });
  const folder = mkdtempSync(join(tmpdir(), 'millrace-provider-'));
  cleanUp(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'acme.yaml'), DEFINITION);
  const provider = compileProvider(await loadProvider(join(folder, 'acme.yaml')));
  const client = new DeclaredClient({
    provider,
    baseUrl: `${url}/v1`,
    apiKey: new RotatingKey('k-0123456789'),
    timeoutMs: 30_000,
    connections: 4,
    lookups: { minLikelihood: 5, required: [] },
  });
  cleanUp(() => client.destroy());
  const ask = (email: string): ReturnType<typeof client.callEnrich> =>
    client.callEnrich(client.enrichBody({ email }), { idempotencyKey: 'i-1' });

  expect(await ask('a@x.example')).toMatchObject({
    kind: 'ok',
    value: { record: { email: 'a@x.example', company: { name: 'Acme', stack: ['Go'] } } },
    meta: { credits: 1, quota: { windows: [{ periodMs: 86_400_000, limit: 1_000, remaining: 600, resetMs: 60_000 }] } },
  });
  expect(await ask('none@x.example')).toMatchObject({ kind: 'miss', meta: { credits: 0 } });
  expect(await ask('busy@x.example')).toMatchObject({ kind: 'throttled', retryAfterMs: 3_000 });
  expect(await ask('bad@x.example')).toMatchObject({ kind: 'rejected', code: 'bad_email', detail: 'No such form.' });
  expect(await client.callEnrich(client.enrichBody({ name: 'Ana Sá', domain: 'x.example' }))).toMatchObject({
    value: { record: { name: 'Ana' } },
  });
  const bodies = ['b@x.example', 'c@x.example'].map((email) => client.enrichBody({ email }));
  expect(await client.batches?.call('enrich', bodies)).toMatchObject({
    kind: 'ok',
    value: [{ value: { record: { email: 'b@x.example' } } }, { value: { record: { email: 'c@x.example' } } }],
    meta: { credits: 2 },
  });
  const verified = await client.callVerify(client.verifyBody(['A@x.example']));
  expect(verified).toMatchObject({ kind: 'ok' });
  expect(asked).toEqual([
    'GET /v1/people?email=a%40x.example&min=5 Key k-0123456789 i-1',
    'GET /v1/people?email=none%40x.example&min=5 Key k-0123456789 i-1',
    'GET /v1/people?email=busy%40x.example&min=5 Key k-0123456789 i-1',
    'GET /v1/people?email=bad%40x.example&min=5 Key k-0123456789 i-1',
    'GET /v1/people?first=Ana&domain=x.example&min=5 Key k-0123456789 undefined',
    'POST /v1/people/bulk Key k-0123456789 undefined',
    'GET /v1/verify/A%40x.example Key k-0123456789 undefined',
  ]);
});
