/** Requests for several lookups. */
import { describe, expect, it } from 'vitest';
import * as fc from '../../support/fast-check.ts';
import { answer, bodyOf, serve, type Canned } from '../../client/servers.ts';
import { declaredClient, type OperationText } from './declared.ts';

interface Lookup {
  readonly id: string;
  readonly email: string;
}

type Answering = (lookups: readonly Lookup[]) => Omit<Canned, 'body'> & { readonly body: unknown };

async function clientOf(answering: Answering, operation: OperationText, step = 'enrich'): Promise<ReturnType<typeof declaredClient>> {
  const url = await serve(async (request, response) => {
    const { lookups } = JSON.parse(await bodyOf(request)) as { lookups: Lookup[] };
    const { body, ...rest } = answering(lookups);
    answer(response, { ...rest, body: JSON.stringify(body) });
  });
  return declaredClient(url, { operations: { [step]: { batch: {}, ...operation } } });
}

const EMAILS = ['a@x.example', 'B@x.example', 'c@x.example'];

async function callWith(answering: Answering, operation: OperationText = {}): Promise<unknown> {
  const client = await clientOf(answering, operation);
  return client.batches?.call(
    'enrich',
    EMAILS.map((email) => client.enrichBody({ email })),
  );
}

const named = (name: string): unknown =>
  expect.objectContaining({ kind: 'ok', value: expect.objectContaining({ record: { name } }) as unknown });

