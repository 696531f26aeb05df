/**
 * Imports marked addresses, numbers and texts in every field; no free answer may contain one of them. fast-check prints the seed of a
 * failure.
 */
import * as fc from '../../support/fast-check.ts';
import { isObjectType, type GraphQLObjectType } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FieldType } from '../../../src/service/records/field-types.ts';
import type { SparseRecord } from '../../../src/service/records/whole-record.ts';
import { IMPORTED_COMPANY } from '../../../src/service/records/company-fields.ts';
import { fieldOf, type Field, type Members } from '../../../src/service/records/field.ts';
import { IMPORTED_PERSON } from '../../../src/service/records/person-fields.ts';
import { IMPORTED_SIGNAL, SIGNAL } from '../../../src/service/records/signal-fields.ts';
import { SIGNAL_TYPES } from '../../../src/service/records/signal-types.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { ask, SCHEMA, wholeOf, written } from '../graphql/asking.ts';
import { makeKey } from '../harness.ts';
import { casesOf } from '../../support/sample.ts';
import { load } from '../loading.ts';
import { Receiver } from '../webhooks/receiver.ts';
import { serveHooked, type Hooked } from '../webhooks/hooked.ts';

/** In every address and text, and at the start of every number. */
const MARK = /hidden|4915100/i;
const address = fc.nat(999_999).map((n) => `hidden.${n}@mail.example`);
const number = fc.nat(999_999).map((n) => `+4915100${String(n).padStart(6, '0')}`);
const word = fc.nat(999_999).map((n) => `Hidden text ${n}`);
const secret = fc.oneof(address, number, word);
/** Objects with open names may contain anything. */
const nested: fc.Arbitrary<unknown> = fc.oneof(
  secret,
  fc.array(secret, { minLength: 1, maxLength: 2 }),
  secret.map((one) => ({ email: one, [one]: 1, deeper: [{ mobile: one }] })),
);
const siblings = fc.dictionary(
  fc.oneof(fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString', 'a note', 'salary'), secret),
  nested,
  { minKeys: 1, maxKeys: 3 },
);
const spoilt = (contact: string): fc.Arbitrary<string> =>
  fc.constantFrom(
    contact,
    `Ann <${contact}>`,
    `Write to ${contact}, or call`,
    `(${contact})`,
    `https://x.example/?to=${encodeURIComponent(contact)}`,
    `mailto:${contact}`,
  );
/** A text that is published, without the address or number in it. */
const text = fc.oneof(fc.constantFrom('Ann Poe', 'Paris', '2026-01-31'), fc.oneof(address, number).chain(spoilt));
const wrong = secret.map((one) => ({ [one]: one, email: one }));

function valueOf(member: FieldType | Field): fc.Arbitrary<unknown> {
  const { type, fields, each, textAs } = fieldOf(member);
  if (each !== undefined)
    return fc.dictionary(fc.oneof(fc.constantFrom('sales', 'DE'), address, number), fc.oneof(fc.constant(3), secret, wrong), {
      maxKeys: 3,
    });
  if (fields === undefined) return fc.oneof(...scalarsOf(type), wrong);
  const object = objectOf(fields);
  if (type === 'objects')
    return fc.array(
      fc.oneof({ arbitrary: object, weight: 4 }, { arbitrary: textAs === undefined ? secret : fc.oneof(address, number), weight: 1 }),
      { maxLength: 2 },
    );
  return type === 'text_or_object' ? fc.oneof(text, object) : fc.oneof({ arbitrary: object, weight: 4 }, { arbitrary: secret, weight: 1 });
}

function scalarsOf(type: FieldType): fc.Arbitrary<unknown>[] {
  switch (type) {
    case 'string':
    case 'word':
      return [text];
    case 'strings':
      return [fc.array(fc.oneof(text, wrong), { maxLength: 3 })];
    case 'addresses':
      return [fc.array(fc.oneof(address, word), { maxLength: 2 })];
    case 'email':
    case 'address':
      return [address];
    case 'phone':
    case 'telephone':
      return [number];
    default:
      return [secret];
  }
}

function objectOf(fields: Members): fc.Arbitrary<SparseRecord> {
  return fc
    .tuple(
      fc.record(Object.fromEntries(Object.entries(fields).map(([name, member]) => [name, valueOf(member)])), { requiredKeys: [] }),
      siblings,
    )
    .map(([known, others]) => withOwn({ ...others, ...known }));
}

/** As in JSON: `__proto__` is an ordinary name. */
function withOwn(record: SparseRecord): SparseRecord {
  return Object.fromEntries(Object.entries(record));
}

/** Without the published numbers of a company, and without ids. */
const { phone: _phone, domain: _domain, domain_aliases: _aliases, ...ofCompany } = IMPORTED_COMPANY;
const { company_domain: _where, company_name: _name, email: _email, ...ofPerson } = IMPORTED_PERSON;
const row = fc.record({
  company: objectOf(ofCompany),
  person: objectOf(ofPerson),
  later: objectOf(ofPerson),
  signal: fc.constantFrom(...SIGNAL_TYPES).chain((type) =>
    fc
      .tuple(objectOf(IMPORTED_SIGNAL[type]), objectOf(SIGNAL.person.fields), objectOf(SIGNAL.company.fields))
      .map(([signal, person, company]) => ({
        ...signal,
        person: { ...person, email: 'hidden.main@mail.example', mobile: '+4915100000000' },
        company,
        type,
      })),
  ),
});

let service: Hooked;
let receiver: Receiver;
let trial: string;
beforeAll(async () => {
  receiver = await Receiver.start();
  service = await serveHooked();
  trial = await makeKey(service.store, 'trial');
  await service.subscribe(
    { events: ['funding.round', 'hiring.change', 'executive.move', 'technology.change', 'job.change'], url: receiver.url() },
    trial,
  );
});
afterAll(async () => service.close());

/** Opens an event stream; returns a function that reads `count` events. */
async function stream(query: string, headers: Record<string, string> = {}): Promise<(wanted: number) => Promise<string>> {
  const stop = new AbortController();
  const response = await fetch(`${service.url}/v1/signals${query}`, {
    headers: { authorization: `Bearer ${trial}`, accept: 'text/event-stream', ...headers },
    signal: stop.signal,
  });
  expect(response.status).toBe(200);
  return async (wanted) => {
    let heard = '';
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      heard += Buffer.from(chunk).toString('utf8');
      if ((heard.match(/^id: /gm) ?? []).length >= wanted) break;
    }
    stop.abort();
    return heard;
  };
}

