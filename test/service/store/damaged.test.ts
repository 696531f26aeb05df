/** One damaged page of the store: requests that need it get 500 and cost nothing, all others are answered, and the log reports it. */
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { listKeys } from '../../../src/service/accounts/keys.ts';
import { loadPeople, loadSignals } from '../../../src/service/store/rows/load.ts';
import { booksOf } from '../../../src/service/store/owner/store-name.ts';
import { openExistingStore, openStore } from '../../../src/service/store/open-store.ts';
import type { ServiceLog } from '../../../src/service/monitoring/log.ts';
import { jobsOf, ndjson } from '../batches/jobs.ts';
import { KEY, makeKey, makeStore, serveStore, temporaryFolder, type Reply, type Served } from '../harness.ts';

const PEOPLE = 60;
const IDS = Array.from({ length: PEOPLE }, (_, n) => `many_${n}`);
const PAGE_BYTES = 8_192;

let whole: readonly Buffer[];
let key: string;

beforeAll(async () => {
  const path = await makeStore((store) => {
    loadPeople(
      store,
      IDS.map((id, n) => ({
        id,
        email: `p${n}@acme.example`,
        name: `Person ${n}`,
        title: 'Engineer',
        summary: `${n} `.repeat(250),
        company_domain: 'acme.example',
      })),
      'test',
    );
    loadSignals(
      store,
      [
        {
          id: 'sg_1',
          type: 'funding',
          occurred_at: '2026-01-02T00:00:00Z',
          detected_at: '2026-01-02T00:00:00Z',
          company: { domain: 'acme.example' },
        },
      ],
      'test',
    );
  });
  key = await makeKey(path, 'enterprise', { credits: 1_000 });
  whole = [path, booksOf(path)].map((file) => readFileSync(file));
});

async function copy(): Promise<string> {
  const path = join(await temporaryFolder(), 'store.sqlite');
  for (const [at, file] of [path, booksOf(path)].entries()) writeFileSync(file, whole[at] ?? '');
  return path;
}

/** A copy of the store in which a middle page of a table or index is overwritten. */
async function damagedCopy(table: string, kind: 'leaf' | 'internal' = 'leaf'): Promise<string> {
  const path = await copy();
  const store = openStore(path);
  const [db = store] = [store, store.books].filter(
    (one) => one.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(table) !== undefined,
  );
  const pages = db
    .prepare('SELECT pageno, pgsize FROM dbstat WHERE name = ? AND pagetype = ? ORDER BY path')
    .all(table, kind)
    .map(({ pageno, pgsize }) => ({ page: Number(pageno), bytes: Number(pgsize) }));
  const damaged = db.location() ?? '';
  store.close();
  const { page = 0, bytes = 0 } = pages[Math.floor(pages.length / 2)] ?? {};
  expect(page, `${table} has no ${kind}`).toBeGreaterThan(1);
  const file = openSync(damaged, 'r+');
  writeSync(file, Buffer.alloc(bytes, 0xa5), 0, bytes, (page - 1) * bytes);
  closeSync(file);
  return path;
}

interface Damaged {
  readonly service: Served;
  readonly path: string;
  /** The log lines about damage. */
  readonly told: Record<string, unknown>[];
}

async function serveDamaged(table: string, kind?: 'leaf' | 'internal'): Promise<Damaged> {
  const path = await damagedCopy(table, kind);
  const told: Record<string, unknown>[] = [];
  const log: ServiceLog = {
    write: (level, entry) => {
      if (level === 'error') told.push({ ...entry });
    },
    line: () => undefined,
    takes: () => false,
  };
  return { service: await serveStore({ store: path, log }), path, told };
}

const readiness = async ({ service }: Damaged): Promise<unknown> => {
  const { status, json } = await service.request('/readyz');
  return [status, json['status'], json['reason'] ?? null];
};
const statuses = (replies: readonly Reply[]): Record<string, number> =>
  Object.fromEntries(
    Object.entries(
      Object.groupBy(replies, ({ status, json }) => (typeof json['code'] === 'string' ? `${status} ${json['code']}` : String(status))),
    ).map(([name, some]) => [name, some?.length ?? 0]),
  );
const get = ({ service }: Damaged, path: string): Promise<Reply> => service.request(path, { headers: { authorization: `Bearer ${KEY}` } });
const DEGRADED = [200, 'degraded', 'store_damaged'];

