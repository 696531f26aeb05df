/** A full disk: requests that must write are refused at once, reads continue, and everything recovers when space is free again. */
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exposition } from '../../../src/telemetry/prometheus-text.ts';
import { listKeys } from '../../../src/service/accounts/keys.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { isReserveReached, writeFailureOf } from '../../../src/service/store/store-disk.ts';
import { serviceFamilies } from '../../../src/service/app/metrics.ts';
import { parseExposition } from '../../telemetry/parse-exposition.ts';
import { ensureRoot } from '../../services/debian.ts';
import { mountSmallDisk, type SmallDisk } from '../../services/tmpfs.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { jobsOf, ndjson } from '../batches/jobs.ts';
import { makeKey, makeStore, serveStore, type Reply, type Served } from '../harness.ts';
import { copyStoreFiles } from '../../support/store-files.ts';

/** SQLite: a write failed, without a cause. */
const IOERR_WRITE = { errcode: 778 };

async function storeOnSmallDisk(size: string): Promise<{ disk: SmallDisk; store: string }> {
  const made = await makeStore();
  const disk = mountSmallDisk(join(dirname(made), 'disk'), size);
  // Before the folder with the store is removed.
  cleanUp(() => void spawnSync('umount', ['-l', disk.path]));
  const store = join(disk.path, 'store.sqlite');
  copyStoreFiles(made, store);
  return { disk, store };
}

const readiness = async (service: Served): Promise<unknown> => (await service.request('/readyz')).json['reason'] ?? 'ok';
const codeOf = ({ status, json }: Reply): unknown => (status === 200 ? 200 : json['code']);

