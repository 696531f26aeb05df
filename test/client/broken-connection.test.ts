import { describe, expect, it } from 'vitest';
import { cleanUp } from '../support/clean-up.ts';
import { EMAIL_BODY, makeClient, PERSON_TEXT, serveRaw } from './servers.ts';

/** The first byte of a TLS handshake. */
const TLS_HANDSHAKE = 0x16;

const head = (status: string, ...headers: string[]): string =>
  [`HTTP/1.1 ${status}`, 'content-type: application/json', ...headers, '', ''].join('\r\n');

describe('a service that breaks the connection', () => {
  it('gives a network error when it announces an answer and closes', async () => {
    const client = makeClient(await serveRaw((socket) => socket.end('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n')));
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'network', meta: { status: 0 } });
  });

  it('gives a network error when it closes without an answer', async () => {
    const client = makeClient(await serveRaw((socket) => socket.end()));
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({
      kind: 'retryable',
      code: 'network',
      meta: { status: 0, credits: 0, requestId: null },
    });
  });

  it('gives a network error when it resets the connection', async () => {
    const client = makeClient(await serveRaw((socket) => socket.resetAndDestroy()));
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'network' });
  });

  it('gives a network error when it resets a connection that was used before', async () => {
    const client = makeClient(
      await serveRaw((socket, count) => {
        if (count === 1) socket.write(`${head('200 OK', `content-length: ${PERSON_TEXT.length}`)}${PERSON_TEXT}`);
        else socket.resetAndDestroy();
      }),
      { connections: 1 },
    );
    expect((await client.callEnrich(EMAIL_BODY)).kind).toBe('ok');
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'network' });
  });

  it('gives a network error when it refuses the connection', async () => {
    const client = makeClient('http://127.0.0.1:1');
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({
      kind: 'retryable',
      code: 'network',
      detail: expect.stringMatching(/ECONNREFUSED/),
    });
  });

  it('gives a network error when its host name does not resolve', async () => {
    const client = makeClient('http://no-such-host.invalid');
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'network' });
  });

  it('gets one TLS handshake to test for TLS, although many calls fail', async () => {
    let handshakes = 0;
    const url = await serveRaw((socket, _count, data) => {
      if (data[0] === TLS_HANDSHAKE) handshakes++;
      socket.destroy();
    });
    const client = makeClient(url, { connections: 4 });
    const results = await Promise.all(Array.from({ length: 8 }, () => client.callEnrich(EMAIL_BODY)));
    results.push(await client.callEnrich(EMAIL_BODY));
    for (const result of results) expect(result).toMatchObject({ kind: 'retryable', code: 'network' });
    expect(handshakes).toBe(1);
  });

  it('does not answer the TLS handshake: the call ends when the client is destroyed', async () => {
    const handshake = Promise.withResolvers<void>();
    const url = await serveRaw((socket, _count, data) => {
      if (data[0] === TLS_HANDSHAKE) handshake.resolve();
      else socket.destroy();
    });
    const client = makeClient(url);
    const call = client.callEnrich(EMAIL_BODY);
    await handshake.promise;
    await client.destroy();
    expect(await call).toMatchObject({ kind: 'retryable', code: 'network' });
    // Only the client can end this handshake within three seconds.
  }, 2_500);

  it('gives a network error when it speaks another protocol', async () => {
    const client = makeClient(await serveRaw((socket) => socket.end('220 mail.example ESMTP\r\n')));
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'network' });
  });

  it.each([
    ['a success', '200 OK', { kind: 'retryable', code: 'bad_body' }],
    ['a 404, which may be a miss or not', '404 Not Found', { kind: 'retryable', code: 'network' }],
    ['a 401, which may be anything', '401 Unauthorized', { kind: 'retryable', code: 'network' }],
    ['a 429, whose headers suffice', '429 Too Many', { kind: 'throttled', retryAfterMs: 3000 }],
    ['a 502, whose status suffices', '502 Bad Gateway', { kind: 'retryable', code: 'http_502' }],
  ])('breaks off half-way through %s', async (_what, status, expected) => {
    const client = makeClient(await serveRaw((socket) => socket.end(`${head(status, 'content-length: 500', 'retry-after: 3')}{"name":`)));
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject(expected);
  });

  it('gives a timeout when it never answers', async () => {
    const client = makeClient(await serveRaw(() => {}), { timeoutMs: 60 });
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'timeout', meta: { status: 0 } });
  });

  it('gives a timeout when it stops in the middle of a body', async () => {
    const client = makeClient(await serveRaw((socket) => socket.write(`${head('200 OK', 'content-length: 500')}{"na`)), {
      timeoutMs: 1_000,
    });
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'timeout', meta: { status: 200 } });
  });

  it.each(['headers', 'body'])('gives a timeout when it sends its %s byte by byte for ever', async (part) => {
    const url = await serveRaw((socket) => {
      socket.write(part === 'body' ? head('200 OK', 'content-length: 100000') : 'HTTP/1.1 200 OK\r\nx-slow: ');
      const timer = setInterval(() => socket.write(' '), 10);
      socket.on('close', () => clearInterval(timer));
      cleanUp(() => clearInterval(timer));
    });
    const result = await makeClient(url, { timeoutMs: 100 }).callEnrich(EMAIL_BODY);
    expect(result).toMatchObject({ kind: 'retryable', code: 'timeout' });
  });
});
