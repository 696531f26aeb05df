/** The record of an answer: mapped, checked, kept and mapped again. */
import { describe, expect, it } from 'vitest';
import { serveCanned } from '../../client/servers.ts';
import { declaredClient, type OperationText, type ProviderText } from './declared.ts';
import type { OperationName } from '../../../src/providers/compiled-provider.ts';

const BODY = '{"email":"ana@acme.example"}';

async function clientOf(body: unknown, operations: ProviderText['operations']): Promise<ReturnType<typeof declaredClient>> {
  return declaredClient(await serveCanned({ status: 200, body: typeof body === 'string' ? body : JSON.stringify(body) }), { operations });
}

async function resultOf(body: unknown, record: unknown, step: OperationName = 'enrich', more: OperationText = {}): Promise<unknown> {
  const client = await clientOf(body, { [step]: { record, ...more } });
  switch (step) {
    case 'company':
      return client.callCompany('acme.example');
    case 'reveal':
      return client.callReveal(BODY);
    case 'verify':
      return client.callVerify('{"emails":["Ana@Acme.example"]}');
    default:
      return client.callEnrich(BODY);
  }
}

describe('a record', () => {
  const answer = { p: { mail: 'a@x.example', who: 'Ana', n: null, e: '', tech: ['a'], size: 12, on: false, extra: { deep: [1] } } };

  it('has the fields that the definition maps, without those that say nothing', async () => {
    const record = {
      email: 'body.p.mail',
      name: 'body.p.who',
      title: 'body.p.n',
      mobile: 'body.p.e',
      phones: 'body.none',
      verified: 'body.p.on',
      other: 'body.p.extra',
      company: { name: 'body.none', employees: 'body.p.size', stack: 'body.p.tech', revenue: 'body.p.e' },
    };
    const expected = { email: 'a@x.example', name: 'Ana', verified: false, other: { deep: [1] }, company: { employees: 12, stack: ['a'] } };
    expect(await resultOf(answer, record)).toEqual({
      kind: 'ok',
      value: { record: expected, text: JSON.stringify(expected), stored: `{"status":200,"body":${JSON.stringify(answer)}}` },
      meta: expect.anything() as unknown,
    });
  });

  it('without a company that says anything has none', async () => {
    expect(await resultOf(answer, { name: 'body.p.who', company: { name: 'body.none', revenue: 'body.p.e' } })).toMatchObject({
      value: { text: '{"name":"Ana"}' },
    });
    expect(await resultOf(answer, { company: { name: 'body.none' } })).toMatchObject({ kind: 'miss' });
  });

  it('an object of whose members none has a value is left out, at the edge of a record too', async () => {
    const place = { city: 'body.none', region: 'body.p.e' };
    expect(await resultOf(answer, { name: 'body.p.who', location: place })).toMatchObject({ value: { text: '{"name":"Ana"}' } });
    expect(await resultOf(answer, { location: { ...place, country: '"NO"' } })).toMatchObject({
      value: { text: expect.stringContaining('"country":"NO"') as unknown },
    });
  });

  it('a record that a rule calls a match is one, although no field has a value', async () => {
    expect(await resultOf({}, { name: 'body.none' }, 'enrich', { answers: { match: 'true' } })).toMatchObject({
      kind: 'ok',
      value: { record: {}, text: '{}' },
    });
  });

  it('a record of a company is that of the company step', async () => {
    const expected = { kind: 'ok', value: { record: { name: 'Acme', domain: 'acme.example' } } };
    expect(await resultOf({ n: 'Acme' }, { name: 'body.n', domain: '"acme.example"' }, 'company')).toMatchObject(expected);
    expect(await resultOf({ n: 'Acme' }, { company: { name: 'body.n' }, domain: '"acme.example"' }, 'company')).toMatchObject(expected);
  });

  it('a record of a contact is that of the reveal step', async () => {
    expect(await resultOf({ m: '+4930' }, { mobile: 'body.m' }, 'reveal')).toMatchObject({ value: { record: { mobile: '+4930' } } });
  });

  it('has a list where JSONata found its only entry', async () => {
    const record = { company: { stack: 'body.tech.name' } };
    expect(await resultOf({ tech: [{ name: 'Go' }] }, record)).toMatchObject({ value: { text: '{"company":{"stack":["Go"]}}' } });
    expect(await resultOf({ tech: [{ name: 'Go' }, { name: 'C' }] }, record)).toMatchObject({
      value: { text: '{"company":{"stack":["Go","C"]}}' },
    });
  });
});

