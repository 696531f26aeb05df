/** Cleans records: keeps the declared fields with a value of their type, also within objects and lists. Pure. */
import { withoutContacts } from './contact-details.ts';
import { cleanValue, MAX_ITEMS, splitList, type FieldType } from './field-types.ts';
import { namesOtherCurrency } from './money.ts';
import { memberNames, type MemberName } from '../http/member-names.ts';
import { fieldOf, type Field, type Members } from './field.ts';
import type { SparseRecord } from './whole-record.ts';
import { isObject } from '../../util/is-object.ts';
import { isBlank } from './empty-words.ts';

/** The time of a report is stored beside its record, not in it. */
const MOMENT = 'updated_at';
/** Dropped paths that are counted in one record. */
const MAX_COUNTED = 100;
/** Characters of an undeclared name in a path. */
const MAX_NAME = 60;
/** Characters of an open name, such as a department. */
const MAX_OPEN_NAME = 200;

/** A declared field, compiled once. */
interface Column {
  /** For example `hiring.by_department`. */
  readonly path: string;
  readonly type: FieldType;
  /** The fields of its object, or of each object in its list; null for other values. */
  readonly plan: Plan | null;
  /** The type of each value of an object with open names; null for other values. */
  readonly each: FieldType | null;
  readonly textAs: Field['textAs'];
  readonly isUsd: true | undefined;
}

/** The declared fields of an object. */
interface Plan {
  readonly names: readonly string[];
  /** In the order of `names`. */
  readonly columns: readonly Column[];
  readonly areNamed: MemberName<boolean>;
}

/** By declaration: the field of each member name. Null: undeclared. */
const columnsByFields = new WeakMap<Members, MemberName<Column | null>>();

function columnsOf(fields: Members): MemberName<Column | null> {
  let columns = columnsByFields.get(fields);
  if (columns === undefined) {
    const plan = planOf(fields, '');
    columns = memberNames<Column | null>(null, (name) => plan.columns[plan.names.indexOf(name)] ?? null);
    columnsByFields.set(fields, columns);
  }
  return columns;
}

function planOf(fields: Members, within: string): Plan {
  const names = Object.keys(fields);
  const columns = names.map((name) => columnOf(fieldOf(fields[name] as Field), within + name));
  return { names, columns, areNamed: memberNames(false, (name) => names.includes(name)) };
}

function columnOf({ type, fields, each, textAs, isUsd }: Field, path: string): Column {
  return { path, type, plan: fields === undefined ? null : planOf(fields, `${path}.`), each: each ?? null, textAs, isUsd };
}

/**
 * Returns the declared fields of `raw` with a good value, normalised; the others are undefined.
 * `dropped` has the path of each rejected value: a bad one, an undeclared one (`education.note`), or a text with an address or number in a
 * field that free answers show.
 */
export function cleanRecord(raw: SparseRecord, fields: Members): { record: Record<string, unknown>; dropped: string[] } {
  const record = { ...raw };
  return { record, dropped: cleanInPlace(record, fields) };
}

/** Cleans a record in place, because V8 is fast with objects as `JSON.parse` made them. Returns `dropped`. */
export function cleanInPlace(record: Record<string, unknown>, fields: Members): string[] {
  const dropped: string[] = [];
  let at = columnsOf(fields);
  for (const name in record) {
    at = at.to(name);
    const value = record[name];
    const cleaned = at.means === null || isBlank(value) ? undefined : cleanCounted(at.means, value, dropped);
    if (at.means === null && !isBlankValue(value)) note(dropped, nameIn('', name));
    if (name === MOMENT) record[name] = undefined;
    else if (cleaned !== value) record[name] = cleaned;
  }
  return dropped;
}

/** Cleans a value. If it is lost completely, its path is counted, unless paths within it are. */
function cleanCounted(column: Column, value: unknown, dropped: string[]): unknown {
  const before = dropped.length;
  const cleaned = clean(column, value, dropped);
  if (cleaned === undefined && dropped.length === before && !isBlankValue(value)) note(dropped, column.path);
  return cleaned;
}

/** @param dropped null: paths are not counted */
function clean(column: Column, given: unknown, dropped: string[] | null): unknown {
  const { type, plan, each } = column;
  if (column.isUsd === true && typeof given === 'string' && namesOtherCurrency(given)) return undefined;
  if (each !== null) return isObject(given) ? openNames(column, each, given, dropped) : undefined;
  if (plan === null || (type === 'text_or_object' && typeof given === 'string')) return freeText(column, cleanValue(type, given), dropped);
  if (type === 'objects') return cleanList(column, plan, given, dropped);
  return isObject(given) ? completeObject(column.path, plan, given, dropped) : undefined;
}

