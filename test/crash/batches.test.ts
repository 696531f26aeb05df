/** Batch jobs of a service that is killed at random moments: no line is lost, done twice or charged twice. */
import { writeFile } from 'node:fs/promises';
import { setTimeout as passes } from 'node:timers/promises';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { seeded } from '../../fixtures/generate/random.ts';
import { casesOf } from '../support/sample.ts';
import { SEED } from '../support/seed.ts';
import { Folder } from '../support/cli.ts';
import { createKey, serve, type ServedProcess } from '../support/served.ts';

const PEOPLE = 50;
const LINES = 15_000;
const PARTS = 3;
/** Enough kills for all kinds of moments, if the job is quick. */
const MOST_KILLS = casesOf(6, 15);
/**
 * Milliseconds after its start until the service is killed: some chunks of lines. The time grows while no chunk was done, for a busy
 * machine.
 */
const WITHIN_MS = 200;

let folder: Folder;
beforeAll(async () => {
  folder = await Folder.make();
  await writeFile(
    folder.at('crm.csv'),
    `email,name\n${Array.from({ length: PEOPLE }, (_, n) => `p${n}@acme.example,Person ${n}\n`).join('')}`,
  );
  await folder.run(['import', '--store', 's.sqlite', '--contacts', 'crm.csv']);
});
afterAll(() => folder.remove());

/** Every sixth line finds no person, and every seventh is invalid. */
const lineOf = (n: number): string =>
  JSON.stringify({
    custom_id: `c${n}`,
    email: n % 7 === 0 ? 'nothing' : n % 6 === 0 ? `nobody${n}@acme.example` : `p${n % PEOPLE}@acme.example`,
  }) + '\n';
const HITS = Array.from({ length: LINES }, (_, n) => n).filter((n) => n % 7 !== 0 && n % 6 !== 0).length;

interface Job {
  readonly id: string;
  readonly state: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly credits_charged: number;
}

async function ask(
  service: ServedProcess,
  key: string,
  method: string,
  path: string,
  body?: string,
  type = 'application/json',
): Promise<Response> {
  const response = await fetch(`${service.url}/v1/batches${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': type }) },
    ...(body === undefined ? {} : { body }),
  });
  expect(response.status, `${method} ${path}`).toBeLessThan(300);
  return response;
}

async function begin(service: ServedProcess, key: string): Promise<string> {
  const { id } = (await (await ask(service, key, 'POST', '', '{"operation":"enrich"}')).json()) as Job;
  for (let part = 0; part < PARTS; part++) {
    const lines = Array.from({ length: LINES / PARTS }, (_, n) => lineOf((part * LINES) / PARTS + n));
    await ask(service, key, 'PUT', `/${id}/parts/${part + 1}`, lines.join(''), 'application/x-ndjson');
  }
  await ask(service, key, 'POST', `/${id}/complete`);
  return id;
}

async function finish(service: ServedProcess, key: string, id: string): Promise<{ job: Job; results: string }> {
  const job = await vi.waitFor(
    async () => {
      const now = (await (await ask(service, key, 'GET', `/${id}`)).json()) as Job;
      expect(now.state).toBe('completed');
      return now;
    },
    { timeout: 120_000, interval: 50 },
  );
  return { job, results: await (await ask(service, key, 'GET', `/${id}/results`)).text() };
}

async function spent(id: string): Promise<number> {
  const keys = (await folder.run(['keys', 'list', '--json', '--store', 's.sqlite'])).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string; label: string; credits_used: number });
  return keys.find(({ label }) => label === id)?.credits_used ?? NaN;
}

function linesDone(): number {
  const store = new DatabaseSync(folder.at('s.books.sqlite'), { readOnly: true });
  try {
    return Number(store.prepare('SELECT line FROM batches ORDER BY seq DESC LIMIT 1').get()?.['line']);
  } finally {
    store.close();
  }
}

it('a job killed again and again has the results and the exact charge of an undisturbed one', async () => {
  const random = seeded(SEED);
  const [plain, crashed] = [
    await createKey(folder, 's.sqlite', '--plan', 'enterprise', '--credits', String(HITS), '--label', 'plain'),
    await createKey(folder, 's.sqlite', '--plan', 'enterprise', '--credits', String(HITS), '--label', 'crashed'),
  ];
  let service = await serve(folder, ['--store', 's.sqlite']);
  const wanted = await finish(service, plain, await begin(service, plain));
  expect(wanted.job).toMatchObject({ counts: { total: LINES, succeeded: HITS }, credits_charged: HITS });

  const id = await begin(service, crashed);
  const stops: number[] = [];
  while (stops.length < MOST_KILLS && stops.at(-1) !== LINES) {
    // A random moment, independent of any event.
    await passes(random.int(0, WITHIN_MS * (1 + stops.filter((line) => line === 0).length)));
    service.kill('SIGKILL');
    await service.ended;
    stops.push(linesDone());
    service = await serve(folder, ['--store', 's.sqlite']);
  }
  const found = await finish(service, crashed, id);
  expect(found.results === wanted.results, `SEED=${SEED}, killed at lines ${stops.join(', ')}`).toBe(true);
  expect(found.job).toMatchObject({ counts: wanted.job.counts, credits_charged: HITS });
  expect([await spent('plain'), await spent('crashed')], `SEED=${SEED}, killed at lines ${stops.join(', ')}`).toEqual([HITS, HITS]);
  // Without a kill in the middle this test would show nothing.
  expect(
    stops.some((line) => line > 0 && line < LINES),
    stops.join(', '),
  ).toBe(true);
  service.kill('SIGTERM');
  expect((await service.ended).code).toBe(0);
}, 300_000);

it('a service that is stopped in the middle of a job ends cleanly', async () => {
  const key = await createKey(folder, 's.sqlite', '--plan', 'enterprise');
  const states: unknown[] = [];
  // If a job is done before the signal, the next job gets it.
  while (states.length < MOST_KILLS && states.at(-1) !== 'in_progress') {
    const service = await serve(folder, ['--store', 's.sqlite', '--log-level', 'info']);
    const id = await begin(service, key);
    // The job runs in short slices and rests in between. During a rest, only the job may keep the process alive.
    await vi.waitFor(
      async () => expect(((await (await ask(service, key, 'GET', `/${id}`)).json()) as Job).state).not.toMatch(/validating|queued/),
      { timeout: 120_000, interval: 5 },
    );
    service.kill('SIGTERM');
    const { code, stderr } = await service.ended;
    expect([code, stderr.includes('"event":"stopped"')]).toEqual([0, true]);
    const store = new DatabaseSync(folder.at('s.books.sqlite'), { readOnly: true });
    expect(store.prepare('SELECT count(*) AS leases FROM batch_lease').get()).toEqual({ leases: 0 });
    states.push(store.prepare('SELECT state FROM batches WHERE id = ?').get(id)?.['state']);
    store.close();
  }
  expect(states.at(-1)).toBe('in_progress');
}, 300_000);
