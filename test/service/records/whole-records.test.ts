/** Imports records with any parts, valid and invalid. Every answer must agree with the published document, with every field and part. */
import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import type { FieldType } from '../../../src/service/records/field-types.ts';
import { ROW_FIELDS } from '../../../src/service/records/schemas/contact-schema.ts';
import { RECORD_FIELDS, type SparseRecord } from '../../../src/service/records/whole-record.ts';
import { COMPANY_FIELDS, IMPORTED_COMPANY } from '../../../src/service/records/company-fields.ts';
import { fieldOf, type Field, type Members } from '../../../src/service/records/field.ts';
import { IMPORTED_PERSON } from '../../../src/service/records/person-fields.ts';
import { IMPORTED_SIGNAL, SIGNAL, SIGNAL_DATA } from '../../../src/service/records/signal-fields.ts';
import { SIGNAL_TYPES, type SignalType } from '../../../src/service/records/signal-types.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { isObject } from '../../../src/util/is-object.ts';
import { KEY, makeStore, serveStore, type Served } from '../harness.ts';
import { load } from '../loading.ts';

const text = fc.oneof(
  fc.constantFrom('Series A', 'c_suite', 'self-hosted', 'Éire', '  ', ''),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
);
const number = fc.oneof(
  fc.integer({ min: -5, max: 10_000_000 }),
  fc.double({ noNaN: true, min: -1_000, max: 1_000 }),
  fc.constantFrom('1,200', '$12M', 'many'),
);
const time = fc.constantFrom('2026-01-31', '2025-06-01T12:00:00Z', '2025-06-01 12:00', '03/04/2026', '2026-02-30');
const address = fc.constantFrom('Ann@Acme.example', 'n/a', 'x@öl.example');
const GOOD: Readonly<Record<FieldType, fc.Arbitrary<unknown>>> = {
  string: text,
  word: text,
  integer: number,
  number,
  boolean: fc.constantFrom(true, false, 'yes', 'no', 'perhaps'),
  date: time,
  partial_date: fc.oneof(time, fc.constantFrom('2025', '2025-06', 'Jun 2025', 2019)),
  time,
  email: address,
  address,
  domain: fc.constantFrom('https://www.acme.example/x', 'x', 'öl.example'),
  phone: fc.constantFrom('+1 (212) 555-0100', '555'),
  telephone: fc.constantFrom('+1 (212) 555-0100', '555', 'x@acme.example'),
  addresses: fc.array(address, { maxLength: 3 }),
  text_or_object: text,
  strings: fc.oneof(fc.array(text, { maxLength: 3 }), fc.constant('a;b')),
  objects: fc.array(fc.anything(), { maxLength: 2 }),
  object: fc.dictionary(text, fc.jsonValue(), { maxKeys: 2 }),
};
/** Mostly such a value, and sometimes anything. */
const mostly = (good: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ arbitrary: good, weight: 9 }, { arbitrary: fc.jsonValue(), weight: 1 }, { arbitrary: fc.constant(null), weight: 1 });

function valueOf(member: FieldType | Field): fc.Arbitrary<unknown> {
  const { type, fields, each, textAs } = fieldOf(member);
  if (each !== undefined) return fc.dictionary(fc.constantFrom('engineering', 'DE', 'people ops'), mostly(GOOD[each]), { maxKeys: 3 });
  if (fields === undefined) return GOOD[type];
  const object = some({ ...fieldsOf(fields), 'a note': fc.jsonValue() });
  if (type === 'objects') return fc.array(textAs === undefined ? object : fc.oneof(object, GOOD[textAs.type]), { maxLength: 3 });
  return type === 'text_or_object' ? fc.oneof(text, object) : object;
}

function fieldsOf(fields: Members): Record<string, fc.Arbitrary<unknown>> {
  return Object.fromEntries(Object.entries(fields).map(([name, member]) => [name, mostly(valueOf(member))]));
}

