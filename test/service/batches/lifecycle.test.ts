import { readdir, readFile, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { changeKey, listKeys, revokeKey } from '../../../src/service/keys.ts';
import { BatchFolder } from '../../../src/service/batches/folder.ts';
import type { BatchFile } from '../../../src/service/batches/batch-files.ts';
import { BatchRows } from '../../../src/service/batches/batch-rows.ts';
import { Pacer } from '../../../src/service/batches/pacer.ts';
import { keptOutcome } from '../../../src/service/batches/result-lines.ts';
import { shownResults } from '../../../src/service/batches/results.ts';
import { tidyUp } from '../../../src/service/batches/tidy.ts';
import { loadSignals } from '../../../src/service/store/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { suppress } from '../../../src/service/store/suppress.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { makeKey, makeStore, serveStore, temporaryFolder } from '../harness.ts';
import { jobsOf, linesOf, ndjson } from './jobs.ts';

const JANE = 'jane.doe@acme.example';
const PACER = new Pacer(() => 0, () => performance.now());
const HOURS_MS = 3_600_000;
/** For so long a verification waits for a server that is silent: longer than it takes to see that it is under way. */
const LONG_MS = 3_000;
/** A mail server that never says a word. */
const SILENT = { hosts: { 'mx.slow.example': { quirk: 'silent' } }, domains: { 'slow.example': { mx: [[10, 'mx.slow.example']] } } } as const;

function open(path: string): Store {
  const store = openStore(path);
  cleanUp(() => store.close());
  return store;
}

const creditsUsed = (store: Store): number | undefined => listKeys(store)[0]?.creditsUsed;
const lines = (count: number, of: (n: number) => unknown = () => ({ id: 'pe_1' })): string => ndjson(...Array.from({ length: count }, (_, n) => of(n)));

describe('credits', () => {
  it('that run out pause a job, which goes on when there are more, here or in the next process', async () => {
    const path = await makeStore();
    const key = await makeKey(path, 'enterprise', { credits: 3 });
    const store = open(path);
    const first = await serveStore({ store: path });
    const jobs = jobsOf(first, key);
    const { id } = await jobs.create({ operation: 'enrich' });
    await jobs.put(id, 1, lines(10, (n) => (n % 2 === 0 ? { id: 'pe_1' } : { email: 'nobody@acme.example' })));
    await jobs.complete(id);
    expect(await jobs.until(id, 'paused')).toMatchObject({ reason: { code: 'insufficient_credits' }, counts: { total: 10, succeeded: 3, unprocessed: 5 }, credits_charged: 3 });
    expect((await first.post('/v1/enrich', { id: 'pe_1' }, { key })).status).toBe(402);
    expect((await jobs.send('GET', `/${id}/results`)).json['code']).toBe('job_state_conflict');
    changeKey(store, listKeys(store)[0]?.id ?? '', { addCredits: 1 });
    // As it looks every second, of its own accord.
    await expect.poll(async () => (await jobs.get(id)).credits_charged).toBe(4);
    await first.close();
    // The last line finds nobody, but who has no credits does not get to know that.
    changeKey(store, listKeys(store)[0]?.id ?? '', { addCredits: 2 });
    const again = jobsOf(await serveStore({ store: path }), key);
    expect(await again.until(id, 'completed')).toMatchObject({ reason: null, counts: { total: 10, succeeded: 5, not_found: 5, unprocessed: 0 }, credits_charged: 5 });
    expect((await again.lines(id)).map(({ line, credits }) => [line, credits])).toEqual(Array.from({ length: 10 }, (_, n) => [n + 1, n % 2 === 0 ? 1 : 0]));
    expect(creditsUsed(store)).toBe(5);
  });

  it('of max_credits are not exceeded, whatever the key has', async () => {
    const jobs = jobsOf(await serveStore());
    const { id } = await jobs.create({ operation: 'enrich', max_credits: 4 });
    await jobs.put(id, 1, lines(9));
    await jobs.complete(id);
    expect(await jobs.until(id, 'paused')).toMatchObject({ reason: { code: 'max_credits' }, counts: { succeeded: 4, unprocessed: 5 }, credits_charged: 4 });
    expect((await jobs.cancel(id)).json['state']).toBe('cancelling');
    expect(await jobs.until(id, 'cancelled')).toMatchObject({ counts: { total: 9, succeeded: 4, unprocessed: 5 } });
    expect((await jobs.lines(id)).map(({ status, error }) => [status, error])).toEqual([...Array.from({ length: 4 }, () => ['succeeded', null]), ...Array.from({ length: 5 }, () => ['unprocessed', null])]);
    expect((await jobs.lines(id, '?set=unprocessed')).map(({ line }) => line)).toEqual([5, 6, 7, 8, 9]);
    expect((await jobs.cancel(id)).json['state']).toBe('cancelled');
  });

  it('of a key that also sends requests are spent by one of the two', async () => {
    const path = await makeStore();
    const key = await makeKey(path, 'enterprise', { credits: 2_500 });
    const service = await serveStore({ store: path });
    const jobs = jobsOf(service, key);
    const { id } = await jobs.create({ operation: 'enrich' });
    await jobs.put(id, 1, lines(4_000));
    await jobs.complete(id);
    let bought = 0;
    for (let state = ''; state !== 'paused'; { state } = await jobs.get(id)) if ((await service.post('/v1/enrich', { id: 'pe_1' }, { key })).status === 200) bought++;
    expect((await jobs.get(id)).credits_charged + bought).toBe(2_500);
    await service.close();
    expect(creditsUsed(open(path))).toBe(2_500);
  });

  it('of a trial aside, each of its lines is a call, and what is over is not done', async () => {
    const path = await makeStore();
    const key = await makeKey(path, 'trial');
    open(path).exec('UPDATE keys SET calls_used = 900');
    const jobs = jobsOf(await serveStore({ store: path }), key);
    const { id } = await jobs.create({ operation: 'enrich' });
    await jobs.put(id, 1, lines(200, (n) => ({ custom_id: `c${n}`, id: 'pe_1' })));
    await jobs.complete(id);
    const store = open(path);
    const rows = new BatchRows(store, Date.now);
    await expect.poll(() => rows.find(id)?.state).toBe('completed');
    // Three calls were to begin the job; to ask how it is there is none left.
    expect(listKeys(store)[0]?.callsUsed).toBe(1_000);
    expect((await jobs.send('GET', `/${id}`)).status).toBe(402);
    store.exec('UPDATE keys SET calls_used = 900');
    await expect.poll(async () => (await jobs.send('GET', `/${id}`)).json).toMatchObject({ reason: { code: 'insufficient_credits' }, counts: { total: 200, succeeded: 97, unprocessed: 103 } });
    const unprocessed = await jobs.lines(id, '?set=unprocessed');
    expect(unprocessed).toHaveLength(103);
    expect(unprocessed[0]).toMatchObject({ custom_id: 'c97', error: { code: 'insufficient_credits' } });
  });
});

describe('cancelling', () => {
  it('waits for what is under way, and does nothing more', async () => {
    const service = await serveStore({ mail: { world: SILENT } });
    const jobs = jobsOf(service);
    const { id } = await jobs.create({ operation: 'verify', options: { timeout_ms: LONG_MS } });
    await jobs.put(id, 1, lines(1_500, (n) => ({ email: n === 0 ? 'joe@slow.example' : 'no address' })));
    await jobs.complete(id);
    await jobs.until(id, 'in_progress');
    await jobs.cancel(id);
    expect(await jobs.until(id, 'cancelled')).toMatchObject({ counts: { total: 1_500, succeeded: 1_000, unprocessed: 500 } });
    expect(await jobs.lines(id)).toHaveLength(1_500);
  });

  it('ends a job that was not complete', async () => {
    const jobs = jobsOf(await serveStore());
    const { id } = await jobs.create({ operation: 'enrich' });
    await jobs.put(id, 1, lines(3));
    await jobs.cancel(id);
    expect(await jobs.until(id, 'cancelled')).toMatchObject({ counts: { total: 0 }, parts: { count: 1 } });
    expect(await jobs.results(id)).toBe('');
  });

  it('is what becomes of the jobs of a key that is revoked', async () => {
    const path = await makeStore();
    const key = await makeKey(path, 'enterprise', { credits: 1 });
    const jobs = jobsOf(await serveStore({ store: path }), key);
    const { id } = await jobs.create({ operation: 'enrich' });
    await jobs.put(id, 1, lines(3));
    await jobs.complete(id);
    await jobs.until(id, 'paused');
    const store = open(path);
    revokeKey(store, listKeys(store)[0]?.id ?? '');
    const rows = new BatchRows(store, Date.now);
    await expect.poll(() => rows.find(id)?.state).toBe('cancelled');
    expect(rows.find(id)).toMatchObject({ reason: { code: 'key_revoked' }, counts: { succeeded: 1 } });
  });
});

describe('erasure', () => {
  it('takes a person out of results that were there before: at once for who reads them, and soon on the disk', async () => {
    const service = await serveStore();
    const jobs = jobsOf(service);
    const store = open(service.store);
    const part = ndjson({ custom_id: 'a', email: JANE }, { id: 'pe_2' }, { id: 'pe_1', fields: ['title'] });
    const { id } = await jobs.run({ operation: 'enrich' }, part);
    const verified = await jobs.run({ operation: 'verify', options: { mode: 'syntax' } }, ndjson({ email: ` ${JANE.toUpperCase()}` }, { email: 'max.past@acme.example' }));
    expect((await jobs.lines(id)).map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded']);
    suppress(store, [JANE], Date.now());
    const left = [{ custom_id: 'a', status: 'failed', record: null, error: { code: 'suppressed_person' } }, { status: 'succeeded', record: { name: 'Max Past' } }, { status: 'failed', record: null }];
    expect(await jobs.lines(id)).toMatchObject(left);
    expect((await jobs.lines(id, '?set=succeeded')).map(({ line }) => line)).toEqual([2]);
    expect((await jobs.lines(verified.id)).map(({ status, record }) => [status, record?.['email'] ?? null])).toEqual([['failed', null], ['succeeded', 'max.past@acme.example']]);

    const rows = new BatchRows(store, Date.now);
    const folder = new BatchFolder(service.store);
    await tidyUp({ store, rows, folder, now: Date.now, pacer: PACER, waits: () => true, stopped: () => false });
    const files = await readdir(`${service.store}.batches`, { recursive: true, withFileTypes: true });
    for (const file of files.filter((one) => one.isFile())) expect(await readFile(`${file.parentPath}/${file.name}`, 'utf8')).not.toMatch(/jane|"CTO"/i);
    expect(await jobs.lines(id)).toMatchObject(left);
    expect((await jobs.get(id)).counts).toEqual({ total: 3, succeeded: 1, not_found: 0, failed: 2, unprocessed: 0 });
    expect(rows.toLookThrough()).toEqual([]);
  });

  it('that is under way while results are looked through is looked for again', async () => {
    const service = await serveStore();
    const store = open(service.store);
    await jobsOf(service).run({ operation: 'enrich' }, ndjson({ email: JANE }));
    suppress(store, ['max.past@acme.example'], Date.now());
    const atMs: number[] = [];
    const now = (): number => {
      if (store.isTransaction) atMs.push(Date.now());
      return Date.now() + (store.isTransaction ? 0 : HOURS_MS);
    };
    const rows = new BatchRows(store, now);
    await tidyUp({ store, rows, folder: new BatchFolder(service.store), now, pacer: PACER, waits: () => true, stopped: () => false });
    suppress(store, [JANE]);
    expect([atMs.length, rows.toLookThrough().length]).toEqual([1, 1]);
  });

  it('reaches all jobs, whatever has become of the files of one', async () => {
    const service = await serveStore();
    const jobs = jobsOf(service);
    const store = open(service.store);
    const rows = new BatchRows(store, Date.now);
    const folder = new BatchFolder(service.store);
    const ran: string[] = [];
    for (let n = 0; n < 3; n++) ran.push((await jobs.run({ operation: 'enrich' }, ndjson({ email: JANE }))).id);
    const fileOf = (id: string | undefined): string => folder.at(String(id), rows.files.all(rows.find(String(id)) ?? expect.fail(), 'results')[0]?.file ?? expect.fail());
    await rm(fileOf(ran[0]));
    await truncate(fileOf(ran[1]), 10);
    suppress(store, [JANE], Date.now());
    await tidyUp({ store, rows, folder, now: Date.now, pacer: PACER, waits: () => true, stopped: () => false });
    expect(await readFile(fileOf(ran[2]), 'utf8')).not.toMatch(/jane/i);
    expect(rows.toLookThrough()).toEqual([]);
    expect(await readdir(dirname(fileOf(ran[1])))).toEqual([]);
  });

  it('of a job that went through several processes leaves its results whole to who reads them meanwhile', async () => {
    const folder = await temporaryFolder();
    const kept = (line: number): string => keptOutcome(line, { customId: null, found: { record: '{}', credits: 1, person: null } });
    const write = async (n: number, file: string): Promise<BatchFile> => {
      await writeFile(join(folder, file), kept(n));
      return { n, file, bytes: kept(n).length };
    };
    let files = [await write(1, 'one'), await write(2, 'two')];
    const reading = shownResults(() => files, (file) => join(folder, file), null, { format: 'ndjson', escapesFormulas: false }, () => null);
    let read = String((await reading.next()).value);
    files = [await write(1, 'another'), await write(2, 'new')];
    await rm(join(folder, 'two'));
    for await (const text of reading) read += text;
    expect(linesOf(read).map(({ line }) => line)).toEqual([1, 2]);

    const gone = shownResults(() => files, (file) => join(folder, file), null, { format: 'ndjson', escapesFormulas: false }, () => null);
    await gone.next();
    await rm(join(folder, 'new'));
    await expect(gone.next()).rejects.toThrow('gone');
  });

  it('leaves a company what is not about the person', async () => {
    const path = await makeStore();
    const service = await serveStore({ store: path });
    const jobs = jobsOf(service);
    const store = open(path);
    const signal = (id: string, person: unknown) => ({ id, type: 'executive_move', domain: 'acme.example', occurred_at: '2026-01-01', person, data: { move: 'joined' } });
    loadSignals(store, [signal('s1', { id: 'pe_1', name: 'Jane Doe' }), signal('s2', { name: 'Somebody Else' })], 'test');
    const { id } = await jobs.run({ operation: 'company' }, ndjson({ domain: 'acme.example' }));
    const shown = async (): Promise<unknown[]> => ((await jobs.lines(id)).flatMap(({ record }) => record?.['signals'] ?? []) as { id: string }[]).map((one) => one.id).sort();
    expect(await shown()).toEqual(['s1', 's2']);
    suppress(store, [JANE], Date.now());
    expect(await shown()).toEqual(['s2']);
  });
});

describe('what is kept', () => {
  it('is of jobs that are there: open ones expire, old ones and what nobody knows of are removed', async () => {
    const service = await serveStore();
    const jobs = jobsOf(service);
    const store = open(service.store);
    const left = await jobs.create({ operation: 'enrich' });
    await jobs.put(left.id, 1, lines(2));
    const done = await jobs.run({ operation: 'enrich' }, lines(2));
    const tidy = (afterMs: number): Promise<void> => {
      const now = (): number => Date.now() + afterMs;
      return tidyUp({ store, rows: new BatchRows(store, now), folder: new BatchFolder(service.store), now, pacer: PACER, waits: () => true, stopped: () => false });
    };
    const { handle, file } = await new BatchFolder(service.store).create(done.id, 'stray');
    await handle.close();
    await tidy(0);
    const there = (): Promise<string[]> => readdir(`${service.store}.batches`, { recursive: true });
    expect((await there()).some((name) => name.includes(file))).toBe(true);
    await utimes(`${service.store}.batches/${done.id}/${file}`, 0, 0);
    await tidy(25 * HOURS_MS);
    expect((await there()).some((name) => name.includes(file))).toBe(false);
    expect((await jobs.get(left.id)).state).toBe('expired');
    expect((await there()).some((name) => name.includes('part-'))).toBe(false);
    expect(await jobs.lines(done.id)).toHaveLength(2);
    await tidy(31 * 24 * HOURS_MS);
    expect((await jobs.send('GET', `/${done.id}`)).status).toBe(404);
  });

  it('is of a paused job no more than of any other: one that nobody has go on for a month is cancelled, and what it has done can be fetched', async () => {
    const path = await makeStore();
    const key = await makeKey(path, 'enterprise', { credits: 2 });
    const jobs = jobsOf(await serveStore({ store: path }), key);
    const { id } = await jobs.create({ operation: 'enrich' });
    await jobs.put(id, 1, lines(5));
    await jobs.complete(id);
    await jobs.until(id, 'paused');
    const store = open(path);
    const tidy = (days: number): Promise<void> => {
      const now = (): number => Date.now() + days * 24 * HOURS_MS;
      return tidyUp({ store, rows: new BatchRows(store, now), folder: new BatchFolder(path), now, pacer: PACER, waits: () => true, stopped: () => false });
    };
    await tidy(29);
    expect((await jobs.get(id)).state).toBe('paused');
    await tidy(31);
    expect(await jobs.until(id, 'cancelled')).toMatchObject({ reason: { code: 'paused_too_long' }, counts: { total: 5, succeeded: 2, unprocessed: 3 }, credits_charged: 2 });
    await tidy(29);
    expect((await jobs.lines(id)).map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'unprocessed', 'unprocessed', 'unprocessed']);
    // It is among those that are counted no more.
    await tidy(31);
    expect((await jobs.send('GET', `/${id}`)).status).toBe(404);
  });

  it.each([[0, { state: 'cancelled', credits_charged: 2 }], [3, { state: 'completed', credits_charged: 5 }]])('is not over of a paused job whose key has got what it needs, though nothing has come of that in a month: %i credits', async (addCredits, wanted) => {
    const path = await makeStore();
    const key = await makeKey(path, 'enterprise', { credits: 2 });
    const service = await serveStore({ store: path });
    const jobs = jobsOf(service, key);
    const { id } = await jobs.create({ operation: 'enrich' });
    await jobs.put(id, 1, lines(5));
    await jobs.complete(id);
    await jobs.until(id, 'paused');
    await service.close();
    const store = open(path);
    store.prepare("UPDATE batches SET times = json_set(times, '$.paused', 0)").run();
    changeKey(store, listKeys(store)[0]?.id ?? '', { addCredits });
    expect(await jobsOf(await serveStore({ store: path }), key).until(id, 'cancelled', 'completed')).toMatchObject(wanted);
  });

  it('fails a job whose files are gone', async () => {
    const path = await makeStore();
    const service = await serveStore({ store: path });
    const jobs = jobsOf(service);
    const { id } = await jobs.create({ operation: 'enrich' });
    await jobs.put(id, 1, lines(3));
    await rm(`${path}.batches`, { recursive: true });
    await jobs.complete(id);
    expect(await jobs.until(id, 'failed')).toMatchObject({ reason: { code: 'files_lost' } });
  });

  it.each(['part-', 'results-'])('fails a job of which a %s file is shorter than it was', async (cut) => {
    const path = await makeStore();
    const jobs = jobsOf(await serveStore({ store: path }));
    const { id } = await jobs.create({ operation: 'enrich', max_credits: 2 });
    await jobs.put(id, 1, lines(5));
    if (cut === 'results-') {
      await jobs.complete(id);
      await jobs.until(id, 'paused');
    }
    const name = (await readdir(`${path}.batches/${id}`)).find((file) => file.startsWith(cut));
    await truncate(`${path}.batches/${id}/${name}`, 10);
    if (cut === 'part-') await jobs.complete(id);
    else await jobs.send('PATCH', `/${id}`, { body: '{"max_credits":5}', headers: { 'content-type': 'application/json' } });
    expect(await jobs.until(id, 'failed')).toMatchObject({ reason: { code: 'files_lost' } });
  });

  it('has no results where their file is shorter than it was', async () => {
    const service = await serveStore();
    const jobs = jobsOf(service);
    const { id } = await jobs.run({ operation: 'enrich' }, lines(5));
    // The part may be there for a moment yet.
    const name = (await readdir(`${service.store}.batches/${id}`)).find((file) => file.startsWith('results-')) ?? expect.fail();
    await truncate(`${service.store}.batches/${id}/${name}`, 10);
    expect((await jobs.send('GET', `/${id}/results`)).status).toBe(404);
  });
});

it('a process that has lost its lease notes nothing of what it was at', async () => {
  const path = await makeStore();
  const service = await serveStore({ store: path, mail: { world: SILENT } });
  const jobs = jobsOf(service);
  const { id } = await jobs.create({ operation: 'verify', options: { timeout_ms: LONG_MS } });
  await jobs.put(id, 1, lines(3, (n) => ({ email: n === 0 ? 'joe@slow.example' : `no address ${n}` })));
  await jobs.complete(id);
  await jobs.until(id, 'in_progress');
  const store = open(path);
  const rows = new BatchRows(store, Date.now);
  // As if it had been stopped for longer than that, and another one had come.
  expect(rows.lease('elsewhere:1:x', 10_000, () => true)).toBe(true);
  await expect.poll(async () => readdir(`${path}.batches/${id}`)).toEqual(expect.arrayContaining([expect.stringMatching(/^results-/)]));
  expect((await jobs.get(id)).counts).toMatchObject({ total: 3, unprocessed: 3 });
  rows.giveUpLease('elsewhere:1:x');
  expect(await jobs.until(id, 'completed')).toMatchObject({ counts: { succeeded: 3 }, credits_charged: 2 });
  expect((await jobs.lines(id)).map(({ line }) => line)).toEqual([1, 2, 3]);
});

it('jobs of a service that ends are done once, by the one that takes its place', async () => {
  const path = await makeStore();
  const key = await makeKey(path, 'enterprise', { credits: 1_000 });
  const one = await serveStore({ store: path });
  const first = jobsOf(one, key);
  const ids = [];
  for (let n = 0; n < 4; n++) {
    const { id } = await first.create({ operation: 'enrich' });
    await first.put(id, 1, lines(100));
    await first.complete(id);
    ids.push(id);
  }
  await one.close();
  const other = await serveStore({ store: path });
  const second = jobsOf(other, key);
  for (const id of ids) expect(await second.until(id, 'completed')).toMatchObject({ counts: { succeeded: 100 } });
  await other.close();
  expect(creditsUsed(open(path))).toBe(400);
});