describe('a field of another type than declared is refused, and named', () => {
  it.each([
    ['enrich', { email: '[1, 2]' }, 'operations.enrich.record.email: expected text, got a list of 2'],
    ['enrich', { name: '{"a": 1}' }, 'operations.enrich.record.name: expected text, got an object'],
    ['enrich', { title: '7' }, 'operations.enrich.record.title: expected text, got the number 7'],
    ['enrich', { verified: '"yes"' }, 'operations.enrich.record.verified: expected true or false, got the text "yes"'],
    ['enrich', { company: '"Acme"' }, 'operations.enrich.record.company: expected an object, got text'],
    [
      'enrich',
      { company: { employees: '"51-200"' } },
      'operations.enrich.record.company.employees: expected a number, got the text "51-200"',
    ],
    ['company', { employees: 'true' }, 'operations.company.record.employees: expected a number, got true'],
    ['company', { stack: '["a", 1]' }, 'operations.company.record.stack: expected a list of text, got a list of 2'],
    ['reveal', { mobile: '4930' }, 'operations.reveal.record.mobile: expected text, got the number 4930'],
    ['verify', { result: '1' }, 'operations.verify.record.result: expected text, got the number 1'],
    ['verify', { reason: '"x"' }, 'operations.verify.record.result: expected text, got nothing'],
    [
      'verify',
      { result: '"risky"', confidence: '101' },
      'operations.verify.record.confidence: expected a number from 0 to 100, got the number 101',
    ],
    ['enrich', '"text"', 'operations.enrich.record: expected an object, got text'],
    ['enrich', '[1]', 'operations.enrich.record: expected an object, got a list of 1'],
  ] as const)('%s %j', async (step, record, detail) => {
    expect(await resultOf({}, record, step)).toMatchObject({ kind: 'rejected', code: 'bad_shape', detail, meta: { status: 200 } });
  });

  it('also where a rule calls it a match', async () => {
    expect(await resultOf({}, { name: '1' }, 'enrich', { answers: { match: 'true' } })).toMatchObject({ code: 'bad_shape' });
  });

  it('a record that throws is a bad mapping', async () => {
    expect(await resultOf({}, { name: '$number("x")' })).toMatchObject({
      kind: 'rejected',
      code: 'bad_mapping',
      detail: expect.stringContaining('operations.enrich.record.name') as string,
    });
  });
});

describe('a placeholder', () => {
  const record = { email: 'body.email', mobile: 'body.phone', personal_emails: 'body.emails', company: { domain: 'body.site' } };
  const locked = { email: 'email_not_unlocked@domain.com', emails: ['Email_Not_Unlocked@acme.example', 'ana@home.example'] };

  it('counts as no value in a field or in a list, where Millrace knows it', async () => {
    expect(await resultOf(locked, record)).toMatchObject({ kind: 'ok', value: { text: '{"personal_emails":["ana@home.example"]}' } });
    expect(await resultOf({ email: locked.email }, record)).toMatchObject({ kind: 'miss' });
  });

  it('counts as no value in any case, in the company and in a stored answer, where the definition names it', async () => {
    const body = { email: 'ana@acme.example', phone: ' +1 555 LOCKED', site: 'hidden.example' };
    const absent = ['+1 555 locked', 'hidden.example'];
    const client = await clientOf(body, { enrich: { record, absent } });
    const text = '{"email":"ana@acme.example"}';
    expect(await client.callEnrich(BODY)).toMatchObject({ kind: 'ok', value: { text } });
    const stored = `{"status":200,"body":${JSON.stringify(body)}}`;
    expect(await client.readStored('enrich', stored)).toMatchObject({ text });
  });
});