describe('a batch', () => {
  it('has the lookups with ids, and its answers by position', async () => {
    let seen: unknown;
    const result = await callWith((lookups) => {
      seen = lookups;
      return { status: 200, body: lookups.map(({ email }) => ({ name: email })) };
    });
    expect(seen).toEqual(EMAILS.map((email, index) => ({ email, id: String(index) })));
    expect(result).toMatchObject({ kind: 'ok', value: EMAILS.map(named) });
  });

  it('gives nothing when its answers by position name the keys of other lookups', async () => {
    const shifted: Answering = (lookups) => ({
      status: 200,
      body: lookups.map((_, index) => ({ name: 'X', contact: { emails: [lookups[(index + 1) % lookups.length]?.email] } })),
    });
    expect(await callWith(shifted)).toMatchObject({
      kind: 'rejected',
      code: 'bad_shape',
      detail: 'operations.enrich.batch.items: item 0 names the key of lookup 1, and not its own',
    });
    // Another address of the same person, or one beside its own, is no other lookup.
    const own: Answering = (lookups) => ({
      status: 200,
      body: lookups.map(({ email }) => ({ name: email, now: 'new@y.example', of: lookups })),
    });
    expect(await callWith(own)).toMatchObject({ kind: 'ok', value: EMAILS.map(named) });
  });

  it.each([
    ['its own', 'B@X.example', true],
    ['its own without a tag', 'b@x.example', true],
    ['none', '', true],
    ["a stranger's", 'new@y.example', false],
  ])('takes an item by its position when the address of its record is %s', async (_, address, isTaken) => {
    const operation = { record: { name: 'body.name', email: 'body.email' } };
    const answering: Answering = (lookups) => ({
      status: 200,
      body: lookups.map(({ email }) => (email.startsWith('b') ? { name: 'Ben', email: address } : { name: email, email })),
    });
    const client = await clientOf(answering, { ...operation, credits: '1' });
    const bodies = ['a@x.example', 'b+news@x.example', 'c@x.example'].map((email) => client.enrichBody({ email }));
    const ben = { kind: 'ok', value: { record: { name: 'Ben' } } };
    const result = await client.batches?.call('enrich', bodies);
    expect(result).toMatchObject({ kind: 'ok', value: [{ kind: 'ok' }, isTaken ? ben : null, { kind: 'ok' }], meta: { credits: 3 } });
    // Alone it can be no other lookup's: the person has changed their address.
    expect(await client.batches?.call('enrich', bodies.slice(1, 2))).toMatchObject({ kind: 'ok', value: [ben] });
  });

  it('has the size of the definition, and others are asked for one by one', async () => {
    const client = await clientOf(() => ({ status: 200, body: [] }), { batch: { size: 7 } });
    expect([client.batches?.size('enrich'), client.batches?.size('company')]).toEqual([7, 1]);
    expect(client.batches?.isOnly?.('enrich')).toBe(false);
    expect(declaredClient('http://127.0.0.1:1', { operations: { enrich: {} } }).batches).toBeUndefined();
    // Verify has its batches by itself.
    expect(declaredClient('http://127.0.0.1:1', { operations: { verify: { batch: {} } } }).batches).toBeUndefined();
  });

  it('fails when its answer comes later, because asking again would pay again', async () => {
    const promised: Answering = () => ({ status: 202, body: { id: 'job-1' } });
    const poll = { poll: { ticket: 'body.id' }, batch: { answers: { pending: 'status = 202' } } };
    expect(await callWith(promised, poll)).toMatchObject({
      kind: 'rejected',
      code: 'bad_shape',
      detail: 'operations.enrich.batch: the answer comes later, and only a lookup by itself is asked for again',
      meta: { status: 202 },
    });
  });

  it('has the options of the job, for each lookup and for all', async () => {
    let seen: unknown;
    const url = await serve(async (request, response) => {
      seen = JSON.parse(await bodyOf(request));
      answer(response, { status: 200, body: '[{},{}]' });
    });
    const body = { lookups: 'lookups', min: 'min_likelihood', required: 'required' };
    const operation = { batch: { request: { method: 'POST', body } } } as const;
    const client = declaredClient(url, { operations: { enrich: operation } }, { lookups: { minLikelihood: 4, required: [] } });
    const bodies = ['a@x.example', 'b@x.example'].map((email) => client.enrichBody({ email }));
    await client.batches?.call('enrich', bodies);
    const lookup = { email: 'a@x.example', min_likelihood: 4, id: '0' };
    expect(seen).toEqual({ lookups: [lookup, { ...lookup, email: 'b@x.example', id: '1' }], min: 4 });
  });

  it('a batch of domains asks for companies', async () => {
    const url = await serve(async (request, response) => answer(response, { status: 200, body: await bodyOf(request) }));
    const operation = { record: { name: 'body.domain' }, batch: { items: 'body.lookups' } };
    const client = declaredClient(url, { operations: { company: operation } });
    expect(await client.batches?.call('company', ['x.example', 'y.example'])).toMatchObject({
      value: [named('x.example'), named('y.example')],
    });
  });

  it('with one item has one, although JSONata gives it without its list', async () => {
    const client = await clientOf(() => ({ status: 200, body: { r: [{ p: { name: 'A' } }] } }), { batch: { items: 'body.r.p' } });
    expect(await client.batches?.call('enrich', ['{"email":"a@x.example"}'])).toMatchObject({ value: [named('A')] });
  });

  it('serves single lookups where they have no request of their own', async () => {
    const client = await clientOf((lookups) => ({ status: 200, body: lookups.map(({ email }) => ({ name: email })) }), { request: null });
    expect(client.batches?.isOnly?.('enrich')).toBe(true);
    expect(await client.callEnrich('{"email":"a@x.example"}')).toEqual(named('a@x.example'));
    const silent = await clientOf(() => ({ status: 200, body: [] }), { request: null, batch: { itemId: 'id' } });
    expect(await silent.callEnrich('{"email":"a@x.example"}')).toMatchObject({ kind: 'rejected', code: 'no_answer' });
  });
});

