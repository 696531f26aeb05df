/** Records of whatever parts, good and bad, go in by import; what is answered of them is as the published document has it, with every field and part there. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { COMPANY_TYPES, PERSON_TYPES, type FieldType } from '../../src/service/field-types.ts';
import { ROW_FIELDS } from '../../src/service/operations/records/contact.ts';
import { PARTS, SIGNAL_DATA, TEXT_OR_PART, type Part } from '../../src/service/part-types.ts';
import { COMPANY_FIELDS, RECORD_FIELDS, type SparseRecord } from '../../src/service/records.ts';
import { SIGNAL_TYPES, type SignalType } from '../../src/service/signal-types.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import { isObject } from '../../src/service/values.ts';
import { KEY, makeStore, serveStore, type Served } from './harness.ts';
import { load } from './loading.ts';

const text = fc.oneof(fc.constantFrom('Series A', 'c_suite', 'self-hosted', 'Éire', '  ', ''), fc.string({ unit: 'grapheme', maxLength: 12 }));
const number = fc.oneof(fc.integer({ min: -5, max: 10_000_000 }), fc.double({ noNaN: true, min: -1_000, max: 1_000 }), fc.constantFrom('1,200', '$12M', 'many'));
const time = fc.constantFrom('2026-01-31', '2025-06-01T12:00:00Z', '2025-06-01 12:00', '03/04/2026', '2026-02-30');
const GOOD: Readonly<Record<FieldType | 'any', fc.Arbitrary<unknown>>> = {
  string: text, word: text, integer: number, number, boolean: fc.constantFrom(true, false, 'yes', 'no', 'perhaps'), date: time, time, email: fc.constantFrom('Ann@Acme.example', 'n/a', 'x@öl.example'),
  domain: fc.constantFrom('https://www.acme.example/x', 'x', 'öl.example'), phone: fc.constantFrom('+1 (212) 555-0100', '555'), strings: fc.oneof(fc.array(text, { maxLength: 3 }), fc.constant('a;b')), objects: fc.array(fc.anything(), { maxLength: 2 }), object: fc.dictionary(text, fc.jsonValue(), { maxKeys: 2 }), any: fc.jsonValue(),
};
/** Mostly such a value, and now and then anything. */
const mostly = (good: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> => fc.oneof({ arbitrary: good, weight: 9 }, { arbitrary: fc.jsonValue(), weight: 1 }, { arbitrary: fc.constant(null), weight: 1 });

function partOf(part: Part): fc.Arbitrary<unknown> {
  const { '*': any, ...named } = part;
  const valueOf = (type: FieldType | 'any' | Part): fc.Arbitrary<unknown> => mostly(typeof type === 'string' ? GOOD[type] : partOf(type));
  const fields = fc.record({ ...Object.fromEntries(Object.entries(named).map(([name, type]) => [name, valueOf(type)])), 'a note': fc.jsonValue() }, { requiredKeys: [] });
  return any === undefined ? fields : fc.dictionary(fc.constantFrom('engineering', 'DE', 'people ops'), valueOf(any), { maxKeys: 3 });
}

function fieldsOf(types: Readonly<Record<string, FieldType>>): Record<string, fc.Arbitrary<unknown>> {
  const valueOf = (field: string, type: FieldType): fc.Arbitrary<unknown> => {
    const part = PARTS[field];
    if (part === undefined) return GOOD[type];
    return type === 'objects' ? fc.array(TEXT_OR_PART.includes(field) ? fc.oneof(partOf(part), text) : partOf(part), { maxLength: 3 }) : partOf(part);
  };
  return Object.fromEntries(Object.entries(types).map(([field, type]) => [field, mostly(valueOf(field, type))]));
}

const some = (fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<SparseRecord> => fc.record(fields, { requiredKeys: [] });
const person = some(fieldsOf(PERSON_TYPES));
const company = some(fieldsOf(COMPANY_TYPES));
const signal = fc.constantFrom(...SIGNAL_TYPES).chain((type) => some({ subtype: mostly(text), detected_at: mostly(time), confidence: mostly(number), source_url: mostly(text), person: mostly(partOf(PARTS['person'] ?? {})), data: mostly(partOf(SIGNAL_DATA[type])) }).map((rest) => ({ ...rest, type })));

/** Names of what is missing of a record: fields, and named parts of what is nested in it. */
function missing(record: unknown, fields: readonly string[]): string[] {
  if (!isObject(record)) return ['all of it'];
  return fields.flatMap((field) => (!(field in record) ? [field] : lacking(record[field], PARTS[field] ?? {}, field)));
}

function lacking(value: unknown, part: Part, name: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item, at) => lacking(item, part, `${name}[${at}]`));
  if (!isObject(value)) return [];
  return Object.entries(part).flatMap(([field, type]) => (field === '*' ? [] : !(field in value) ? [`${name}.${field}`] : typeof type === 'object' ? lacking(value[field], type, `${name}.${field}`) : []));
}

