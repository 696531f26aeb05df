import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { KEY, serveStore } from '../harness.ts';
import { jobsOf, ndjson } from './jobs.ts';

describe('parts', () => {
  it('may arrive in any order, again and compressed, and must all be there at the end', async () => {
    const jobs = jobsOf(await serveStore());
    const { id } = await jobs.create({ operation: 'enrich' });
    expect((await jobs.complete(id)).json).toMatchObject({
      code: 'job_state_conflict',
      errors: [{ parameter: 'parts/1', code: 'missing_part' }],
    });
    await jobs.put(id, 4, ndjson({ custom_id: 'd', id: 'pe_1' }));
    await jobs.put(id, 2, ndjson({ custom_id: 'wrong', id: 'pe_1' }, { custom_id: 'x', id: 'pe_1' }));
    const refused = await jobs.complete(id);
    expect([refused.status, refused.json]).toMatchObject([
      409,
      { detail: expect.stringContaining('1, 3'), errors: [{ parameter: 'parts/1' }, { parameter: 'parts/3' }] },
    ]);
    await jobs.put(id, 1, gzipSync(ndjson({ custom_id: 'a', id: 'pe_1' })), 'ndjson', { 'content-encoding': 'GZip' });
    await jobs.put(id, 2, JSON.stringify({ custom_id: 'b', id: 'pe_1' }));
    await jobs.put(id, 3, '\n');
    expect((await jobs.complete(id)).json['state']).toBe('validating');
    const job = await jobs.until(id, 'completed');
    expect((await jobs.lines(id)).map(({ line, custom_id: name }) => [line, name])).toEqual([
      [1, 'a'],
      [2, 'b'],
      [3, 'd'],
    ]);
    expect(
      Object.entries(job.times)
        .flatMap(([state, time]) => (time === null ? [] : state))
        .sort(),
    ).toEqual(['completed', 'finalizing', 'in_progress', 'open', 'queued', 'validating']);
    expect((await jobs.put(id, 5, '{}')).json['code']).toBe('job_state_conflict');
    expect((await jobs.complete(id)).json['code']).toBe('job_state_conflict');
  });

  it('parts are refused for another media type, a large size, broken gzip, or a wrong number', async () => {
    const jobs = jobsOf(await serveStore());
    const { id } = await jobs.create({ operation: 'enrich' });
    const csv = await jobs.put(id, 1, 'email\n', 'csv');
    expect([csv.status, csv.json['detail']]).toEqual([415, expect.stringContaining('its format is ndjson')]);
    expect((await jobs.send('PUT', `/${id}/parts/1`, { body: '{}', headers: { 'content-type': 'application/json' } })).status).toBe(415);
    // The default type of curl --data-binary.
    const form = await jobs.send('PUT', `/${id}/parts/1`, { body: '{}', headers: { 'content-type': 'application/x-www-form-urlencoded' } });
    expect([form.status, form.json['detail']]).toEqual([415, 'send Content-Type: application/x-ndjson or text/csv']);
    const brotli = await jobs.put(id, 1, '{}', 'ndjson', { 'content-encoding': 'br' });
    expect([brotli.status, brotli.json['detail']]).toEqual([415, expect.stringContaining('gzip')]);
    expect((await jobs.put(id, 1, '{}', 'ndjson', { 'content-encoding': 'gzip' })).json['code']).toBe('validation_failed');
    expect(
      (await jobs.put(id, 1, gzipSync(Buffer.alloc(65 * 1024 * 1024, '\n')), 'ndjson', { 'content-encoding': 'gzip' })).json['code'],
    ).toBe('payload_too_large');
    expect((await jobs.put(id, 1, Buffer.alloc(65 * 1024 * 1024, '\n'))).json['code']).toBe('payload_too_large');
    // Gzip of unknown length that holds only an endless file name (RFC 1952 2.3.1).
    const named = ReadableStream.from([
      Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3]),
      ...Array.from({ length: 65 }, () => Buffer.alloc(1024 * 1024, 'a')),
    ]);
    expect(
      (
        await jobs.send('PUT', `/${id}/parts/1`, {
          body: named,
          duplex: 'half',
          headers: { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' },
        })
      ).json['code'],
    ).toBe('payload_too_large');
    expect((await jobs.put(id, 1, '{}', 'ndjson', { 'content-range': 'bytes 10-11/12' })).json).toMatchObject({
      code: 'invalid_parameter',
      errors: [{ parameter: 'Content-Range' }],
    });
    for (const n of ['0', '10001', 'x', '1.5'])
      expect((await jobs.put(id, n, '{}')).json).toMatchObject({ code: 'invalid_parameter', errors: [{ parameter: 'n' }] });
    expect((await jobs.put('bat_none', 1, '{}')).status).toBe(404);
    expect((await jobs.get(id)).parts).toEqual({ count: 0, bytes: 0 });
  });

  it('parts that are refused are read to their end, so that the next request on the connection is answered', async () => {
    const service = await serveStore();
    const { id } = await jobsOf(service).create({ operation: 'enrich' });
    const part = Buffer.concat([gzipSync(Buffer.alloc(65 * 1024 * 1024, '\n')), gzipSync(randomBytes(2_000_000))]);
    const socket = connect({ port: service.port, host: '127.0.0.1' });
    socket.write(
      `PUT /v1/batches/${id}/parts/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n` +
        'Content-Type: application/x-ndjson\r\nContent-Encoding: gzip\r\n' +
        `Content-Length: ${part.length}\r\n\r\n`,
    );
    socket.write(part);
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect((await text(socket)).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200']);
  });
});
