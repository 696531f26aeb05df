/** A client of the Batch API, and the stores and inputs of its tests. */
import { expect, vi } from 'vitest';
import { listKeys } from '../../../src/service/accounts/keys.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { KEY, type Reply, type Served } from '../harness.ts';

export interface Job {
  readonly id: string;
  readonly state: string;
  readonly reason: { readonly code: string; readonly detail: string } | null;
  readonly counts: Readonly<Record<'total' | 'succeeded' | 'not_found' | 'failed' | 'unprocessed', number>>;
  readonly credits_charged: number;
  readonly parts: { readonly count: number; readonly bytes: number };
  readonly times: Readonly<Record<string, string | null>>;
}

export interface ResultLine {
  readonly line: number;
  readonly custom_id: string | null;
  readonly status: 'succeeded' | 'not_found' | 'failed' | 'unprocessed';
  readonly record: Readonly<Record<string, unknown>> | null;
  readonly error: { readonly code: string; readonly detail: string; readonly errors: readonly Readonly<Record<string, unknown>>[] } | null;
  readonly credits: number;
}

const MEDIA = { ndjson: 'application/x-ndjson', csv: 'text/csv' } as const;
/** Longer than any job of a test takes, even on a slow machine. */
const POLL = { timeout: 120_000, interval: 20 } as const;

export function jobsOf(service: Served, key = KEY) {
  const headers = { authorization: `Bearer ${key}` };
  const send = (method: string, path: string, more: RequestInit = {}): Promise<Reply> =>
    service.request(`/v1/batches${path}`, {
      method,
      ...more,
      headers: { ...headers, ...(more.headers as Record<string, string> | undefined) },
    });
  const jobOf = ({ json }: Reply): Job => {
    const job = json as unknown as Job;
    const { total, succeeded, not_found: notFound, failed, unprocessed } = job.counts;
    expect(succeeded + notFound + failed + unprocessed).toBe(total);
    return job;
  };
  const api = {
    send,
    async create(body: Readonly<Record<string, unknown>>, more: Record<string, string> = {}): Promise<Job> {
      const reply = await service.post('/v1/batches', body, { key, headers: more });
      expect([reply.status, reply.text]).toEqual([201, expect.any(String)]);
      expect(reply.headers.get('location')).toBe(`/v1/batches/${String(reply.json['id'])}`);
      return jobOf(reply);
    },
    put: (
      id: string,
      n: number | string,
      body: string | Buffer,
      format: keyof typeof MEDIA = 'ndjson',
      more: Record<string, string> = {},
    ): Promise<Reply> => send('PUT', `/${id}/parts/${n}`, { body: body as string, headers: { 'content-type': MEDIA[format], ...more } }),
    complete: (id: string): Promise<Reply> => send('POST', `/${id}/complete`),
    cancel: (id: string): Promise<Reply> => send('POST', `/${id}/cancel`),
    async get(id: string): Promise<Job> {
      return jobOf(await send('GET', `/${id}`));
    },
    /** Waits until the job is in one of these states. */
    until: (id: string, ...states: readonly string[]): Promise<Job> =>
      vi.waitFor(async () => {
        const job = await api.get(id);
        expect(states, JSON.stringify(job.reason)).toContain(job.state);
        return job;
      }, POLL),
    async results(id: string, query = '', more: Record<string, string> = {}): Promise<string> {
      const reply = await send('GET', `/${id}/results${query}`, { headers: more });
      expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
      return reply.text;
    },
    async lines(id: string, query = ''): Promise<ResultLine[]> {
      return linesOf(await api.results(id, query, { accept: MEDIA.ndjson }));
    },
    /** Creates a job with these parts, and waits for its end. */
    async run(body: Readonly<Record<string, unknown>>, ...parts: readonly string[]): Promise<Job> {
      const { id } = await api.create(body);
      for (const [at, part] of parts.entries())
        expect((await api.put(id, at + 1, part, body['format'] === 'csv' ? 'csv' : 'ndjson')).status).toBe(200);
      expect((await api.complete(id)).status).toBe(200);
      return api.until(id, 'completed', 'failed');
    },
  };
  return api;
}

export function linesOf(text: string): ResultLine[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ResultLine);
}

export function ndjson(...lines: readonly unknown[]): string {
  return lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');
}

/** Lines of an enrich job. */
export function enrichLines(count: number, lineOf: (n: number) => unknown = () => ({ id: 'pe_1' })): string {
  return ndjson(...Array.from({ length: count }, (_, n) => lineOf(n)));
}

/** How long a verification waits for a silent server, milliseconds: the test sees the job in progress meanwhile. */
export const VERIFY_TIMEOUT_MS = 3_000;
/** A mail server that never answers. */
export const SILENT_MAIL = {
  hosts: { 'mx.slow.example': { quirk: 'silent' } },
  domains: { 'slow.example': { mx: [[10, 'mx.slow.example']] } },
} as const;

/** A store that is closed at the end of the test. */
export function openForTest(path: string): Store {
  const store = openStore(path);
  cleanUp(() => store.close());
  return store;
}

/** The credits that the only key of a store has used. */
export function creditsUsed(store: Store): number | undefined {
  return listKeys(store)[0]?.creditsUsed;
}