async function put(
  rows: readonly { readonly [kind in 'company' | 'person' | 'later' | 'signal']: SparseRecord }[],
  run: number,
): Promise<Readonly<Record<string, number>>[]> {
  const store = openStore(service.store);
  const at = (n: number): string => `r${run}c${n}.example`;
  const dropped: Readonly<Record<string, number>>[] = [];
  const take = async (kind: 'companies' | 'contacts' | 'signals', records: readonly SparseRecord[], asOf: string): Promise<void> => {
    const { counts, rejected } = await load(store, records, { kind, asOf });
    expect(rejected).toEqual([]);
    dropped.push(counts.dropped);
  };
  await take(
    'companies',
    rows.map(({ company }, n) => ({ ...company, domain: at(n) })),
    '2026-01-01',
  );
  for (const [time, title] of [
    ['person', 'CTO'],
    ['later', 'CEO'],
  ] as const) {
    await take(
      'contacts',
      rows.map(({ [time]: person }, n) => ({
        ...person,
        id: `pe_${run}_${n}`,
        email: `hidden.${run}.${n}@mail.example`,
        updated_at: undefined,
        title,
        'company.domain': at(n),
      })),
      time === 'person' ? '2026-01-01' : '2026-02-01',
    );
  }
  await take(
    'signals',
    rows.map(({ signal }, n) => ({
      ...signal,
      id: `sg_${run}_${n}`,
      occurred_at: '2026-01-31',
      domain: at(n),
      company: { ...(signal['company'] as SparseRecord), domain: at(n) },
    })),
    '2026-01-01',
  );
  store.close();
  return dropped;
}

