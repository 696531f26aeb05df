/** `100 Continue` that nobody asked for, from a TCP server that counts the requests. */
import * as fc from '../support/fast-check.ts';
import { expect, it } from 'vitest';
import { makeClient, EMAIL_BODY, PERSON_TEXT, serveRaw } from './servers.ts';

const CONTINUE = 'HTTP/1.1 100 Continue\r\nx-note: HTTP/1.1 100\r\n\r\n';
const OK = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${PERSON_TEXT.length}\r\n\r\n${PERSON_TEXT}`;

/** Answers each request with these pieces, each of which is a packet. */
async function serveInPieces(pieces: readonly string[]): Promise<{ readonly url: string; readonly requests: () => number }> {
  let requests = 0;
  const url = await serveRaw((socket) => {
    requests += 1;
    const send = ([piece, ...rest]: readonly string[]): void => {
      if (piece !== undefined) socket.write(piece, () => setImmediate(() => send(rest)));
    };
    socket.setNoDelay(true);
    send(pieces);
  });
  return { url, requests: () => requests };
}

it('a 100 Continue that nobody asked for costs one request, and the 200 behind it counts', async () => {
  const { url, requests } = await serveInPieces([CONTINUE, OK]);
  const client = makeClient(url, { maxAttempts: 4 });
  expect(await client.enrich({ email: 'ana@acme.example' })).toMatchObject({ name: 'Ana Example' });
  expect(requests()).toBe(1);
  // The connection is good for the next call.
  expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'ok', meta: { status: 200 } });
  expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'ok', meta: { status: 200 } });
  expect(requests()).toBe(3);
});

it('an answer is the same wherever its packets end, with any number of 100 Continue before it', async () => {
  const packets = fc.tuple(fc.integer({ min: 0, max: 3 }), fc.uniqueArray(fc.integer({ min: 1, max: 200 }), { maxLength: 6 }));
  await fc.assert(
    fc.asyncProperty(packets, async ([times, cuts]) => {
      const whole = CONTINUE.repeat(times) + OK;
      const ends = [0, ...cuts.filter((cut) => cut < whole.length).toSorted((one, other) => one - other), whole.length];
      const pieces = ends.slice(1).map((end, index) => whole.slice(ends[index], end));
      const { url, requests } = await serveInPieces(pieces);
      expect(await makeClient(url).callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'ok', value: { text: PERSON_TEXT } });
      expect(requests()).toBe(1);
    }),
    { numRuns: 40 },
  );
});

it('a body that looks like a 100 Continue is not touched', async () => {
  const body = JSON.stringify({ name: CONTINUE });
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  const at = body.indexOf('HTTP');
  const { url } = await serveInPieces([head, body.slice(0, at), body.slice(at)]);
  expect(await makeClient(url).callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'ok', value: { record: { name: CONTINUE } } });
});

it('a 100 Continue without an end is an attempt that failed', async () => {
  const { url } = await serveInPieces([`HTTP/1.1 100 Continue\r\n${'x-a: b\r\n'.repeat(5_000)}`]);
  expect(await makeClient(url).callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'network' });
});
