import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { cleanUp } from '../../support/clean-up.ts';
import { KEY, makeKey, makeStore, serveStore } from '../harness.ts';
import { jobsOf, ndjson } from './jobs.ts';

const JANE = 'jane.doe@acme.example';

describe('a job', () => {
  it('answers each line as the call for one does', async () => {
    const service = await serveStore();
    const jobs = jobsOf(service);
    const asked = [{ email: JANE }, { id: 'pe_3' }, { email: 'nobody@acme.example' }, { emial: JANE }, {}, { email: 'gone@acme.example' }, { domain: 'acme.example' }, { email: 'no address' }, { email: JANE }];
    const job = await jobs.run({ operation: 'enrich', metadata: { list: 'a' } }, ndjson(...asked.map((params, at) => ({ custom_id: `c${at}`, params })), '', { custom_id: 'bare', email: JANE }, 'no json', '[]'));
    expect(job).toMatchObject({ state: 'completed', reason: null, counts: { total: 12, succeeded: 5, not_found: 1, failed: 6, unprocessed: 0 }, credits_charged: 5, parts: { count: 1 } });
    const lines = await jobs.lines(job.id);
    expect(lines.map(({ line }) => line)).toEqual(lines.map((_, at) => at + 1));
    for (const [at, params] of asked.entries()) {
      const alone = await service.post('/v1/enrich', params);
      const { status, custom_id: customId, record, error, credits } = lines[at] ?? expect.fail();
      expect(customId).toBe(`c${at}`);
      expect(status).toBe(alone.status === 200 ? 'succeeded' : alone.status === 404 ? 'not_found' : 'failed');
      expect(credits).toBe(Number(alone.headers.get('x-credits-charged')));
      expect(record).toEqual(alone.status === 200 ? alone.json : null);
      const { code, detail, errors } = alone.json;
      expect(error).toEqual(alone.status === 200 ? null : { code, detail, errors });
    }
    expect(lines.slice(9)).toMatchObject([{ custom_id: 'bare', status: 'succeeded' }, { status: 'failed', error: { code: 'invalid_json' } }, { status: 'failed', error: { code: 'validation_failed' } }]);
    for (const set of ['succeeded', 'not_found', 'failed', 'unprocessed'] as const) expect(await jobs.lines(job.id, `?set=${set}`)).toEqual(lines.filter(({ status }) => status === set));
  });

  it('takes options for all lines, and reveals, verifies and finds companies', async () => {
    const service = await serveStore();
    const jobs = jobsOf(service);
    const few = await jobs.run({ operation: 'enrich', options: { fields: ['name'], required: ['title'] } }, ndjson({ email: JANE }, { email: 'solo@nowhere.example' }, { email: JANE, fields: ['title'] }));
    expect((await jobs.lines(few.id)).map(({ record, error }) => record ?? error?.code)).toEqual([{ name: 'Jane Doe' }, 'no_match', { title: 'CTO' }]);
    const revealed = await jobs.run({ operation: 'reveal', options: { reveal_mobile: false } }, ndjson({ name: 'Jane Doe', company: 'Acme' }, { domain: 'acme.example' }));
    expect(await jobs.lines(revealed.id)).toMatchObject([{ record: { email: JANE, credits_charged: 1 }, credits: 1 }, { status: 'failed', error: { code: 'validation_failed' } }]);
    const verified = await jobs.run({ operation: 'verify', options: { mode: 'syntax' } }, ndjson({ email: JANE }, { email: 'no address' }, { email: 'No Address' }, { email: 'gone@acme.example' }, { email: 'no address' }, { emails: [] }));
    expect((await jobs.lines(verified.id)).map(({ status, record, error, credits }) => [status, record?.['result'] ?? error?.code, credits])).toEqual([
      ['succeeded', 'unknown', 0], ['succeeded', 'undeliverable', 1], ['succeeded', 'undeliverable', 1], ['failed', 'suppressed_person', 0], ['succeeded', 'undeliverable', 0], ['failed', 'validation_failed', 0],
    ]);
    const companies = await jobs.run({ operation: 'company' }, ndjson({ domain: 'https://www.acme.example/x' }, { domain: 'nowhere.example' }, { domain: '?' }));
    expect(await jobs.lines(companies.id)).toMatchObject([{ record: { name: 'Acme' }, credits: 1 }, { status: 'not_found' }, { error: { code: 'invalid_parameter' } }]);
  });

  it('is a table as well, in and out', async () => {
    const jobs = jobsOf(await serveStore());
    const job = await jobs.run({ operation: 'enrich', format: 'csv', options: { fields: ['name'] } }, '\u{feff}Email,custom_id\r\njane.doe@acme.example,"a ""b"", c"\r\n\r\n"unclosed,x\nsolo@nowhere.example,\n', 'email,custom_id\nnobody@acme.example,n,,,\na,b,c');
    expect(job).toMatchObject({ counts: { total: 5, succeeded: 2, not_found: 1, failed: 2 } });
    expect(await jobs.results(job.id)).toBe([
      'line,custom_id,status,record,error,credits',
      '1,"a ""b"", c",succeeded,"{""name"":""Jane Doe""}",,1',
      '2,,failed,,"{""code"":""validation_failed"",""detail"":""cell 1 begins with a quote that is not closed"",""errors"":[]}",0',
      '3,,succeeded,"{""name"":""Søren Solo""}",,1',
      '4,n,not_found,,"{""code"":""no_match"",""detail"":""no person is known by this e-mail address"",""errors"":[]}",0',
      '5,b,failed,,"{""code"":""validation_failed"",""detail"":""the line has 3 cells, and the header 2"",""errors"":[]}",0',
      '',
    ].join('\n'));
    expect((await jobs.lines(job.id, '?set=not_found')).map(({ line }) => line)).toEqual([4]);
  });

  it.each(['enrich', 'verify', 'reveal', 'company'])('of %s guards the cells of its results as a table, and nothing else', async (operation) => {
    const jobs = jobsOf(await serveStore());
    const job = await jobs.run({ operation, options: { escape_formulas: true } }, ndjson({ custom_id: '=1+1', [operation === 'company' ? 'domain' : 'email']: operation === 'company' ? 'acme.example' : JANE }));
    const table = await jobs.results(job.id, '', { accept: 'text/csv' });
    expect(table.split('\n')[1]).toMatch(/^1,'=1\+1,succeeded,"\{/);
    expect(await jobs.lines(job.id)).toMatchObject([{ custom_id: '=1+1', status: 'succeeded' }]);
  });

  it.each([
    ['ndjson', '', 'no_readable_line'],
    ['ndjson', 'no json\n{\n', 'no_readable_line'],
    ['csv', 'email,phnoe\na,b\n', 'bad_header'],
    ['csv', 'custom_id\na\n', 'bad_header'],
    ['csv', 'email,webhook_url\na@acme.example,https://hooks.example\n', 'bad_header'],
    ['csv', 'email,email\na,b\n', 'bad_header'],
    ['csv', 'email\n', 'no_readable_line'],
  ])('fails when nothing can be read: %s %j', async (format, part, code) => {
    const jobs = jobsOf(await serveStore());
    const job = await jobs.run({ operation: 'enrich', format }, part);
    expect(job).toMatchObject({ state: 'failed', reason: { code }, counts: { total: 0 } });
    expect((await jobs.send('GET', `/${job.id}/results`)).json['code']).toBe('job_state_conflict');
  });

  it.each(['custom_id,name,domain,email\n', 'email,custom_id\n', '\u{feff} EMAIL \n'])('fails when a later table has other columns, whose cells would be taken for those of the first: %j', async (header) => {
    const jobs = jobsOf(await serveStore());
    const tables = ['email,name,domain,custom_id\njane.doe@acme.example,,,1\n', 'email,name,domain,custom_id\n,Jane Doe,acme.example,2\n', `${header}a,b,c,d\n`];
    const job = await jobs.run({ operation: 'enrich', format: 'csv' }, ...tables);
    expect(job).toMatchObject({ state: 'failed', reason: { code: 'bad_header', detail: expect.stringContaining('part 3 ') }, counts: { total: 0 }, credits_charged: 0 });
  });
});

describe('parts', () => {
  it('come in any order, may come again, compressed too, and must all be there', async () => {
    const jobs = jobsOf(await serveStore());
    const { id } = await jobs.create({ operation: 'enrich' });
    expect((await jobs.complete(id)).json).toMatchObject({ code: 'job_state_conflict', errors: [{ parameter: 'parts/1', code: 'missing_part' }] });
    await jobs.put(id, 4, ndjson({ custom_id: 'd', id: 'pe_1' }));
    await jobs.put(id, 2, ndjson({ custom_id: 'wrong', id: 'pe_1' }, { custom_id: 'x', id: 'pe_1' }));
    const refused = await jobs.complete(id);
    expect([refused.status, refused.json]).toMatchObject([409, { detail: expect.stringContaining('1, 3'), errors: [{ parameter: 'parts/1' }, { parameter: 'parts/3' }] }]);
    await jobs.put(id, 1, gzipSync(ndjson({ custom_id: 'a', id: 'pe_1' })), 'ndjson', { 'content-encoding': 'GZip' });
    await jobs.put(id, 2, JSON.stringify({ custom_id: 'b', id: 'pe_1' }));
    await jobs.put(id, 3, '\n');
    expect((await jobs.complete(id)).json['state']).toBe('validating');
    const job = await jobs.until(id, 'completed');
    expect((await jobs.lines(id)).map(({ line, custom_id: name }) => [line, name])).toEqual([[1, 'a'], [2, 'b'], [3, 'd']]);
    expect(Object.entries(job.times).flatMap(([state, time]) => (time === null ? [] : state)).sort()).toEqual(['completed', 'finalizing', 'in_progress', 'open', 'queued', 'validating']);
    expect((await jobs.put(id, 5, '{}')).json['code']).toBe('job_state_conflict');
    expect((await jobs.complete(id)).json['code']).toBe('job_state_conflict');
  });

  it('are refused when they are of another type, too large, no gzip, or have no such number', async () => {
    const jobs = jobsOf(await serveStore());
    const { id } = await jobs.create({ operation: 'enrich' });
    const table = await jobs.put(id, 1, 'email\n', 'csv');
    expect([table.status, table.json['detail']]).toEqual([415, expect.stringContaining('its format is ndjson')]);
    expect((await jobs.send('PUT', `/${id}/parts/1`, { body: '{}', headers: { 'content-type': 'application/json' } })).status).toBe(415);
    // As curl --data-binary has it.
    const form = await jobs.send('PUT', `/${id}/parts/1`, { body: '{}', headers: { 'content-type': 'application/x-www-form-urlencoded' } });
    expect([form.status, form.json['detail']]).toEqual([415, 'send Content-Type: application/x-ndjson or text/csv']);
    const brotli = await jobs.put(id, 1, '{}', 'ndjson', { 'content-encoding': 'br' });
    expect([brotli.status, brotli.json['detail']]).toEqual([415, expect.stringContaining('gzip')]);
    expect((await jobs.put(id, 1, '{}', 'ndjson', { 'content-encoding': 'gzip' })).json['code']).toBe('validation_failed');
    expect((await jobs.put(id, 1, gzipSync(Buffer.alloc(65 * 1024 * 1024, '\n')), 'ndjson', { 'content-encoding': 'gzip' })).json['code']).toBe('payload_too_large');
    expect((await jobs.put(id, 1, Buffer.alloc(65 * 1024 * 1024, '\n'))).json['code']).toBe('payload_too_large');
    // Compressed, of a length that it does not say, and with nothing in it but the name of a file (RFC 1952 2.3.1).
    const named = ReadableStream.from([Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3]), ...Array.from({ length: 65 }, () => Buffer.alloc(1024 * 1024, 'a'))]);
    expect((await jobs.send('PUT', `/${id}/parts/1`, { body: named, duplex: 'half', headers: { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' } })).json['code']).toBe('payload_too_large');
    expect((await jobs.put(id, 1, '{}', 'ndjson', { 'content-range': 'bytes 10-11/12' })).json).toMatchObject({ code: 'invalid_parameter', errors: [{ parameter: 'Content-Range' }] });
    for (const n of ['0', '10001', 'x', '1.5']) expect((await jobs.put(id, n, '{}')).json).toMatchObject({ code: 'invalid_parameter', errors: [{ parameter: 'n' }] });
    expect((await jobs.put('bat_none', 1, '{}')).status).toBe(404);
    expect((await jobs.get(id)).parts).toEqual({ count: 0, bytes: 0 });
  });

  it('that are refused are read to their end, and what comes next on the connection is answered', async () => {
    const service = await serveStore();
    const { id } = await jobsOf(service).create({ operation: 'enrich' });
    const part = Buffer.concat([gzipSync(Buffer.alloc(65 * 1024 * 1024, '\n')), gzipSync(randomBytes(2_000_000))]);
    const socket = connect({ port: service.port, host: '127.0.0.1' });
    socket.write(`PUT /v1/batches/${id}/parts/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/x-ndjson\r\nContent-Encoding: gzip\r\nContent-Length: ${part.length}\r\n\r\n`);
    socket.write(part);
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect((await text(socket)).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200']);
  });
});

describe('jobs of a key', () => {
  it('are completed, cancelled and forgotten without a body, whatever its type is said to be', async () => {
    const jobs = jobsOf(await serveStore());
    const { id } = await jobs.create({ operation: 'enrich' });
    await jobs.put(id, 1, ndjson({ id: 'pe_1' }));
    const headers = { 'content-type': 'application/json' };
    expect((await jobs.send('POST', `/${id}/complete`, { headers })).status).toBe(200);
    await jobs.until(id, 'completed');
    expect((await jobs.send('POST', `/${id}/cancel`, { headers })).json['code']).toBe('job_state_conflict');
    expect((await jobs.send('DELETE', `/${id}`, { headers })).status).toBe(204);
    // Where there must be one, it is missed.
    for (const [method, path] of [['POST', ''], ['PATCH', `/${id}`]] as const) expect((await jobs.send(method, path, { headers })).json['code']).toBe('invalid_json');
  });

  it('are its own, listed newest first, and gone once deleted', async () => {
    const store = await makeStore();
    const other = await makeKey(store, 'enterprise');
    const service = await serveStore({ store });
    const jobs = jobsOf(service);
    const ids = [];
    for (let n = 0; n < 3; n++) ids.unshift((await jobs.run({ operation: 'enrich' }, ndjson({ id: 'pe_1' }))).id);
    const first = await jobs.send('GET', '?limit=2');
    const next = await jobs.send('GET', `?limit=2&cursor=${(first.json['meta'] as { next_cursor: string }).next_cursor}`);
    expect([first, next].flatMap(({ json }) => (json['data'] as { id: string }[]).map(({ id }) => id))).toEqual(ids);
    expect(first.headers.get('link')).toContain('cursor=');
    const [id = ''] = ids;
    const others = jobsOf(service, other);
    for (const reply of [await others.send('GET', `/${id}`), await others.cancel(id), await others.complete(id), await others.put(id, 1, '{}'), await others.send('DELETE', `/${id}`), await others.send('GET', `/${id}/results`)]) expect(reply.status).toBe(404);
    expect((await others.send('GET', '')).json['data']).toEqual([]);
    expect((await jobs.cancel(id)).json['code']).toBe('job_state_conflict');
    expect((await jobs.send('DELETE', `/${id}`)).status).toBe(204);
    expect((await jobs.send('GET', `/${id}`)).status).toBe(404);
    const { id: open } = await jobs.create({ operation: 'enrich' });
    expect((await jobs.send('DELETE', `/${open}`)).json['code']).toBe('job_state_conflict');
  });

  it('are others for the same Idempotency-Key a day later, and the same until then', async () => {
    const jobs = jobsOf(await serveStore());
    const create = async (): Promise<string> => (await jobs.create({ operation: 'verify' }, { 'idempotency-key': 'weekly' })).id;
    const day = 24 * 3_600_000;
    const beganMs = Date.now();
    cleanUp(() => void vi.restoreAllMocks());
    const ids: string[] = [];
    for (const afterMs of [0, day - 60_000, day + 60_000, 2 * day, 2 * day + 120_000]) {
      vi.spyOn(Date, 'now').mockReturnValue(beganMs + afterMs);
      ids.push(await create());
    }
    expect(ids.map((id) => ids.indexOf(id))).toEqual([0, 0, 2, 2, 4]);
  });

  it('are begun once for an Idempotency-Key, and refused with all that is wrong', async () => {
    const service = await serveStore();
    const jobs = jobsOf(service);
    const { id } = await jobs.create({ operation: 'verify' }, { 'idempotency-key': 'k' });
    for (let n = 0; n < 2; n++) expect((await jobs.send('POST', `/${id}/cancel`, { headers: { 'idempotency-key': 'c' } })).status).toBe(200);
    await jobs.put((await jobs.create({ operation: 'enrich' }, { 'idempotency-key': 'p' })).id, 1, ndjson({ id: 'pe_1' }));
    const { id: sent } = await jobs.create({ operation: 'enrich' }, { 'idempotency-key': 'p' });
    for (const replayed of [null, 'true']) {
      const reply = await jobs.send('POST', `/${sent}/complete`, { headers: { 'idempotency-key': 'd' } });
      expect([reply.status, reply.json['id'], reply.headers.get('idempotency-replayed')]).toEqual([200, sent, replayed]);
    }
    const again = await service.post('/v1/batches', { operation: 'verify' }, { headers: { 'idempotency-key': 'k' } });
    expect([again.status, again.json['id'], again.headers.get('location'), again.headers.get('idempotency-replayed')]).toEqual([201, id, `/v1/batches/${id}`, 'true']);
    const refused = await service.post('/v1/batches', { operation: 'verify', options: { mode: 'fast', fields: [] }, webhook_url: 'http://hooks.example', metadata: { long: 'x'.repeat(5_000) }, max_credits: 0 });
    expect((refused.json['errors'] as { pointer: string }[]).map(({ pointer }) => pointer).sort()).toEqual(['/max_credits', '/metadata', '/options/fields', '/options/mode', '/webhook_url']);
    for (const [depth, status] of [[99, 201], [100, 422], [200_000, 422]] as const) expect((await service.post('/v1/batches', `{"operation": "enrich", "metadata": {"a": ${'['.repeat(depth)}${']'.repeat(depth)}}}`)).status, `${depth}`).toBe(status);
  });
});
