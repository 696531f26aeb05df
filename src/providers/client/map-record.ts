/** The record of an answer, in our terms: mapped by the definition, and checked against the types of its fields. */
import { COMPANY_FIELDS, type FieldTable, type FieldType } from '../../client/answer-fields.ts';
import type { OwnColumns } from '../../steps/own-step.ts';
import { specOf } from '../../steps/registry.ts';
import { hasValue } from '../../util/has-value.ts';
import { isObject } from '../../util/is-object.ts';
import { isPlaceholder } from '../../util/placeholder.ts';
import type { OperationName, ProviderOperation } from '../compiled-provider.ts';
import type { AnswerInput } from './judge.ts';
import { evaluate, inWords, NotTaken, Refusal } from './refusal.ts';

const IN_WORDS: Readonly<Record<FieldType, string>> = {
  text: 'text',
  number: 'a number',
  decimal: 'a number',
  percent: 'a number from 0 to 100',
  boolean: 'true or false',
  texts: 'a list of text',
  company: 'an object',
  any: 'a value',
};

export type MappedRecord = Readonly<Record<string, unknown>>;

/**
 * The record; null when no field of it has a value. Fields without one are left out.
 * @param input as of the rules: `{status, headers, body}`
 * @throws Refusal `bad_shape` naming the field, what was expected and what came; `bad_mapping`
 */
export async function mapRecord({ name, record, absent, own }: ProviderOperation, input: unknown): Promise<MappedRecord | null> {
  const mapped = await evaluate(record, input);
  if (mapped === undefined || mapped === null) return null;
  if (!isObject(mapped)) throw new Refusal('bad_shape', `${record.key}: expected an object, got ${inWords(mapped)}`);
  const checked = checkFields(record.key, fieldsOf(name, mapped), own === undefined ? specOf(name).fields : typesOf(own), absent);
  return hasValue(checked) ? checked : null;
}

/**
 * The record of a success of which no rule is true; null for a miss. With a rule for matches, or with one for misses and no record, the
 * answer has a shape that the definition does not know. As a match or a miss nobody would notice it.
 * @throws NotTaken; Refusal as `mapRecord`
 */
export async function undecidedRecord(operation: ProviderOperation, input: AnswerInput): Promise<MappedRecord | null> {
  const { name, answers } = operation;
  const record = answers.match === null ? await mapRecord(operation, input) : null;
  if (record === null && (answers.match !== null || answers.miss !== null))
    throw new NotTaken(`operations.${name}.answers: this ${input.status} is neither a match nor a miss`);
  return record;
}

const tables = new WeakMap<OwnColumns, FieldTable>();

function typesOf(own: OwnColumns): FieldTable {
  let table = tables.get(own);
  if (table === undefined) tables.set(own, (table = new Map(Object.entries(own.columns))));
  return table;
}

/** A company may be mapped as a person's is, under `company`. */
function fieldsOf(name: OperationName, mapped: MappedRecord): MappedRecord {
  const { company, ...others } = mapped;
  return name === 'company' && isObject(company) ? { ...company, ...others } : mapped;
}

/** @param absent texts that stand for no value */
function checkFields(key: string, fields: MappedRecord, types: FieldTable, absent: readonly string[] = []): MappedRecord {
  const checked: [string, unknown][] = [];
  for (const name in fields) {
    const value = fields[name];
    if (value === null || value === undefined || value === '') continue;
    const type = types.get(name) ?? 'any';
    // A place of which nothing is known, such as a location.
    if (type === 'any' && isObject(value) && !hasValue(value)) continue;
    const kept = checkValue(`${key}.${name}`, withoutPlaceholders(value, absent), type, absent);
    if (kept !== null) checked.push([name, kept]);
  }
  return Object.fromEntries(checked);
}

/** Null for a text that stands for no value; a list without such texts. */
function withoutPlaceholders(value: unknown, absent: readonly string[]): unknown {
  const isNone = (one: unknown): boolean => typeof one === 'string' && isPlaceholder(one, absent);
  if (!Array.isArray(value)) return isNone(value) ? null : value;
  return value.some(isNone) ? value.filter((one) => !isNone(one)) : value;
}

/** Null for an object that says nothing. */
function checkValue(field: string, value: unknown, expected: FieldType, absent: readonly string[]): unknown {
  if (value === null) return null;
  switch (expected) {
    case 'any':
      return value;
    case 'text':
      if (typeof value === 'string') return value;
      break;
    case 'number':
    case 'decimal':
      if (typeof value === 'number') return value;
      break;
    case 'percent':
      if (typeof value === 'number' && value >= 0 && value <= 100) return value;
      break;
    case 'boolean':
      if (typeof value === 'boolean') return value;
      break;
    case 'texts':
      // JSONata makes the only entry of a list that it finds the value itself.
      if (typeof value === 'string') return [value];
      if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value;
      break;
    case 'company': {
      if (!isObject(value)) break;
      const company = checkFields(field, value, COMPANY_FIELDS, absent);
      return hasValue(company) ? company : null;
    }
    default:
      expected satisfies never;
  }
  const showText = expected === 'number' || expected === 'decimal' || expected === 'percent' || expected === 'boolean';
  throw new Refusal('bad_shape', `${field}: expected ${IN_WORDS[expected]}, got ${inWords(value, { showText })}`);
}