describe('a damaged page', () => {
  it('a damaged page of people fails only lookups of those people, without a charge, and is logged once per reader', async () => {
    const damaged = await serveDamaged('people');
    const { service, path, told } = damaged;
    const enrichAll = () => Promise.all(IDS.map((id) => service.post('/v1/enrich', { id }, { key })));
    const first = await enrichAll();
    const { '200': good = 0, '500 internal_error': bad = 0, ...others } = statuses(first);
    expect([good + bad, others]).toEqual([PEOPLE, {}]);
    expect([good, bad].every((count) => count > 0)).toBe(true);
    expect(first.find(({ status }) => status === 500)?.headers.get('x-credits-charged')).toBe('0');
    expect(await readiness(damaged)).toEqual(DEGRADED);
    expect((await enrichAll()).map(({ status }) => status)).toEqual(first.map(({ status }) => status));
    expect(told).toMatchObject([{ event: 'store_damaged', where: 'POST /v1/enrich', hint: `millrace check --store ${path}` }]);
    expect(service.look().damage.get('POST /v1/enrich')).toBe(2 * bad);

    const bulk = await service.post('/v1/enrich/bulk', { requests: IDS.map((id) => ({ params: { id } })) }, { key });
    expect((bulk.json['data'] as { status: number }[]).map(({ status }) => status)).toEqual(first.map(({ status }) => status));
    const jobs = jobsOf(service, key);
    const { id } = await jobs.create({ operation: 'enrich' });
    await jobs.put(id, 1, ndjson(...IDS.map((person) => ({ id: person }))));
    await jobs.complete(id);
    expect(await jobs.until(id, 'completed')).toMatchObject({ counts: { succeeded: good, failed: bad }, credits_charged: good });
    expect((await get(damaged, '/v1/companies/acme.example')).status).toBe(200);
    await service.close();
    const store = openExistingStore(path);
    expect(listKeys(store)).toMatchObject([{ creditsUsed: 4 * good }]);
    store.close();
  });

  it.each([
    ['sqlite_autoindex_people_1', 'leaf', '/v1/companies/acme.example'],
    ['people', 'internal', '/v1/signals'],
    ['person_postings', 'leaf', '/v1/companies/acme.example'],
    ['signals', 'leaf', '/v1/companies/acme.example'],
    ['companies', 'leaf', '/v1/batches'],
    ['batches_by_key', 'leaf', '/v1/signals'],
    ['webhooks', 'leaf', '/v1/signals'],
    ['verifications', 'leaf', '/v1/signals'],
    ['webhook_deliveries_due', 'leaf', '/v1/signals'],
  ] as const)('of %s (%s) keeps the process and what does not need it', async (table, kind, untouched) => {
    const damaged = await serveDamaged(table, kind);
    const { service } = damaged;
    const replies = [
      await service.post('/v1/enrich', { id: 'many_1' }),
      await get(damaged, '/v1/contacts/search?q=person'),
      await get(damaged, '/v1/signals'),
      await get(damaged, '/v1/companies/acme.example'),
      await get(damaged, '/v1/batches'),
      await get(damaged, '/v1/webhooks'),
      await service.post('/v1/emails/verify', { email: 'n/a' }, { headers: { prefer: 'respond-async' } }),
      await service.post('/v1/webhooks', { event: 'funding.round', url: 'https://hooks.example/x' }),
      await service.post('/v1/graphql', { query: '{ contact(id: "many_1") { name } }' }),
    ];
    expect(Object.keys(statuses(replies)).filter((one) => !/^(?:20\d|500 internal_error)$/.test(one))).toEqual([]);
    expect((await get(damaged, untouched)).status).toBe(200);
    expect(await readiness(damaged)).toEqual(DEGRADED);
    expect(service.look().damage.size).toBeGreaterThan(0);
  });

  it.each(['answers', 'sqlite_autoindex_answers_1', 'answers_by_age', 'answer_blocks'])(
    'a damaged page of %s refuses requests that must store a row there, without a charge',
    async (table) => {
      const damaged = await serveDamaged(table);
      const { service, path } = damaged;
      const enrich = (headers: Record<string, string>) => service.post('/v1/enrich', { id: 'many_1' }, { key, headers });
      expect((await enrich({})).status).toBe(200);
      const stored = await enrich({ 'idempotency-key': 'k' });
      expect([stored.status, stored.json['code'], stored.headers.get('x-credits-charged')]).toEqual([500, 'internal_error', '0']);
      expect((await enrich({})).status).toBe(200);
      expect(await readiness(damaged)).toEqual([503, 'unavailable', 'store_damaged']);
      await service.close();
      const store = openExistingStore(path);
      expect(listKeys(store)).toMatchObject([{ creditsUsed: 2 }]);
      store.close();
    },
  );

  it('a damaged page of the API keys refuses those keys and no other', async () => {
    const damaged = await serveDamaged('keys');
    const ask = (by: string) => damaged.service.post('/v1/enrich', { id: 'many_1' }, { key: by });
    expect([(await ask(key)).status, (await ask(KEY)).status]).toEqual([500, 200]);
    expect(await readiness(damaged)).toEqual([503, 'unavailable', 'store_damaged']);
  });

  it('a damaged page of the schema is reported by the command that opens the store', async () => {
    const path = await copy();
    const file = openSync(path, 'r+');
    // Behind the header of the file.
    writeSync(file, Buffer.alloc(PAGE_BYTES - 100, 0xa5), 0, PAGE_BYTES - 100, 100);
    closeSync(file);
    expect(() => openStore(path)).toThrow(
      expect.objectContaining({
        code: 'store_unreadable',
        exitCode: 74,
        hint: expect.stringContaining(`millrace check --store ${path}`) as string,
      }),
    );
  });
});
