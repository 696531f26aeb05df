/** Text of answers: the charset that their type declares, else UTF-8. */
import * as fc from '../support/fast-check.ts';
import { expect, it } from 'vitest';
import { EMAIL_BODY, makeClient, serve, serveCanned } from './servers.ts';

const TEXT = '{"name":"Jürgen Åström"}';
const LATIN1 = Buffer.from(TEXT, 'latin1');

it.each([
  ['application/json; charset=iso-8859-1', LATIN1],
  ['application/json;charset="ISO-8859-1"; profile=x', LATIN1],
  ['application/json; charset=windows-1252', LATIN1],
  ['application/json; charset=utf-16le', Buffer.from(TEXT, 'utf16le')],
  ['application/json; charset=utf-8', Buffer.from(TEXT)],
  ['application/json; charset=nobody-knows', Buffer.from(TEXT)],
  ['application/json', Buffer.from(`\uFEFF${TEXT}`)],
])('an answer of the type %s is read as its charset says', async (type, body) => {
  const url = await serveCanned({ status: 200, headers: { 'content-type': type }, body });
  expect(await makeClient(url).callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'ok', value: { record: { name: 'Jürgen Åström' } } });
});

it.each(['application/json', 'application/json; charset=utf-8', 'text/plain; charset=nobody-knows'])(
  'a success of the type %s whose bytes are no UTF-8 is bad_body, never another name',
  async (type) => {
    const client = makeClient(await serveCanned({ status: 200, headers: { 'content-type': type }, body: LATIN1 }));
    const bad = { kind: 'retryable', code: 'bad_body', detail: 'the answer is not text in utf-8', meta: { status: 200 } };
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject(bad);
    await expect(client.enrich({ email: 'ana@acme.example' })).rejects.toMatchObject({ code: 'bad_body', status: 200 });
  },
);

it('an error is judged by its status, whatever its bytes are', async () => {
  const body = Buffer.from('{"code":"bad_name","detail":"Jürgen"}', 'latin1');
  expect(await makeClient(await serveCanned({ status: 422, body })).callEnrich(EMAIL_BODY)).toMatchObject({
    kind: 'rejected',
    code: 'bad_name',
  });
});

it('a success is the text that was sent, or bad_body: for any bytes', async () => {
  let body = Buffer.alloc(0);
  const client = makeClient(
    await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(Buffer.concat([Buffer.from('{"name":"a'), body, Buffer.from('"}')]));
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ min: 0x23, maxLength: 8 }), async (bytes) => {
      body = Buffer.from(bytes.filter((byte) => byte !== 0x5c));
      const result = await client.callEnrich(EMAIL_BODY);
      if (Buffer.from(body.toString()).equals(body))
        expect(result).toMatchObject({ kind: 'ok', value: { record: { name: `a${body.toString()}` } } });
      else expect(result).toMatchObject({ kind: 'retryable', code: 'bad_body' });
    }),
    { numRuns: 100 },
  );
});