function lackingOfSignal(record: SparseRecord): string[] {
  const { data, type, ...rest } = record;
  return [...missing(rest, ['person', 'company']), ...lacking(rest['company'], { hq: PARTS['hq'] ?? {} }, 'company'), ...lacking(data, SIGNAL_DATA[type as SignalType], 'data')];
}

async function ask(service: Served, path: string): Promise<SparseRecord> {
  const { status, json } = await service.request(path, { headers: { authorization: `Bearer ${KEY}` } });
  expect(status, path).toBe(200);
  return json;
}

const list = (value: unknown): readonly SparseRecord[] => value as SparseRecord[];

describe('records of whatever parts', () => {
  it('are answered whole, as the document has them, wherever they are asked for', async () => {
    await fc.assert(
      // The service holds each answer against the document by itself.
      fc.asyncProperty(fc.array(fc.tuple(person, company, signal), { minLength: 8, maxLength: 8 }), async (rows) => {
        const domains = rows.map((_, n) => `c${n}.example`);
        const store = await makeStore();
        const open = openStore(store);
        await load(open, rows.map(([, record], n) => ({ ...record, domain: domains[n] })), { kind: 'companies' });
        await load(open, rows.map(([record], n) => ({ ...record, id: `pe_w${n}`, email: `w${n}@c${n}.example`, 'company.domain': domains[n] })));
        const signals = await load(open, rows.map(([, , record], n) => ({ ...record, id: `sg_w${n}`, occurred_at: '2026-01-31', domain: domains[n] })), { kind: 'signals' });
        open.close();
        expect(signals.counts.added).toBe(rows.length);
        const service = await serveStore({ store });
        for (const [n, domain] of domains.entries()) {
          const id = `pe_w${n}`;
          const record = (await service.post('/v1/enrich', { id })).json;
          expect([...missing(record, RECORD_FIELDS), ...missing(record['company'], COMPANY_FIELDS)]).toEqual([]);
          expect((await service.post('/v1/enrich', { id, fields: RECORD_FIELDS })).json).toEqual(record);
          expect((await service.post('/v1/enrich/bulk', { requests: [{ params: { id } }] })).json['data']).toMatchObject([{ status: 200, record }]);
          expect(missing((await service.post('/v1/contacts/reveal', { id })).json, RECORD_FIELDS)).toEqual([]);
          const whole = await ask(service, `/v1/companies/${domain}`);
          expect(whole).toEqual(record['company']);
          expect(list(whole['signals']).flatMap((each) => lackingOfSignal({ ...each, company: {} }).filter((name) => !name.startsWith('company')))).toEqual([]);
          const found = list((await ask(service, `/v1/contacts/search?domain=${domain}`))['data']);
          expect(found).toHaveLength(1);
          expect(missing(found[0], ROW_FIELDS)).toEqual([]);
        }
        expect(list((await ask(service, `/v1/signals?domain=${domains.join(',')}`))['data']).flatMap(lackingOfSignal)).toEqual([]);
        await service.close();
      }),
      { numRuns: 5 },
    );
  });
});