describe('an item', () => {
  const batch = { items: 'body.list', itemId: 'who', itemStatus: 'code' };
  const list =
    (...items: unknown[]): Answering =>
    () => ({ status: 200, body: { list: items } });

  it('an item is judged by its own status and by the rules of the operation', async () => {
    const answers = { miss: 'status = 404', refused: 'status = 422', suppressed: 'status = 451', message: 'body.why' };
    const items = [{ code: 451 }, { code: '422', why: 'No.' }, { code: 404, name: 'X' }].map((item, index) => ({ ...item, who: index }));
    expect(await callWith(list(...items), { batch, answers })).toMatchObject({
      kind: 'ok',
      value: [
        { kind: 'suppressed', meta: { status: 451 } },
        { kind: 'rejected', code: 'http_422', detail: 'No.' },
        { kind: 'miss', meta: { status: 404 } },
      ],
      meta: { status: 200 },
    });
  });

  it('an item is kept with its own status, and without its neighbours', async () => {
    const items = EMAILS.map((who) => ({ who, code: 200, name: who }));
    const result = await callWith(list(...items), { batch });
    const stored = '{"status":200,"body":{"who":"B@x.example","code":200,"name":"B@x.example"}}';
    expect(result).toMatchObject({ value: [{}, { value: { stored } }, {}] });
  });

  it('an item with the promise of a later answer fails, because the lookup by itself would be paid again', async () => {
    const answers = { pending: 'status = 202' };
    const items = [
      { who: 0, code: 202, ticket: 't' },
      { who: 1, code: 200, name: 'B' },
    ];
    const later = { kind: 'rejected', code: 'bad_shape', detail: expect.stringContaining('the answer comes later') };
    const result = await callWith(list(...items), { batch, answers, poll: { ticket: 'body.ticket' } });
    expect(result).toMatchObject({ kind: 'ok', value: [later, named('B'), null] });
    // Without a ticket the same request asks again, and pays nothing.
    expect(await callWith(list(...items), { batch, answers })).toMatchObject({ value: [{ kind: 'retryable' }, named('B'), null] });
  });

  it('belongs to the lookup with its id or its key, in any order and any case', async () => {
    const items = [
      { who: 'C@X.example', code: 200, name: 'C' },
      { who: ' 0', code: 200, name: 'A' },
      { who: 1, code: 200, name: 'B' },
    ];
    expect(await callWith(list(...items), { batch })).toMatchObject({ value: [named('A'), named('B'), named('C')] });
  });

  it('an item that is left out is null, an equal second one is ignored, and so is one that nobody asked for', async () => {
    const items = [
      { who: 'other@x.example', code: 200, name: 'O' },
      { who: 9, code: 200, name: 'N' },
      { code: 200, name: 'nobody' },
      { who: 1, code: 200, name: 'B' },
      { who: 1, code: 200, name: 'B' },
    ];
    expect(await callWith(list(...items), { batch })).toMatchObject({ kind: 'ok', value: [null, named('B'), null] });
  });

  it('two items for one lookup that contradict each other are refused, and their neighbours are not', async () => {
    const items = [
      { who: 0, code: 200, name: 'A' },
      { who: 1, code: 200, name: 'B' },
      { who: 'b@x.example', code: 404 },
    ];
    expect(await callWith(list(...items), { batch })).toMatchObject({
      kind: 'ok',
      value: [named('A'), { kind: 'rejected', code: 'bad_shape', detail: expect.stringContaining('contradict') }, null],
    });
  });

  it('an item that names its address in another spelling belongs to it', async () => {
    const client = await clientOf(
      list({ who: 'ana@bücher.example', code: 200, name: 'A' }, { who: 'ben@x.example', code: 200, name: 'B' }),
      {
        batch,
      },
    );
    const bodies = ['ana@xn--bcher-kva.example', 'ben+a@x.example', 'ben+b@x.example'].map((email) => client.enrichBody({ email }));
    expect(await client.batches?.call('enrich', bodies)).toMatchObject({ kind: 'ok', value: [named('A'), null, null] });
  });

  it('with a key that several lookups share belongs to none of them', async () => {
    const client = await clientOf(list({ who: 'x.example', code: 200, name: 'A' }), { batch });
    const bodies = ['Ana', 'Ben'].map((name) => client.enrichBody({ name, domain: 'x.example' }));
    expect(await client.batches?.call('enrich', bodies)).toMatchObject({ kind: 'ok', value: [null, null] });
  });

  const shape = (reason: string): object => ({ kind: 'rejected', code: 'bad_shape', detail: `operations.enrich.batch.items: ${reason}` });
  const CROSSED = shape('the record for this lookup has the key of another one');
  const withEmail = { name: 'body.name', email: 'body.email' };

  it.each([
    ['two that are exchanged', ['a@x.example', 'c@x.example', 'b@X.example'], [named, CROSSED, CROSSED]],
    ['one that has the address of another', ['a@x.example', 'B@x.example', 'a@x.example'], [named, named, CROSSED]],
    ['another address that nobody asked for', ['a@x.example', 'new@y.example', ''], [named, named, named]],
  ])('an item is compared with the address of its record, by id: %s', async (_what, addresses, expected) => {
    const items = addresses.map((email, who) => ({ who, code: 200, name: 'X', email, asked: EMAILS[who] }));
    const result = await callWith(list(...items), { batch, credits: '1', record: withEmail });
    const results = expected.map((one) => (one === named ? { kind: 'ok' } : one));
    expect(result).toMatchObject({ kind: 'ok', value: results, meta: { credits: 3 } });
  });

  it('an item is no miss where most records of the answer are those of other lookups', async () => {
    const items = ['B@x.example', 'c@x.example'].map((email, who) => ({ who, code: 200, name: 'X', email }));
    const answers = { miss: 'status = 404' };
    const result = await callWith(list(...items, { who: 2, code: 404 }), { batch, answers, record: withEmail });
    const told = 'most records of the answer have the keys of other lookups';
    expect(result).toMatchObject({ kind: 'ok', value: [CROSSED, CROSSED, shape(told)] });
  });

  it.each([
    ['linkedin_url', 'https://linkedin.com/in/', 'http://www.linkedin.com/in/', { name: 'x' }],
    ['phone', '+1 212 555 010', '+1212555010', { name: 'x' }],
    ['domain', 'x', 'www.x', {}],
  ])('an item is compared with the %s of its record, whatever its spelling', async (kind, asked, told, more) => {
    const ends = kind === 'domain' ? ['1.example', '2.example', '3.example'] : ['1', '2', '3'];
    const items = [0, 2, 1].map((other, who) => ({ who, code: 200, name: 'X', key: `${told}${ends[other]}` }));
    const client = await clientOf(list(...items), { batch, record: { name: 'body.name', [kind]: 'body.key' } });
    const bodies = ends.map((end) => JSON.stringify({ [kind]: `${asked}${end}`, ...more }));
    expect(await client.batches?.call('enrich', bodies)).toMatchObject({ value: [{ kind: 'ok' }, CROSSED, CROSSED] });
  });

  it('an item may have the domain of another lookup beside its own: companies have several', async () => {
    const items = [0, 1].map((who) => ({ who, code: 200, name: 'X', key: 'a.example', all: ['a.example', 'b.example'] }));
    const client = await clientOf(list(...items), { batch, record: { name: 'body.name', domain: 'body.key' } });
    const bodies = ['a.example', 'b.example'].map((domain) => JSON.stringify({ domain }));
    expect(await client.batches?.call('enrich', bodies)).toMatchObject({ value: [{ kind: 'ok' }, { kind: 'ok' }] });
  });

  it('an item of another shape is refused alone', async () => {
    const items = [
      { who: 0, code: 200, name: 1 },
      { who: 1, code: 'odd', name: 'B' },
      { who: 2, code: 200, name: 'C' },
    ];
    expect(await callWith(list(...items), { batch })).toMatchObject({
      kind: 'ok',
      value: [
        { kind: 'rejected', code: 'bad_shape', detail: 'operations.enrich.record.name: expected text, got the number 1' },
        {
          kind: 'rejected',
          code: 'bad_shape',
          detail: 'operations.enrich.batch.itemStatus: expected a status from 100 to 599, got the text "odd"',
        },
        named('C'),
      ],
    });
  });

  it('an item that is nested very deep refuses the request', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const url = await serve((_request, response) => answer(response, { status: 200, body: `[{"name":"A","x":${deep}},{"name":"B"}]` }));
    const client = declaredClient(url, { operations: { enrich: { batch: {} } } });
    expect(await client.batches?.call('enrich', ['{"email":"a@x.example"}', '{"email":"b@x.example"}'])).toMatchObject({
      kind: 'rejected',
      code: 'bad_mapping',
      detail: expect.stringContaining('operations.enrich.batch.items') as string,
    });
  });

  it('an item that is null by its position is a miss', async () => {
    expect(await callWith(() => ({ status: 200, body: [null, { name: 'B' }, {}] }))).toMatchObject({
      value: [{ kind: 'miss' }, named('B'), { kind: 'miss' }],
    });
  });

  it('in any order gives each lookup its own answer', async () => {
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray([0, 1, 2]), fc.array(fc.constantFrom('x', 'y@z.example', 7)), async (order, foreign) => {
        const items = [...order, ...foreign].map((who) => ({
          who: typeof who === 'number' && who < 3 ? EMAILS[who] : who,
          code: 200,
          name: String(who),
        }));
        const result = await callWith(list(...items), { batch });
        expect(result).toMatchObject({ value: [0, 1, 2].map((index) => (order.includes(index) ? named(String(index)) : null)) });
      }),
      { numRuns: 30 },
    );
  });
});

