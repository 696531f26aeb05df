/** Records as they are kept: the declared fields and nothing else, each with what its type allows, within objects and lists of them, too. Pure. */
import { withoutContacts } from './contact-details.ts';
import { cleanValue, MAX_ITEMS, splitList, type FieldType } from './field-types.ts';
import { memberNames, type MemberName } from './member-names.ts';
import { fieldOf, type Field, type Members } from './records/field.ts';
import type { SparseRecord } from './records.ts';
import { isEmpty, isObject } from './values.ts';

/** Of when a record is stands beside it, and not in it. */
const MOMENT = 'updated_at';
/** Paths that are counted of one record. */
const MAX_COUNTED = 100;
/** Characters of a name that nobody declared, in a path. */
const MAX_NAME = 60;
/** Characters of an open name, such as that of a department. */
const MAX_OPEN_NAME = 200;

/** A declared field, looked through once for all records. */
interface Column {
  /** `hiring.by_department` */
  readonly path: string;
  readonly type: FieldType;
  /** The fields of its object, or of each object of its list; null: it has none. */
  readonly plan: Plan | null;
  /** The type of each value of an object with open names; null: it has none. */
  readonly each: FieldType | null;
  readonly textAs: Field['textAs'];
}

/** The declared fields of an object. */
interface Plan {
  readonly names: readonly string[];
  /** Of those names. */
  readonly columns: readonly Column[];
  readonly areNamed: MemberName<boolean>;
}

/** What the names of a record's members mean, by its fields. Null: nothing. */
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

function columnOf({ type, fields, each, textAs }: Field, path: string): Column {
  return { path, type, plan: fields === undefined ? null : planOf(fields, `${path}.`), each: each ?? null, textAs };
}

/**
 * The fields of `raw` that have a good value, as it is kept; any other is undefined. `dropped` has the path of each value that is not kept: one that is none of
 * its field, has an address or a number in a text that free answers show, or stands where no field is declared (`education.note`).
 */
export function cleanRecord(raw: SparseRecord, fields: Members): { record: Record<string, unknown>; dropped: string[] } {
  const record = { ...raw };
  return { record, dropped: cleanOwn(record, fields) };
}

/** The same of a record that may be changed; returns `dropped`. An object that stays as it was read is one that V8 is fast with. */
export function cleanOwn(record: Record<string, unknown>, fields: Members): string[] {
  const dropped: string[] = [];
  let at = columnsOf(fields);
  for (const name in record) {
    at = at.to(name);
    const value = record[name];
    const kept = at.means === null || isEmpty(value) ? undefined : cleanWhole(at.means, value, dropped);
    if (at.means === null && !saysNothing(value)) note(dropped, nameIn('', name));
    if (name === MOMENT) record[name] = undefined;
    else if (kept !== value) record[name] = kept;
  }
  return dropped;
}

/** A value of a field. Of one that is lost as a whole the path is counted, unless those of its parts are. */
function cleanWhole(column: Column, value: unknown, dropped: string[]): unknown {
  const before = dropped.length;
  const kept = clean(column, value, dropped);
  if (kept === undefined && dropped.length === before && !saysNothing(value)) note(dropped, column.path);
  return kept;
}

/** @param dropped null: nothing is counted */
function clean(column: Column, given: unknown, dropped: string[] | null): unknown {
  const { type, plan, each } = column;
  if (each !== null) return isObject(given) ? openNames(column, each, given, dropped) : undefined;
  if (plan === null || (type === 'text_or_object' && typeof given === 'string')) return freeText(column, cleanValue(type, given), dropped);
  if (type === 'objects') return cleanList(column, plan, given, dropped);
  return isObject(given) ? wholePart(column.path, plan, given, dropped) : undefined;
}

/** A text without the addresses and numbers that are paid for. Most have none, and are returned as they came. */
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

/** A list of objects, which may come as one text, or as texts. */
function cleanList(column: Column, plan: Plan, given: unknown, dropped: string[] | null): unknown {
  const list = typeof given === 'string' && column.textAs !== undefined ? splitList(given) : given;
  if (!Array.isArray(list) || list.length > MAX_ITEMS) return undefined;
  const items: unknown[] = [];
  for (const one of list as readonly unknown[]) {
    const object = typeof one === 'string' ? objectOfText(column, one) : one;
    const item = isObject(object) ? wholePart(column.path, plan, object, dropped) : undefined;
    if (item !== undefined) items.push(item);
    else if (!isObject(object) && !saysNothing(one)) note(dropped, column.path);
  }
  return items.length === 0 ? undefined : items;
}

function objectOfText({ textAs }: Column, text: string): SparseRecord | undefined {
  const value = textAs === undefined ? undefined : cleanValue(textAs.type, text);
  return textAs === undefined || value === undefined ? undefined : { [textAs.field]: value };
}

/** With every field that is declared, null where nothing is known; undefined when nothing is known of any. */
function wholePart(path: string, plan: Plan, raw: SparseRecord, dropped: string[] | null): SparseRecord | undefined {
  const whole = isWhole(plan, raw) ? raw : withAll(path, plan, raw, dropped);
  return saysNothing(whole) ? undefined : whole;
}

/** Whether an object has the declared fields, in their order and no other, and each as it is kept. */
function isWhole({ names, columns }: Plan, raw: SparseRecord): boolean {
  let count = 0;
  for (const name in raw) {
    const value = raw[name];
    if (name !== names[count] || value === undefined || (value !== null && clean(columns[count] as Column, value, null) !== value)) return false;
    count++;
  }
  return count === names.length;
}

function withAll(path: string, { names, columns, areNamed }: Plan, raw: SparseRecord, dropped: string[] | null): SparseRecord {
  const whole: Record<string, unknown> = {};
  for (let at = 0; at < names.length; at++) {
    const [name, column] = [names[at] as string, columns[at] as Column];
    const value = raw[name] ?? null;
    whole[name] = (value === null ? null : dropped === null ? clean(column, value, null) : cleanWhole(column, value, dropped)) ?? null;
  }
  if (dropped === null) return whole;
  let at = areNamed;
  for (const name in raw) {
    at = at.to(name);
    if (!at.means && !saysNothing(raw[name])) note(dropped, nameIn(path, name));
  }
  return whole;
}

/** An object whose names are open, such as those of departments; a name is free text like any other. */
function openNames({ path }: Column, each: FieldType, raw: SparseRecord, dropped: string[] | null): SparseRecord | undefined {
  const kept: Record<string, unknown> = {};
  let isSame = true;
  for (const name in raw) {
    const value = raw[name];
    const good = value === null ? null : cleanValue(each, value);
    if (good === undefined || !isOpenName(name)) {
      isSame = false;
      if (!saysNothing(value)) note(dropped, `${path}.*`);
      continue;
    }
    kept[name] = good;
    isSame &&= good === value;
  }
  return saysNothing(kept) ? undefined : isSame ? raw : kept;
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

/** Whether there is nothing in a value, nor within it; what is nested deeper than objects of records are is something. */
export function saysNothing(value: unknown, levels = 3): boolean {
  if (isEmpty(value)) return true;
  if (typeof value !== 'object' || levels === 0) return false;
  for (const name in value) if (!saysNothing((value as SparseRecord)[name], levels - 1)) return false;
  return true;
}
