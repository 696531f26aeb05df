import { lstat } from 'node:fs/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { EXIT } from '../../../src/util/errors.ts';
import { sampleStoreName } from '../../../src/service/sample/sample-store.ts';
import { serve } from '../../../src/service/admin/serve-command.ts';
import { claimSampleStore, startService } from '../../../src/service/app/start-service.ts';
import { MIGRATIONS } from '../../../src/service/store/schema/schema.ts';
import { makeStore, serveStore, temporaryFolder } from '../harness.ts';

const OPTIONS = {
  host: '127.0.0.1',
  port: 0,
  store: null,
  region: 'us',
  sample: true,
  development: false,
  mail: {},
  faults: {},
  takeOver: false,
  monitor: null,
  logLevel: 'silent',
} as const;

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe('serve', () => {
  it('leads from its address to the reference, and refuses any other method there', async () => {
    const { url } = await serveStore();
    const answer = await fetch(url, { redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([302, '/docs']);
    expect((await fetch(url)).headers.get('content-type')).toBe('text/html; charset=utf-8');
    const refused = await fetch(url, { method: 'POST' });
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('prints one line of JSON once it is ready, serves the sample set, and returns when it is stopped', async () => {
    const stop = new AbortController();
    let lines = '';
    const ready = new Promise<{ url: string; pid: number }>((resolve) => {
      vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
        lines += String(chunk);
        if (lines.endsWith('\n')) resolve(JSON.parse(lines) as { url: string; pid: number });
        return true;
      });
    });
    const serving = serve(OPTIONS, { drain: stop.signal });
    const { url, pid } = await ready;
    expect(pid).toBe(process.pid);
    const reply = await fetch(`${url}/v1/enrich`, {
      method: 'POST',
      headers: { authorization: 'Bearer sample-key', 'content-type': 'application/json' },
      body: '{"domain":"brückner-präzision.example"}',
    });
    expect([reply.status, reply.headers.get('x-ratelimit-limit')]).toEqual([200, '0']);
    const headers = { authorization: 'Bearer sample-key' };
    for (const path of [
      'contacts/search?title=engineer&limit=1',
      'signals?type=executive_move&limit=1',
      'companies/xn--brckner-przision-4nb73b.example',
    ]) {
      expect((await fetch(`${url}/v1/${path}`, { headers })).status).toBe(200);
    }
    const { data } = (await (await fetch(`${url}/v1/signals?type=funding,exec_moves`, { headers })).json()) as { data: unknown[] };
    expect(data).toHaveLength(25);
    stop.abort();
    await serving;
    expect(lines.trim().split('\n')).toHaveLength(1);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  });

  it('names the options to pass when there is nothing to serve', async () => {
    const refusal = serve({ ...OPTIONS, sample: false }, { drain: new AbortController().signal });
    await expect(refusal).rejects.toMatchObject({ code: 'no_store', exitCode: EXIT.config, hint: expect.stringContaining('--sample') });
  });

  it('reports that the port is taken', async () => {
    const first = await serveStore();
    await expect(startService({ store: await makeStore(), port: first.port })).rejects.toMatchObject({
      code: 'cannot_listen',
      message: expect.stringContaining('the port is taken'),
    });
  });

  it('can be closed twice', async () => {
    const service = await serveStore();
    await Promise.all([service.close(), service.close()]);
  });

  it('knows the sample key only when it serves the sample', async () => {
    const service = await serveStore();
    expect((await service.post('/v1/enrich', { id: 'pe_1' }, { key: 'sample-key' })).status).toBe(401);
  });

  it('leaves a store that contains people unchanged', async () => {
    const service = await serveStore({ sample: true });
    expect((await service.post('/v1/enrich', { domain: 'brückner-präzision.example' }, { key: 'sample-key' })).status).toBe(404);
  });
});

describe('claimSampleStore', () => {
  it('gives each concurrent caller a store in a folder of its own, and the first store again once it is free', async () => {
    vi.stubEnv('TMPDIR', await temporaryFolder());
    const owners = await Promise.all(Array.from({ length: 3 }, claimSampleStore));
    const paths = owners.map(({ path }) => path).toSorted();
    expect(paths.map((path) => /\.(\d)\.sqlite$/.exec(path)?.[1])).toEqual(['1', '2', '3']);
    const [path = ''] = paths;
    expect((await lstat(path)).mode & 0o777).toBe(0o600);
    const folder = path.slice(0, path.lastIndexOf('/'));
    expect((await lstat(folder)).mode & 0o777).toBe(0o700);
    for (const owner of owners) await owner.release();
    const again = await claimSampleStore();
    expect(again.path).toBe(path);
    await again.release();
  });

  it('names a sample store after the sample and the schema, also where a migration changes no table', () => {
    const sample = { 'companies.jsonl': '{}', 'contacts.jsonl': '', 'signals.jsonl': '', 'suppressed.jsonl': '' };
    const later = [...MIGRATIONS, { version: 1_000, name: 'records are cleaned by newer rules', sql: '' }];
    expect(sampleStoreName(sample, later)).not.toBe(sampleStoreName(sample, MIGRATIONS));
    expect(sampleStoreName({ ...sample, 'companies.jsonl': '' }, MIGRATIONS)).not.toBe(sampleStoreName(sample, MIGRATIONS));
  });
});
