/** Dates such as `03/04/2025`, which are two days: the other values of their column decide. Pure. */
import { isObject } from '../../util/is-object.ts';
import { NO_VALUE } from '../http/values.ts';
import { fieldOf, type Members } from './field.ts';
import { readWrittenDate, type DateOrder } from './written-date.ts';

/**
 * The order of day and month in each column of a file. A column is the path of a field, such as `employment_history.started_on`.
 * It knows nothing until every row of the file was read into it, since the value that decides may be in the last row.
 */
export class DateOrders {
  readonly #seen = new Map<string, Set<DateOrder>>();
  /** `asked`: a row needs an order. `reading`: rows are read for their orders alone. `known`: all rows were read. */
  state: 'unasked' | 'asked' | 'reading' | 'known';

  /** @param isKnown without a file to read, no order is ever known */
  constructor(isKnown = false) {
    this.state = isKnown ? 'known' : 'unasked';
  }

  note(path: string, order: DateOrder): void {
    const seen = this.#seen.get(path);
    if (seen === undefined) this.#seen.set(path, new Set([order]));
    else seen.add(order);
  }

  /** Null when no value of the column tells, or when its values contradict each other. */
  orderOf(path: string): DateOrder | null {
    const seen = this.#seen.get(path);
    return seen?.size === 1 ? ([...seen][0] ?? null) : null;
  }
}

/** The fields of an object that are dates, or have dates within. */
type DatePlan = readonly DateField[];

interface DateField {
  readonly name: string;
  readonly path: string;
  readonly within: DatePlan | null;
}

const DATES: readonly string[] = ['date', 'time', 'partial_date'];
const HYPHEN = 0x2d;

/** The dates of a record. @param within the path of the record, with a dot */
export function datePlan(members: Members, within = ''): DatePlan {
  return Object.keys(members).flatMap((name): DatePlan => {
    const { type, fields } = fieldOf(members[name] as Members[string]);
    const path = within + name;
    if (DATES.includes(type)) return [{ name, path, within: null }];
    const inner = fields === undefined ? [] : datePlan(fields, `${path}.`);
    return inner.length === 0 ? [] : [{ name, path, within: inner }];
  });
}

/**
 * Puts the day that the column says in place of each text that is two days. Without an order of its column, such a text becomes
 * `NO_VALUE`, so that it is left out and counted.
 * @param record is changed in place; what is within it is copied where it changes, because records may share it
 */
export function readDates(record: Record<string, unknown>, plan: DatePlan, orders: DateOrders): void {
  for (const field of plan) {
    const value = record[field.name];
    if (value === undefined || value === null) continue;
    const read = readWithin(value, field, orders);
    if (read !== value) record[field.name] = read;
  }
}

/** The value of a field with its dates read: the same value when none changes. */
function readWithin(value: unknown, field: DateField, orders: DateOrders): unknown {
  const { within, path } = field;
  // Nearly all dates are ISO 8601.
  if (within === null) return typeof value === 'string' && value.charCodeAt(4) !== HYPHEN ? readDate(value, path, orders) : value;
  if (Array.isArray(value)) {
    let items: unknown[] | null = null;
    for (const [at, item] of (value as readonly unknown[]).entries()) {
      const read = isObject(item) ? readWithin(item, field, orders) : item;
      if (read !== item) (items ??= [...(value as readonly unknown[])])[at] = read;
    }
    return items ?? value;
  }
  if (!isObject(value)) return value;
  let copy: Record<string, unknown> | null = null;
  for (const part of within) {
    const before = value[part.name];
    if (before === undefined || before === null) continue;
    const read = readWithin(before, part, orders);
    if (read !== before) (copy ??= { ...value })[part.name] = read;
  }
  return copy ?? value;
}

function readDate(text: string, path: string, orders: DateOrders): unknown {
  const written = readWrittenDate(text);
  if (written === null) return text;
  if (written.kind === 'one') {
    if (orders.state === 'reading' && written.order !== null) orders.note(path, written.order);
    return text;
  }
  if (orders.state === 'unasked') orders.state = 'asked';
  const order = orders.orderOf(path);
  return order === null ? NO_VALUE : written[order];
}