describe('the answer that the ledger keeps', () => {
  it('the stored answer is mapped again, so that a corrected mapping costs nothing', async () => {
    const client = await clientOf({ p: { a: 'Ana', b: 'CTO' } }, { enrich: { record: { name: 'body.p.a' } } });
    const first = await client.callEnrich(BODY);
    if (first.kind !== 'ok') throw new Error(first.kind);
    const stored = first.value.stored ?? '';
    expect(await client.readStored('enrich', stored)).toEqual(first.value);
    const corrected = await clientOf({}, { enrich: { record: { name: 'body.p.a', title: 'status = 200 ? body.p.b' } } });
    expect(await corrected.readStored('enrich', stored)).toMatchObject({ text: '{"name":"Ana","title":"CTO"}', stored });
  });

  it('a new answer with an empty text inside a field is a miss, and one that is stored as a hit stays a hit', async () => {
    const client = await clientOf({ place: { city: '' } }, { enrich: { record: { location: 'body.place' } } });
    expect(await client.callEnrich(BODY)).toMatchObject({ kind: 'miss' });
    expect(await client.readStored('enrich', '{"status":200,"body":{"place":{"city":""}}}')).toMatchObject({ record: {}, text: '{}' });
  });

  it('the stored answer is one line of JSON, whatever the provider sent', async () => {
    const client = await clientOf('\n{\n  "name": "A\\nB"\r\n}\n', { enrich: {} });
    expect(await client.callEnrich(BODY)).toMatchObject({ value: { stored: '{"status":200,"body":{"name":"A\\nB"}}' } });
  });

  it('has the headers where the record reads them', async () => {
    const client = await clientOf({ name: 'Ana' }, { enrich: { record: { name: 'body.name', type: 'headers.`content-type`' } } });
    const result = await client.callEnrich(BODY);
    if (result.kind !== 'ok') throw new Error(result.kind);
    expect(await client.readStored('enrich', result.value.stored ?? '')).toMatchObject({ record: { type: 'application/json' } });
  });

  it('a miss is kept as well, so that corrected rules find its record without asking', async () => {
    const body = { state: 'partial', person: { name: 'Ana' } };
    const record = { name: 'body.person.name' };
    const client = await clientOf(body, { enrich: { record, answers: { match: "body.state = 'full'", miss: "body.state != 'full'" } } });
    const missed = await client.callEnrich(BODY);
    const stored = '{"status":200,"judged":false,"headers":{},"body":{"state":"partial","person":{"name":"Ana"}}}';
    expect(missed).toMatchObject({ kind: 'miss', stored });
    expect(await client.readStored('enrich', stored)).toBeNull();
    const corrected = await clientOf({}, { enrich: { record, answers: { match: 'body.person', miss: '$not($exists(body.person))' } } });
    expect(await corrected.readStored('enrich', stored)).toMatchObject({ record: { name: 'Ana' } });
  });

  it('a miss by its status stays one, whatever its body maps to, and a large one is not kept', async () => {
    const client = await clientOf({}, { enrich: { record: 'body', answers: { match: 'status = 200' } } });
    expect(await client.readStored('enrich', '{"status":404,"judged":false,"headers":{},"body":{"error":"unknown"}}')).toBeNull();
    const large = await clientOf(
      { miss: 'x'.repeat(5_000) },
      { enrich: { record: { name: 'body.none' }, answers: { miss: 'body.miss != ""' } } },
    );
    expect(await large.callEnrich(BODY)).not.toHaveProperty('stored');
  });

  it('an answer that no rule takes is told apart from one that the mapping does not fit', async () => {
    const answers = { match: 'body.ok', miss: 'body.unknown' };
    const client = await clientOf({}, { enrich: { answers } });
    expect(await client.readStored('enrich', '{"status":200,"judged":false,"body":{"status":"maintenance"}}')).toBe('not_taken');
    expect(await client.readStored('enrich', '{"status":200,"judged":false,"body":{"unknown":true}}')).toBeNull();
    expect(await client.readStored('enrich', '{"status":200,"judged":false,"body":{"ok":true,"name":"A"}}')).toMatchObject({
      record: { name: 'A' },
    });
  });

  it.each([['{"name":"Ana"}'], ['no JSON'], ['[]']])('%s, which another client left, is refused', async (text) => {
    const client = await clientOf({}, { enrich: {} });
    await expect(client.readStored('enrich', text)).rejects.toMatchObject({ code: 'bad_shape' });
  });

  it('a stored answer of another shape than the mapping of today is refused, and the field named', async () => {
    const client = await clientOf({}, { enrich: {} });
    await expect(client.readStored('enrich', '{"status":200,"body":{"name":1}}')).rejects.toMatchObject({
      code: 'bad_shape',
      message: 'operations.enrich.record.name: expected text, got the number 1',
    });
  });
});