describe('the answer as a whole', () => {
  it('with fewer items than lookups, and no ids, is refused', async () => {
    expect(await callWith(() => ({ status: 200, body: [{ name: 'A' }] }))).toMatchObject({
      kind: 'rejected',
      code: 'bad_shape',
      detail: 'operations.enrich.batch.items: expected 3 items, one for each lookup, got 1',
    });
  });

  it.each([
    [{}, 'nothing'],
    [{ list: 'x' }, 'text'],
  ])('%j has no list, and is refused', async (body, got) => {
    expect(await callWith(() => ({ status: 200, body }), { batch: { items: 'body.list' } })).toMatchObject({
      code: 'bad_shape',
      detail: `operations.enrich.batch.items: expected a list, got ${got}`,
    });
  });

  it('the answer as a whole is judged by the rules of the batch', async () => {
    const answers = { wait: 'status = 420', waitSeconds: '5', refused: 'body.error = "too many"', code: 'body.error' };
    const operation = { answers: { refused: 'true' }, batch: { answers } };
    expect(await callWith(() => ({ status: 420, body: {} }), operation)).toMatchObject({ kind: 'throttled', retryAfterMs: 5_000 });
    expect(await callWith(() => ({ status: 200, body: { error: 'too many' } }), operation)).toMatchObject({
      kind: 'rejected',
      code: 'too_many',
    });
    expect(await callWith(() => ({ status: 500, body: {} }), operation)).toMatchObject({ kind: 'retryable', code: 'http_500' });
    expect(await callWith(() => ({ status: 401, body: {} }), operation)).toMatchObject({ kind: 'denied', keyVersion: 1 });
    // A batch cannot find nothing: a 404 is another address.
    expect(await callWith(() => ({ status: 404, body: {} }), {})).toMatchObject({ kind: 'wrong_address' });
  });

  it('costs the sum of its items, or what it says itself', async () => {
    const answering = (): ReturnType<Answering> => ({ status: 200, body: { list: [{ name: 'A' }, {}, { name: 'C' }], spent: 7 } });
    const credits = '$exists(body.name) ? 2 : 0';
    const summed = await callWith(answering, { credits, batch: { items: 'body.list' } });
    expect(summed).toMatchObject({
      value: [{ meta: { credits: 2 } }, { meta: { credits: 0 } }, { meta: { credits: 2 } }],
      meta: { credits: 4 },
    });
    // A limit of credits counts no item twice that has named its own.
    const metaOf = (result: unknown): object => (result as { meta: object }).meta;
    expect(metaOf(summed)).not.toHaveProperty('namesNoCredits');
    expect(metaOf(await callWith(answering, { credits: 'body.gone', batch: { items: 'body.list' } }))).toMatchObject({
      credits: 0,
      namesNoCredits: true,
    });
    expect(await callWith(answering, { credits, batch: { items: 'body.list', credits: 'body.spent' } })).toMatchObject({
      meta: { credits: 7 },
    });
  });
});

