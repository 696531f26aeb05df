/** Records as they are kept: of each field what its type allows, within objects and lists of them, too. Pure. */
import { cleanValue, splitList, type FieldType } from './field-types.ts';
import { memberNames, type MemberName } from './member-names.ts';
import { BY_TYPE, PARTS, TEXT_AS, TEXT_OR_PART, type Part } from './part-types.ts';
import type { SparseRecord } from './records.ts';
import { isEmpty, isObject } from './values.ts';

/** Of when a record is stands beside it, and not in it. */
const MOMENT = 'updated_at';
/** In a `Part`, every name that is not there. */
const ANY = '*';

interface Field {
  readonly name: string;
  readonly type: FieldType;
  readonly part: Plan | null;
}

/** A `Part`, looked through once for all objects. */
interface Plan {
  readonly names: readonly string[];
  /** Of those names. */
  readonly types: readonly MemberType[];
  /** Of what is not named; undefined: it is kept as it came. */
  readonly any: MemberType | undefined;
  readonly areNamed: MemberName<boolean>;
}

type MemberType = FieldType | 'any' | Plan;

type Types = Readonly<Record<string, FieldType>>;

/** What the names of a record's members mean, by its types. Null: nothing. */
const fieldsByTypes = new WeakMap<Types, MemberName<Field | null>>();

function fieldsOf(types: Types): MemberName<Field | null> {
  let fields = fieldsByTypes.get(types);
  if (fields === undefined) {
    fields = memberNames<Field | null>(null, (name) => (Object.hasOwn(types, name) ? { name, type: types[name] as FieldType, part: Object.hasOwn(PARTS, name) ? planOf(PARTS[name] as Part) : null } : null));
    fieldsByTypes.set(types, fields);
  }
  return fields;
}

/** The fields of `raw` that have a good value, as it is kept, and any other undefined; `dropped` names those whose value is none. */
export function cleanRecord(raw: SparseRecord, types: Types): { record: Record<string, unknown>; dropped: string[] } {
  const record = { ...raw };
  return { record, dropped: cleanOwn(record, types) };
}

/** The same of a record that may be changed; returns the fields whose value is none. Most values are good as they come, and an object that stays as it was read is one that V8 is fast with. */
export function cleanOwn(record: Record<string, unknown>, types: Types): string[] {
  const dropped: string[] = [];
  let at = fieldsOf(types);
  for (const name in record) {
    at = at.to(name);
    const value = record[name];
    const kept = at.means === null || isEmpty(value) ? undefined : cleanField(at.means, value);
    if (kept === undefined && at.means !== null && !saysNothing(value)) dropped.push(name);
    if (name === MOMENT) record[name] = undefined;
    else if (kept !== value) record[name] = kept;
  }
  return dropped;
}

/** What is within an object, or within each of a list, as `PARTS` has it, with null for what is not known; undefined when nothing is. */
function cleanField({ name, type, part }: Field, given: unknown): unknown {
  const value = cleanValue(type, type === 'objects' && typeof given === 'string' ? itemsOf(name, given) : given);
  if (part === null || typeof value !== 'object') return value;
  if (BY_TYPE.includes(name)) return isObject(value) ? cleanPart(value, part) : undefined;
  if (!Array.isArray(value)) return wholePart(value as SparseRecord, part);
  const items = (value as readonly unknown[]).map((item) => (isObject(item) ? wholePart(item, part) : typeof item === 'string' ? textItem(name, item, part) : undefined)).filter((item) => item !== undefined);
  return items.length === 0 ? undefined : items;
}

/** Of a list that came as one text. */
function itemsOf(name: string, text: string): SparseRecord[] | undefined {
  if (!Object.hasOwn(TEXT_AS, name)) return undefined;
  const { part, read } = TEXT_AS[name] as (typeof TEXT_AS)[string];
  return splitList(text).flatMap((one) => read(one) ?? []).map((one) => ({ [part]: one }));
}

function textItem(name: string, text: string, plan: Plan): unknown {
  if (TEXT_OR_PART.includes(name)) return text;
  const [item] = itemsOf(name, text) ?? [];
  return item === undefined ? undefined : wholePart(item, plan);
}

/** With every part that has a name; undefined when nothing is known of any. */
function wholePart(raw: SparseRecord, plan: Plan): SparseRecord | undefined {
  const whole = isWhole(raw, plan) ? raw : withNames(raw, plan, cleanMember);
  return saysNothing(whole) ? undefined : whole;
}

const plans = new WeakMap<Part, Plan>();

function planOf(part: Part): Plan {
  let plan = plans.get(part);
  if (plan === undefined) {
    const names = Object.keys(part).filter((name) => name !== ANY);
    const types = names.map((name) => typeOf(part[name] as Part[string]));
    plan = { names, types, any: part[ANY] === undefined ? undefined : typeOf(part[ANY]), areNamed: memberNames(false, (name) => names.includes(name)) };
    plans.set(part, plan);
  }
  return plan;
}

function typeOf(type: Part[string]): MemberType {
  return typeof type === 'string' ? type : planOf(type);
}

/** Whether an object has all parts that have a name, in their order and before any other, and each as it is kept. */
function isWhole(raw: SparseRecord, { names, types, any, areNamed }: Plan): boolean {
  let count = 0;
  let at = areNamed;
  for (const name in raw) {
    const value = raw[name];
    if (count < names.length) {
      if (name !== names[count] || value === undefined || cleanMember(types[count], value) !== value) return false;
    } else {
      at = at.to(name);
      if (at.means || value === undefined || cleanMember(any, value) !== value) return false;
    }
    count++;
  }
  return count >= names.length;
}

/** An object with null for each named part that it lacks, and those in their order. */
export function withParts(value: SparseRecord, part: Part): SparseRecord {
  return withNames(value, planOf(part), (_, member) => member);
}

/** @param clean what becomes of a member; undefined: it is left out */
function withNames(value: SparseRecord, { names, types, any, areNamed }: Plan, clean: typeof cleanMember): SparseRecord {
  const whole: Record<string, unknown> = {};
  for (let at = 0; at < names.length; at++) {
    const name = names[at] as string;
    whole[name] = clean(types[at], value[name] ?? null) ?? null;
  }
  let at = areNamed;
  for (const name in value) {
    at = at.to(name);
    if (!at.means) put(whole, name, clean(any, value[name]));
  }
  return whole;
}

function cleanPart(raw: SparseRecord, { names, types, any }: Plan): SparseRecord {
  const kept: Record<string, unknown> = {};
  for (const name in raw) put(kept, name, cleanMember(names.includes(name) ? types[names.indexOf(name)] : any, raw[name]));
  return kept;
}

function put(kept: Record<string, unknown>, name: string, value: unknown): void {
  if (value === undefined) return;
  if (name === '__proto__') Object.defineProperty(kept, name, { value, enumerable: true, configurable: true, writable: true });
  else kept[name] = value;
}

/** @param type undefined: it is kept as it came */
function cleanMember(type: MemberType | undefined, value: unknown): unknown {
  if (type === undefined || type === 'any' || value === null) return value;
  if (typeof type === 'string') return cleanValue(type, value);
  return isObject(value) ? wholePart(value, type) : undefined;
}

/** Whether there is nothing in a value, nor within it; what is nested deeper than parts are is something. */
export function saysNothing(value: unknown, levels = 3): boolean {
  if (isEmpty(value)) return true;
  if (typeof value !== 'object' || levels === 0) return false;
  for (const name in value) if (!saysNothing((value as SparseRecord)[name], levels - 1)) return false;
  return true;
}