const some = (fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<SparseRecord> => fc.record(fields, { requiredKeys: [] });
const person = some(fieldsOf(IMPORTED_PERSON));
const company = some(fieldsOf(IMPORTED_COMPANY));
const signal = fc.constantFrom(...SIGNAL_TYPES).chain((type) => some(fieldsOf(IMPORTED_SIGNAL[type])).map((rest) => ({ ...rest, type })));

/** Names that a record may lack or have too many of: fields, and members of its objects. */
function missing(record: unknown, names: readonly string[], fields: Members): string[] {
  return isObject(record)
    ? [...differing(record, names, ''), ...names.flatMap((name) => inner(record[name], fields[name], name))]
    : ['all of it'];
}

function differing(record: SparseRecord, names: readonly string[], path: string): string[] {
  return [...names.filter((name) => !(name in record)), ...Object.keys(record).filter((name) => !names.includes(name))].map(
    (name) => path + name,
  );
}

function inner(value: unknown, member: FieldType | Field | undefined, path: string): string[] {
  const { fields } = fieldOf(member ?? 'string');
  if (fields === undefined) return [];
  if (Array.isArray(value)) return value.flatMap((item, at) => inner(item, member, `${path}[${at}]`));
  return isObject(value)
    ? [
        ...differing(value, Object.keys(fields), `${path}.`),
        ...Object.keys(fields).flatMap((name) => inner(value[name], fields[name], `${path}.${name}`)),
      ]
    : [];
}

function missingOfSignal(record: SparseRecord, names: readonly string[]): string[] {
  return missing(record, names, { ...SIGNAL, data: { type: 'object', fields: SIGNAL_DATA[record['type'] as SignalType] } });
}

async function ask(service: Served, path: string): Promise<SparseRecord> {
  const { status, json } = await service.request(path, { headers: { authorization: `Bearer ${KEY}` } });
  expect(status, path).toBe(200);
  return json;
}

const list = (value: unknown): readonly SparseRecord[] => value as SparseRecord[];

describe('records with any fields', () => {
  it('records are answered with every field of the OpenAPI document, by every operation', async () => {
    await fc.assert(
      // The service itself validates each answer against the document.
      fc.asyncProperty(fc.array(fc.tuple(person, company, signal), { minLength: 8, maxLength: 8 }), async (rows) => {
        const domains = rows.map((_, n) => `c${n}.example`);
        const store = await makeStore();
        const open = openStore(store);
        await load(
          open,
          rows.map(([, record], n) => ({ ...record, domain: domains[n] })),
          { kind: 'companies' },
        );
        await load(
          open,
          rows.map(([record], n) => ({ ...record, id: `pe_w${n}`, email: `w${n}@c${n}.example`, 'company.domain': domains[n] })),
        );
        const signals = await load(
          open,
          rows.map(([, , record], n) => ({ ...record, id: `sg_w${n}`, occurred_at: '2026-01-31', domain: domains[n] })),
          { kind: 'signals' },
        );
        open.close();
        expect(signals.counts.added).toBe(rows.length);
        const service = await serveStore({ store });
        for (const [n, domain] of domains.entries()) {
          const id = `pe_w${n}`;
          const record = (await service.post('/v1/enrich', { id })).json;
          expect([
            ...missing(record, RECORD_FIELDS, IMPORTED_PERSON),
            ...missing(record['company'], COMPANY_FIELDS, IMPORTED_COMPANY),
          ]).toEqual([]);
          expect((await service.post('/v1/enrich', { id, fields: RECORD_FIELDS })).json).toEqual(record);
          expect((await service.post('/v1/enrich/bulk', { requests: [{ params: { id } }] })).json['data']).toMatchObject([
            { status: 200, record },
          ]);
          expect(
            missing((await service.post('/v1/contacts/reveal', { id })).json, [...RECORD_FIELDS, 'credits_charged'], IMPORTED_PERSON),
          ).toEqual([]);
          const whole = await ask(service, `/v1/companies/${domain}`);
          expect(whole).toEqual(record['company']);
          expect(
            list(whole['signals']).flatMap((each) =>
              missingOfSignal(
                each,
                Object.keys(SIGNAL).filter((name) => name !== 'company'),
              ),
            ),
          ).toEqual([]);
          const found = list((await ask(service, `/v1/contacts/search?domain=${domain}`))['data']);
          expect(found).toHaveLength(1);
          expect(missing(found[0], ROW_FIELDS, IMPORTED_PERSON)).toEqual([]);
        }
        expect(
          list((await ask(service, `/v1/signals?domain=${domains.join(',')}`))['data']).flatMap((each) =>
            missingOfSignal(each, Object.keys(SIGNAL)),
          ),
        ).toEqual([]);
        await service.close();
      }),
      { numRuns: 5 },
    );
  });
});
