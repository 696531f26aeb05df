/** National numbers of a row, in the country of the row. Pure. */
import { countryCode } from '../../records/countries.ts';
import { phoneOf } from '../../records/field-types.ts';
import { isObject } from '../../../util/is-object.ts';
import { textOrNull } from '../../http/values.ts';
import type { Target } from './column-names.ts';
import { addItem, NATIONAL, splitJoined, type NationalNumber } from './list-items.ts';

/** Where a row says its country, the person's own first. */
const COUNTRIES: readonly (readonly [part: string, place: Target])[] = [
  ['location', 'location'],
  ['company.hq', 'hq'],
];
const PLAIN = /^\+\d{7,15}$/;

/**
 * Splits joined addresses and numbers, and gives national numbers the country of the row: that of the person, else of the head office.
 * @param values is changed in place
 */
export function readNumbers(values: Record<Target, unknown>): void {
  const { mobile, phones } = values;
  const waiting = values[NATIONAL] as readonly NationalNumber[] | undefined;
  const isPlain = (mobile === undefined || (typeof mobile === 'string' && PLAIN.test(mobile))) && waiting === undefined;
  const country = isPlain && !(Array.isArray(phones) && phones.some((phone) => nationalIn(phone) !== null)) ? null : countryOf(values);
  splitJoined(values, country);
  if (country !== null && values['mobile'] !== undefined) values['mobile'] = phoneOf(values['mobile'], country) ?? values['mobile'];
  if (country !== null && Array.isArray(phones))
    values['phones'] = (phones as readonly unknown[]).map((phone) => inCountry(phone, country));
  if (waiting === undefined) return;
  values[NATIONAL] = undefined;
  for (const { target, item, value } of waiting) addItem(values, target, item, value, country);
}

/** The text of a number without a plus; null for another. */
function nationalIn(phone: unknown): string | null {
  const text = textOrNull(isObject(phone) ? phone['number'] : phone);
  return text === null || text.startsWith('+') ? null : text;
}

/** An item of a list with its number in E.164, where that is known; else the same item. */
function inCountry(phone: unknown, country: string): unknown {
  const text = nationalIn(phone);
  const number = text === null ? undefined : phoneOf(text, country);
  if (number === undefined) return phone;
  return isObject(phone) ? { ...phone, number } : number;
}

/** The code of the country that a row names; null without one. */
function countryOf(values: Readonly<Record<Target, unknown>>): string | null {
  const company = isObject(values['company']) ? values['company'] : {};
  for (const [part, place] of COUNTRIES) {
    const nested = part === 'location' ? values[place] : company[place];
    const where = isObject(nested) ? nested : {};
    for (const name of ['country_code', 'country']) {
      const code = countryCode(textOrNull(values[`${part}.${name}`] ?? where[name]) ?? '');
      if (code !== null) return code;
    }
  }
  return null;
}