/** Everything that a trial key gets for free, and the companies. */
async function freeAnswers(run: number, count: number): Promise<string[]> {
  const domains = Array.from({ length: count }, (_, n) => `r${run}c${n}.example`);
  const query = `?domain=${domains.join(',')}&since=2026-01-01`;
  const get = async (path: string, headers: Record<string, string> = {}): Promise<string> =>
    (await service.request(path, { headers: { authorization: `Bearer ${trial}`, ...headers } })).text;
  const page = await get(`/v1/signals${query}&limit=100`);
  expect((JSON.parse(page) as { data: unknown[] }).data).toHaveLength(count);
  const caughtUp = await (await stream(query))(count);
  const found = await get(`/v1/contacts/search?domain=${domains.join(',')}`);
  expect((JSON.parse(found) as { data: unknown[] }).data).toHaveLength(count);
  const whole = (type: string): string => {
    const named = SCHEMA.getType(type);
    return isObjectType(named) ? written(wholeOf(named as GraphQLObjectType)) : '';
  };
  const list = JSON.stringify(domains);
  return [
    page,
    found,
    caughtUp,
    await (await stream(query, { 'last-event-id': /^id: (\d+)/m.exec(caughtUp)?.[1] ?? '' }))(count - 1),
    await get(`/v1/signals${query}`, { accept: 'application/x-ndjson' }),
    (
      await ask(
        service,
        `{ signals(domain: ${list}, first: 100) { edges { node ${whole('Signal')} } } contacts(filter: { domain: ${list} }, first: ` +
          `100) { edges { node ${whole('Contact')} } } }`,
        { key: trial },
      )
    ).text,
    (await ask(service, `{ contact(id: "pe_${run}_0") ${whole('Contact')} }`, { key: trial })).text,
    ...(await Promise.all(domains.map((domain) => get(`/v1/companies/${domain}`)))),
    (await ask(service, `{ company(domain: "${domains[0] ?? ''}") ${whole('Company')} }`, { key: trial })).text,
    await get('/v1/batches'),
    await get('/v1/webhooks'),
    await get('/v1/contacts/search?q=hidden'),
    (await service.post('/v1/enrich', { name: 'Nobody', domain: domains[0] }, { key: trial })).text,
    (await service.post('/v1/contacts/reveal', { id: `pe_${run}_0`, extra: 1 }, { key: trial })).text,
  ];
}

describe('paid contact data', () => {
  it('paid contact data is in no free answer, whichever field it was imported in', async () => {
    let run = 0;
    let told = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 6, maxLength: 6 }), async (rows) => {
        run++;
        // The quota of a minute is enough for one run.
        trial = await makeKey(service.store, 'trial');
        const live = await stream(`?domain=${rows.map((_, n) => `r${run}c${n}.example`).join(',')}`);
        const dropped = await put(rows, run);
        for (const counts of dropped) expect(Object.keys(counts).length).toBeGreaterThan(0);
        const answers = [await live(rows.length), ...(await freeAnswers(run, rows.length))];
        // Each signal and each job change.
        told += 2 * rows.length;
        answers.push(...(await receiver.count(told)).map((one) => one.text));
        for (const answer of answers)
          expect(MARK.exec(answer)?.input.slice(Math.max(0, answer.search(MARK) - 200), answer.search(MARK) + 100) ?? null).toBeNull();
        // The store does have the data.
        expect((await service.post('/v1/enrich', { id: `pe_${run}_0` })).text).toContain(`hidden.${run}.0@mail.example`);
      }),
      { numRuns: casesOf(4, 50), endOnFailure: true },
    );
  });
});
