import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, describe, it } from 'vitest';
import { loadPeople } from '../../../src/service/store/rows/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { checkEvent } from '../answers.ts';
import { KEY, makeKey, makeStore } from '../harness.ts';
import { serveHooked } from './hooked.ts';
import { Receiver, signedBy } from './receiver.ts';

const JANE = { email: 'jane.doe@acme.example' };

describe('enrichment.completed', () => {
  it('goes to the webhooks of the key with the found record, once, and not for misses or replays', async () => {
    const receiver = await Receiver.start(checkEvent);
    const store = await makeStore();
    const other = await makeKey(store, 'growth');
    const service = await serveHooked({ store });
    const { secret } = await service.subscribe({ event: 'enrichment.completed', url: receiver.url() });
    await service.subscribe({ events: ['job.change', 'funding.round'], url: receiver.url('/other-events') });
    await service.subscribe({ event: 'enrichment.completed', url: receiver.url('/other') }, other);
    const headers = { 'idempotency-key': 'once' };
    const answered = await service.post('/v1/enrich', JANE, { headers });
    await service.post('/v1/enrich', JANE, { headers });
    await service.post('/v1/enrich', { email: 'nobody@acme.example' });
    await service.post('/v1/enrich/bulk', { requests: [{ params: { id: 'pe_3' } }, { params: { id: 'pe_99' } }] });
    await service.post('/v1/enrich', { domain: 'acme.example' });
    const all = await receiver.count(3);
    expect(all).toHaveLength(3);
    // Deliveries run in parallel and arrive in any order.
    const [first, second, third] = ['pe_1', 'pe_3', null].map((id) => all.find(({ body }) => body.data['id'] === id));
    expect(first).toMatchObject({
      path: '/hook',
      headers: { 'content-type': 'application/json' },
      body: { type: 'enrichment.completed', timestamp: expect.stringMatching(/^20.*Z$/) },
    });
    expect(first?.body.data).toEqual(answered.json);
    for (const one of [first, second, third]) expect(one === undefined ? [] : signedBy(one, [secret])).toEqual([secret]);
    expect(new Set(receiver.received.map(({ headers: { 'webhook-id': id } }) => id)).size).toBe(3);
    await service.close();
    expect(receiver.received).toHaveLength(3);
  });

  it.each([
    [
      '/v1/enrich/bulk',
      {
        requests: ['jane.doe@acme.example', 'max.past@acme.example', 'joe@slow.example'].map((email) => ({
          params: { email, verify: email.endsWith('slow.example') },
        })),
      },
    ],
    [
      '/v1/graphql',
      {
        query:
          'mutation { a: enrich(id: "pe_1") { name } b: enrich(id: "pe_2") { ' +
          'name } c: enrich(email: "joe@slow.example", verify: true) { name } }',
      },
    ],
  ])('has no event for parts of a request to %s that is refused in the end, even if one part took long', async (path, body) => {
    const world = {
      hosts: { 'mx.slow.example': { quirk: 'silent' } },
      domains: { 'slow.example': { mx: [[10, 'mx.slow.example']] } },
    } as const;
    const store = await makeStore((open) => loadPeople(open, [{ id: 'pe_4', email: 'joe@slow.example', name: 'Joe Slow' }], 'crm'));
    const [poor, other] = [await makeKey(store, 'scale', { credits: 1 }), await makeKey(store, 'scale', { credits: 20 })];
    const service = await serveHooked({ store, mail: { world } });
    await service.subscribe({ event: 'enrichment.completed', url: 'http://127.0.0.1:9' }, poor);
    // The first GraphQL request is slower than later ones.
    await service.post('/v1/graphql', { query: '{ __typename }' });
    const request = service.post(path, body, { key: poor });
    // The journal writes events that were collected so far, together with the charges of these requests.
    for (let n = 0; n < 20; n++) await service.post('/v1/enrich', JANE, { key: other });
    await service.close();
    expect((await request).status).toBe(402);
    const open = openStore(store);
    expect(open.books.prepare('SELECT count(*) AS n FROM webhook_deliveries').get()).toEqual({ n: 0 });
    open.close();
  });

  it('also goes to the webhook_url of a request, signed with the secret that the shell line of the docs prints', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    await service.post('/v1/enrich', { ...JANE, webhook_url: receiver.url('/mine'), fields: ['title'] });
    const [delivery] = await receiver.count(1);
    expect(delivery).toMatchObject({ path: '/mine', body: { data: { title: 'CTO' } } });
    const line = /^KEY=\S+\n(?<line>.*openssl[\s\S]*?)\n```/m.exec(await readFile('docs/webhooks.md', 'utf8'))?.groups?.['line'] ?? '';
    const { stdout } = await promisify(execFile)('sh', ['-c', line], { env: { ...process.env, KEY } });
    expect(delivery === undefined ? null : signedBy(delivery, [stdout.trim()])).toEqual([stdout.trim()]);
  });

  it('to a webhook_url carries the signature of the webhook with the same URL, and arrives once', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    const { secret } = await service.subscribe({ event: 'enrichment.completed', url: receiver.url() });
    const other = await service.subscribe({ event: 'job.change', url: receiver.url('/mine') });
    await service.post('/v1/enrich', { ...JANE, webhook_url: receiver.url() });
    await service.post('/v1/enrich', { ...JANE, webhook_url: receiver.url('/mine') });
    const all = await receiver.count(3);
    const signers = all.map(
      (one) =>
        `${one.path} ${signedBy(one, [secret, other.secret])
          .map((by) => (by === secret ? 'first' : 'second'))
          .join()}`,
    );
    expect(signers.toSorted()).toEqual(['/hook first', '/hook first', '/mine second']);
    await service.close();
    expect(receiver.received).toHaveLength(3);
  });

  it('also reports enrichments by GraphQL', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    await service.subscribe({ event: 'enrichment.completed', url: receiver.url() });
    await service.post('/v1/graphql', {
      query:
        'mutation { a: enrich(email: "jane.doe@acme.example") { title } b: enrich(id: "pe_3", webhook_url: ' +
        `"${receiver.url('/mine')}") { name } c: enrich(id: "pe_99") { name } }`,
    });
    const all = await receiver.count(3);
    expect(all.map(({ path, body }) => `${path} ${String(body.data['id'])}`).toSorted()).toEqual([
      '/hook pe_1',
      '/hook pe_3',
      '/mine pe_3',
    ]);
  });

  it('has no event for an answer that is refused because credits are missing', async () => {
    const receiver = await Receiver.start(checkEvent);
    const store = await makeStore();
    const poor = await makeKey(store, 'growth', { credits: 1 });
    const service = await serveHooked({ store });
    const statuses = [];
    for (let n = 0; n < 2; n++)
      statuses.push(
        (
          await service.post(
            '/v1/enrich/bulk',
            { requests: Array.from({ length: 2 - n }, () => ({ params: { ...JANE, webhook_url: receiver.url() } })) },
            { key: poor },
          )
        ).status,
      );
    expect(statuses).toEqual([402, 200]);
    await receiver.count(1);
    await service.close();
    expect(receiver.received).toHaveLength(1);
  });

  it('costs no row in the store without a subscription', async () => {
    const service = await serveHooked();
    for (let n = 0; n < 3; n++) await service.post('/v1/enrich', JANE);
    await service.close();
    const store = openStore(service.store);
    expect(store.books.prepare('SELECT count(*) AS n FROM webhook_deliveries').get()).toEqual({ n: 0 });
    store.close();
  });
});

describe('verification.completed', () => {
  it('reports the end of an asynchronous verification, with the location of its results', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    await service.subscribe({ event: 'verification.completed', url: receiver.url() });
    const emails = ['hired@acme.example', 'no address', 'jane.doe@acme.example'];
    const started = await service.post('/v1/emails/verify', { emails, webhook_url: receiver.url('/mine') });
    expect([started.status, started.headers.get('preference-applied')]).toEqual([202, null]);
    const all = await receiver.count(2);
    expect(all.map(({ path }) => path).toSorted()).toEqual(['/hook', '/mine']);
    const location = started.headers.get('location') ?? '';
    const results = await service.call('GET', location);
    for (const { body } of all)
      expect(body).toMatchObject({
        type: 'verification.completed',
        data: { id: started.json['id'], location, total: 3, summary: results.json['summary'] },
      });
    await service.close();
    expect(receiver.received).toHaveLength(2);
  });
});

describe('batch events', () => {
  it("report the end of a job to the key's webhooks and to the job's webhook_url, in the form of GET", async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    await service.subscribe({ events: ['batch.completed', 'batch.failed'], url: receiver.url() });
    const { json } = await service.post('/v1/batches', { operation: 'enrich', webhook_url: receiver.url('/mine') });
    const path = `/v1/batches/${String(json['id'])}`;
    const line = { email: JANE.email, webhook_url: receiver.url('/line') };
    await service.request(`${path}/parts/1`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/x-ndjson' },
      body: `${JSON.stringify({ params: JANE })}\n${JSON.stringify({ params: line })}\n`,
    });
    await service.call('POST', `${path}/complete`);
    const all = await receiver.count(2);
    expect(all.map((one) => one.path).toSorted()).toEqual(['/hook', '/mine']);
    const job = (await service.call('GET', path)).json;
    for (const { body } of all) expect(body).toMatchObject({ type: 'batch.completed', data: JSON.parse(JSON.stringify(job)) });
    // Lines send no events.
    expect(job['counts']).toMatchObject({ total: 2, succeeded: 1, failed: 1 });
  });
});
