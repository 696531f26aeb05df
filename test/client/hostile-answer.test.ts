import { createHash } from 'node:crypto';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { EMAIL_BODY, makeClient, PERSON_TEXT, serve, serveCanned, serveRaw } from './servers.ts';

const head = (status: string, ...headers: string[]): string =>
  [`HTTP/1.1 ${status}`, 'content-type: application/json', ...headers, '', ''].join('\r\n');

describe('a hostile service', () => {
  it('sends an endless success: the client reads no more than maxResponseBytes', async () => {
    let written = 0;
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = (): void => {
        while (!response.destroyed && response.write(' '.repeat(65_536))) written += 65_536;
        written += 65_536;
      };
      response.on('drain', more);
      more();
    });
    const result = await makeClient(url, { maxResponseBytes: 200_000 }).callEnrich(EMAIL_BODY);
    expect(result).toMatchObject({ kind: 'retryable', code: 'bad_body', detail: 'the answer is larger than 200000 bytes' });
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  it('sends many large answers: the client bounds the bytes that it holds for all together', async () => {
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write(Buffer.alloc(10 * 1024 * 1024, 0x20));
    });
    const client = makeClient(url, { timeoutMs: 6_000, connections: 12 });
    const results = await Promise.all(Array.from({ length: 12 }, () => client.callEnrich(EMAIL_BODY)));
    expect(
      results.filter((result) => 'detail' in result && result.detail === 'the answers under way are too large together').length,
    ).toBeGreaterThanOrEqual(6);
  });

  it('sends an endless error: the status decides the result', async () => {
    let written = 0;
    const url = await serve((_request, response) => {
      response.writeHead(403, { 'content-type': 'text/html' });
      const more = (): void => {
        do written += 65_536;
        while (!response.destroyed && response.write(`<title>No</title>${'x'.repeat(65_536)}`));
      };
      response.on('drain', more);
      more();
    });
    const client = makeClient(url, { maxResponseBytes: 512 * 1024 * 1024 });
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'http_403', detail: 'No', page: true });
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  it('sends endless headers: the result is a network error', async () => {
    const client = makeClient(await serveRaw((socket) => socket.write(`HTTP/1.1 200 OK\r\n${'x-a: b\r\n'.repeat(20_000)}`)));
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'network' });
  });

  it('sends informational answers first: the client skips them', async () => {
    const early = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n';
    const client = makeClient(
      await serveRaw((socket) => socket.write(`${early}${early}${head('200 OK', `content-length: ${PERSON_TEXT.length}`)}${PERSON_TEXT}`)),
    );
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'ok', meta: { status: 200 } });
  });

  it('puts control characters and line breaks into its detail: the client removes them', async () => {
    const body = JSON.stringify({ code: 'x;DROP', detail: `a\r\nb\u0000\u001b[31mc\u2028${'d'.repeat(1000)}` });
    const result = await makeClient(await serveCanned({ status: 400, body })).callEnrich(EMAIL_BODY);
    expect(result).toMatchObject({ kind: 'rejected', code: 'http_400', detail: expect.stringMatching(/^a b \[31mc d+…$/) });
    expect(result.kind === 'rejected' && result.detail.length).toBe(300);
  });

  it('nests a record deeper than the stack: the client passes its text on', async () => {
    const deep = `{"name":"A","x":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
    const client = makeClient(await serveCanned({ status: 200, body: deep }));
    // The text is passed on as it is. A text with a line break must be serialised again, which fails.
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'ok', value: { text: deep } });
    const broken = makeClient(await serveCanned({ status: 200, body: deep.replace(',', ',\n') }));
    expect(await broken.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'bad_body' });
  });
});

describe('a compressed body that the client did not ask for', () => {
  const text = Buffer.from(PERSON_TEXT);
  const bomb = gzipSync(PERSON_TEXT.padStart(50_000_000));
  it.each([
    ['gzip', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['br', brotliCompressSync(text)],
    ['zstd', zstdCompressSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['identity', text],
    ['GZIP', gzipSync(text)],
  ])('has its text decoded (%s)', async (coding, body) => {
    const client = makeClient(await serveCanned({ status: 200, body, headers: { 'content-encoding': coding } }));
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'ok', value: { text: PERSON_TEXT } });
  });

  it.each([
    ['unknown', 'compress', text],
    ['stacked', 'gzip, br', text],
    ['damaged', 'gzip', text],
    ['a bomb', 'gzip', bomb],
    ['a name of Object’s', 'constructor', text],
  ])('has an unreadable text (%s)', async (_what, coding, body) => {
    const headers = { 'content-encoding': coding };
    const ok = makeClient(await serveCanned({ status: 200, body, headers }));
    expect(await ok.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'bad_body' });
    const denied = makeClient(await serveCanned({ status: 401, body, headers }));
    expect(await denied.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'denied', code: 'http_401' });
  });
});

it('a large batch comes back complete from chunks of any size', async () => {
  const emails = Array.from({ length: 1000 }, (_, i) => `${createHash('sha256').update(`${i}`).digest('hex')}@acme.example`);
  const text = JSON.stringify({ data: emails.map((email) => ({ email, result: 'unknown' })) });
  const url = await serve((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    for (let at = 0; at < text.length; at += 7001) response.write(text.slice(at, at + 7001));
    response.end();
  });
  const verdicts = await makeClient(url).verify(emails);
  expect(verdicts.map((verdict) => verdict.email)).toEqual(emails);
});