describe.skipIf(!ensureRoot())('a full disk', () => {
  it('a full disk refuses requests that must write, answers the others, and recovers as soon as there is space', async () => {
    const { disk, store } = await storeOnSmallDisk('24m');
    const [trial, counted, limited] = [
      await makeKey(store, 'trial'),
      await makeKey(store, 'growth', { credits: 100 }),
      await makeKey(store, 'growth'),
    ];
    const service = await serveStore({ store });
    const enrich = (key: string, headers = {}) => service.post('/v1/enrich', { id: 'pe_1' }, { key, headers });
    const get = (path: string, key: string) => service.request(path, { headers: { authorization: `Bearer ${key}` } });
    expect((await enrich(counted, { 'idempotency-key': 'before' })).status).toBe(200);
    await disk.keepFull(Promise.resolve());

    const refused = await enrich(counted);
    expect([
      refused.status,
      refused.json['code'],
      refused.json['retryable'],
      refused.headers.get('retry-after'),
      refused.headers.get('x-credits-charged'),
    ]).toEqual([503, 'disk_full', true, '10', '0']);
    expect(await readiness(service)).toBe('disk_full');
    const metrics = parseExposition(exposition(serviceFamilies(service.look(), 0)));
    const value = (name: string, labels = ''): number | undefined => metrics.get(name)?.samples.get(name + labels);
    expect([
      value('millrace_service_ready'),
      value('millrace_service_store_unwritable', '{reason="disk_full"}'),
      value('millrace_service_disk_free_bytes', '{files="store"}'),
    ]).toEqual([0, 1, 0]);
    expect(value('millrace_service_store_stuck_seconds')).toBeGreaterThan(0);

    const answers = {
      replay: await enrich(counted, { 'idempotency-key': 'before' }),
      kept: await enrich(limited, { 'idempotency-key': 'new' }),
      webhook: await service.post('/v1/webhooks', { event: 'funding.round', url: 'https://hooks.example/x' }, { key: limited }),
      batch: await service.post('/v1/batches', { operation: 'enrich' }, { key: limited }),
      uncounted: await enrich(limited),
      search: await get('/v1/contacts/search?q=jane', counted),
      signals: await get('/v1/signals', counted),
      company: await get('/v1/companies/acme.example', limited),
      trial: await get('/v1/signals', trial),
    };
    expect(Object.fromEntries(Object.entries(answers).map(([name, reply]) => [name, codeOf(reply)]))).toEqual({
      replay: 200,
      kept: 'disk_full',
      webhook: 'disk_full',
      batch: 'disk_full',
      uncounted: 200,
      search: 200,
      signals: 200,
      company: 200,
      trial: 'disk_full',
    });

    disk.free();
    // The service recovers by itself, without a request that writes.
    await expect.poll(() => readiness(service), { timeout: 10_000 }).toBe('ok');
    expect([
      (await enrich(counted)).status,
      (await enrich(trial)).status,
      (await enrich(limited, { 'idempotency-key': 'new' })).status,
    ]).toEqual([200, 200, 200]);
    await service.close();
    const open = openStore(store);
    cleanUp(() => open.close());
    expect(
      Object.fromEntries(
        listKeys(open).map(({ plan, credits, creditsUsed, callsUsed }) => [`${plan} ${credits}`, { creditsUsed, callsUsed }]),
      ),
    ).toMatchObject({
      'growth 100': { creditsUsed: 2, callsUsed: 4 },
      'trial null': { callsUsed: 1 },
    });
  });

  it('a full disk loses no line of a batch job, charges none twice, and refuses uploads before the store is full', async () => {
    const { disk, store } = await storeOnSmallDisk('24m');
    const key = await makeKey(store, 'growth', { credits: 10_000 });
    const service = await serveStore({ store });
    const jobs = jobsOf(service, key);
    const lines = 300;
    const { id } = await jobs.create({ operation: 'enrich' });
    const other = await jobs.create({ operation: 'enrich' });
    await jobs.put(id, 1, ndjson(...Array.from({ length: lines }, (_, n) => ({ custom_id: String(n), id: 'pe_1' }))));
    await disk.keepFull(Promise.resolve());
    const part = await jobs.put(other.id, 1, ndjson({ id: 'pe_1' }));
    expect([part.status, part.json['code'], part.headers.get('retry-after')]).toEqual([503, 'disk_full', '60']);
    expect(codeOf(await jobs.send('POST', `/${id}/complete`))).toBe('disk_full');
    disk.free();
    await expect.poll(() => readiness(service), { timeout: 10_000 }).toBe('ok');
    await jobs.complete(id);
    expect(await jobs.until(id, 'completed')).toMatchObject({ counts: { total: lines, succeeded: lines }, credits_charged: lines });
    expect((await jobs.lines(id)).map(({ custom_id: name }) => Number(name))).toEqual(Array.from({ length: lines }, (_, n) => n));
  });

  it('a full disk is reported differently from a read-only and from a failing disk', async () => {
    const { disk, store } = await storeOnSmallDisk('8m');
    expect(writeFailureOf(IOERR_WRITE, store)).toBe('disk_failed');
    // A trigger refused the write, not a disk.
    expect(writeFailureOf({ errcode: 1_811 }, store)).toBe('store_failed');
    await disk.keepFull(Promise.resolve());
    // An exceeded quota: SQLite reports only ENOSPC as full.
    expect(writeFailureOf(IOERR_WRITE, store)).toBe('disk_full');
    // SQLite has no space for the files beside the store, and reports only a disk error.
    expect(() => openStore(store)).toThrow(
      expect.objectContaining({
        exitCode: 74,
        message: expect.stringContaining('(ENOSPC)') as string,
        hint: expect.stringMatching(/^Free some space, then run the same command/) as string,
      }),
    );
    expect(spawnSync('mount', ['-o', 'remount,ro', disk.path]).status).toBe(0);
    expect(writeFailureOf(IOERR_WRITE, store)).toBe('disk_read_only');
  });
});

it('a twentieth of a disk is reserved for the store, and at most 64 MiB', () => {
  const MIB = 1024 * 1024;
  expect([isReserveReached({ free: 1.1 * MIB, total: 20 * MIB }), isReserveReached({ free: 0.9 * MIB, total: 20 * MIB })]).toEqual([
    false,
    true,
  ]);
  expect([
    isReserveReached({ free: 65 * MIB, total: 100_000 * MIB }),
    isReserveReached({ free: 63 * MIB, total: 100_000 * MIB }),
    isReserveReached(null),
  ]).toEqual([false, true, false]);
});