/** A text without paid contact data. Most texts have none and are returned unchanged. */
function freeText({ type, path }: Column, value: unknown, dropped: string[] | null): unknown {
  if (type === 'strings' && value !== undefined) {
    const texts = value as readonly string[];
    const left = texts.map(withoutContacts);
    if (left.every((text, at) => text === texts[at])) return value;
    note(dropped, path);
    const items = left.filter((text) => text !== '');
    return items.length === 0 ? undefined : items;
  }
  if (typeof value !== 'string' || (type !== 'string' && type !== 'word' && type !== 'text_or_object')) return value;
  const left = withoutContacts(value);
  if (left === value) return value;
  note(dropped, path);
  return left === '' ? undefined : left;
}

/** A list of objects, which may also be one text or a list of texts. */
function cleanList(column: Column, plan: Plan, given: unknown, dropped: string[] | null): unknown {
  const list = typeof given === 'string' && column.textAs !== undefined ? splitList(given) : given;
  if (!Array.isArray(list) || list.length > MAX_ITEMS) return undefined;
  const items: unknown[] = [];
  for (const one of list as readonly unknown[]) {
    const object = typeof one === 'string' ? objectOfText(column, one) : one;
    const item = isObject(object) ? completeObject(column.path, plan, object, dropped) : undefined;
    if (item !== undefined) items.push(item);
    else if (!isObject(object) && !isBlankValue(one)) note(dropped, column.path);
  }
  return items.length === 0 ? undefined : items;
}

function objectOfText({ textAs }: Column, text: string): SparseRecord | undefined {
  const value = textAs === undefined ? undefined : cleanValue(textAs.type, text);
  return textAs === undefined || value === undefined ? undefined : { [textAs.field]: value };
}

/** An object with every declared field, null for an unknown one; undefined if all are unknown. */
function completeObject(path: string, plan: Plan, raw: SparseRecord, dropped: string[] | null): SparseRecord | undefined {
  const whole = isComplete(plan, raw) ? raw : withAll(path, plan, raw, dropped);
  return isBlankValue(whole) ? undefined : whole;
}

/** Whether an object already has exactly the declared fields, in order, each normalised. */
function isComplete({ names, columns }: Plan, raw: SparseRecord): boolean {
  let count = 0;
  for (const name in raw) {
    const value = raw[name];
    if (name !== names[count] || value === undefined || (value !== null && clean(columns[count] as Column, value, null) !== value))
      return false;
    count++;
  }
  return count === names.length;
}

function withAll(path: string, { names, columns, areNamed }: Plan, raw: SparseRecord, dropped: string[] | null): SparseRecord {
  const whole: Record<string, unknown> = {};
  for (let at = 0; at < names.length; at++) {
    const [name, column] = [names[at] as string, columns[at] as Column];
    const value = raw[name] ?? null;
    whole[name] = (value === null ? null : dropped === null ? clean(column, value, null) : cleanCounted(column, value, dropped)) ?? null;
  }
  if (dropped === null) return whole;
  let at = areNamed;
  for (const name in raw) {
    at = at.to(name);
    if (!at.means && !isBlankValue(raw[name])) note(dropped, nameIn(path, name));
  }
  return whole;
}

/** An object with open names, such as departments. A name is free text and may hold contact data. */
function openNames({ path }: Column, each: FieldType, raw: SparseRecord, dropped: string[] | null): SparseRecord | undefined {
  const cleaned: Record<string, unknown> = {};
  let isSame = true;
  for (const name in raw) {
    const value = raw[name];
    const good = value === null ? null : cleanValue(each, value);
    if (good === undefined || !isOpenName(name)) {
      isSame = false;
      if (!isBlankValue(value)) note(dropped, `${path}.*`);
      continue;
    }
    cleaned[name] = good;
    isSame &&= good === value;
  }
  return isBlankValue(cleaned) ? undefined : isSame ? raw : cleaned;
}

function isOpenName(name: string): boolean {
  return name !== '__proto__' && name.length <= MAX_OPEN_NAME && withoutContacts(name) === name;
}

function nameIn(path: string, name: string): string {
  const short = withoutContacts(name.slice(0, MAX_NAME)) || '*';
  return path === '' ? short : `${path}.${short}`;
}

function note(dropped: string[] | null, path: string): void {
  if (dropped !== null && dropped.length < MAX_COUNTED && !dropped.includes(path)) dropped.push(path);
}

/** Whether a value holds nothing at any depth; deeper nesting than records have counts as content. */
function isBlankValue(value: unknown, levels = 3): boolean {
  if (isBlank(value)) return true;
  if (typeof value !== 'object' || levels === 0) return false;
  for (const name in value) if (!isBlankValue((value as SparseRecord)[name], levels - 1)) return false;
  return true;
}