describe('a verdict', () => {
  const record = { email: 'body.address', result: 'body.status', confidence: 'body.score', reason: 'body.why', free: 'body.free' };

  it('a verdict is found by the address that was asked for, whatever the provider calls it', async () => {
    const result = await resultOf(
      { address: 'ana@acme.example', status: ' Deliverable', score: 97, why: '', free: true },
      record,
      'verify',
    );
    expect(result).toMatchObject({ kind: 'ok' });
    expect((result as { value: { byEmail: unknown } }).value.byEmail).toEqual(
      new Map([['ana@acme.example', { email: 'ana@acme.example', result: 'deliverable', confidence: 97, reason: null, free: true }]]),
    );
  });

  it('keeps words of the provider, and the address as it was asked for', async () => {
    const { value } = (await resultOf({ status: 'catch-all' }, record, 'verify')) as { value: { byEmail: ReadonlyMap<string, unknown> } };
    expect(value.byEmail.get('ana@acme.example')).toEqual({
      email: 'Ana@Acme.example',
      result: 'catch-all',
      confidence: null,
      reason: null,
    });
  });

  it('a verdict of an answer without any is a miss', async () => {
    expect(await resultOf({}, record, 'verify')).toMatchObject({ kind: 'miss' });
  });
});

describe('hostile answers', () => {
  it('an answer that is nested very deep is a result', async () => {
    const deep = `{"name":"Ana","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect(await resultOf(deep, { name: 'body.name' })).toMatchObject({ kind: 'ok', value: { record: { name: 'Ana' } } });
    expect(await resultOf(deep, { name: 'body.name', x: 'body.x' })).toMatchObject({ kind: 'rejected', code: 'bad_mapping' });
    expect(await resultOf(`\n${deep.replace(':', ':\n')}`, { name: 'body.name' })).toMatchObject({ kind: 'rejected', code: 'bad_shape' });
  });

  it('names that JavaScript gives a meaning are data', async () => {
    const body = '{"name":"Ana","more":{"__proto__":{"polluted":1},"constructor":2,"toString":3}}';
    const result = await resultOf(body, { name: 'body.name', more: 'body.more', none: 'body.constructor' });
    expect(result).toMatchObject({ kind: 'ok' });
    expect((result as { value: { text: string } }).value.text).toBe(body);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  it('a value that JSONata takes for a function is refused', async () => {
    expect(await resultOf({ name: 'Ana', f: { _jsonata_lambda: true } }, { name: 'body.name', f: '[body.f]' })).toMatchObject({
      kind: 'rejected',
      code: 'bad_mapping',
    });
  });
});