describe('verdicts for several addresses', () => {
  const record = { result: 'body.s' };
  const verify = async (answering: Answering, operation: OperationText, emails: readonly string[]): Promise<unknown> => {
    const client = await clientOf(answering, { record, ...operation }, 'verify');
    return client.callVerify(client.verifyBody(emails));
  };

  it('verdicts for several addresses are found by address; one that is left out has none', async () => {
    const items = [
      { e: 'b@x.EXAMPLE', s: 'risky' },
      { e: 'A@x.example', s: 'Unknown' },
      { e: 'z@x.example', s: 'risky' },
    ];
    const result = await verify(() => ({ status: 200, body: items }), { batch: { itemId: 'e' } }, EMAILS);
    const verdict = (email: string, word: string): unknown => ({ email, result: word, confidence: null, reason: null });
    expect((result as { value: { byEmail: unknown } }).value.byEmail).toEqual(
      new Map([
        ['a@x.example', verdict('a@x.example', 'unknown')],
        ['b@x.example', verdict('B@x.example', 'risky')],
      ]),
    );
  });

  it('say which person asked to be removed', async () => {
    const answers = { suppressed: 'body.s = "gone"' };
    const result = await verify(() => ({ status: 200, body: [{ s: 'gone' }, { s: 'risky' }] }), { answers }, EMAILS.slice(0, 2));
    expect((result as { value: { byEmail: ReadonlyMap<string, unknown> } }).value.byEmail.get('a@x.example')).toMatchObject({
      reason: 'suppressed_person',
    });
  });

  it('verdicts that all have another shape refuse the request', async () => {
    expect(await verify(() => ({ status: 200, body: [{ s: 1 }, { s: 2 }] }), {}, EMAILS.slice(0, 2))).toMatchObject({
      kind: 'rejected',
      code: 'bad_shape',
      detail: 'operations.verify.record.result: expected text, got the number 1',
    });
  });

  it('use the request for one address where there is one', async () => {
    const url = await serve((request, response) => answer(response, { status: 200, body: JSON.stringify({ s: request.url }) }));
    const operation = { record, request: { path: '/v/{email}' }, batch: {} };
    const client = declaredClient(url, { operations: { verify: operation } });
    const result = await client.callVerify('{"emails":["a@x.example"]}');
    expect((result as { value: { byEmail: ReadonlyMap<string, unknown> } }).value.byEmail.get('a@x.example')).toMatchObject({
      result: '/v/a%40x.example',
    });
  });

  it('verdicts for several addresses are refused without a request for several', async () => {
    const client = declaredClient('http://127.0.0.1:1', { operations: { verify: { record } } });
    expect(await client.callVerify(client.verifyBody(EMAILS))).toMatchObject({ kind: 'rejected', code: 'no_operation' });
  });
});

describe('a verdict', () => {
  it.each([true, false])('about another address than the one asked for is refused (in a batch: %s)', async (isBatch) => {
    const body = { email: 'other@x.example', result: 'deliverable' };
    const url = await serve((_request, response) => answer(response, { status: 200, body: JSON.stringify(isBatch ? [body, body] : body) }));
    const verify = { record: { email: 'body.email', result: 'body.result' }, ...(isBatch ? { batch: {} } : {}) };
    const client = declaredClient(url, { operations: { verify } });
    const result = await client.callVerify(client.verifyBody(isBatch ? EMAILS.slice(0, 2) : EMAILS.slice(0, 1)));
    expect(result).toMatchObject({ kind: 'rejected', code: 'bad_shape' });
    expect(JSON.stringify(result)).not.toContain('other@x.example');
  });
});
