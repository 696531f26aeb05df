/** The kinds of search filters: which values a kind takes, and how these become a predicate. `filters.ts` is the table. */
import { normaliseDomain } from '../../verification/domain.ts';
import type { Schema } from '../http/body-schema.ts';
import { COUNTRY_WANTED, filterCountry } from '../records/countries.ts';
import {
  BadValue,
  CIRCLE,
  circleOf,
  CODE,
  codeOf,
  COUNTRY,
  DATE_VALUE,
  dateOf,
  DEPARTMENT_RANGE,
  FLAG,
  flagOf,
  RANGE_VALUE,
  rangeOf,
  TEXT,
} from '../records/filter-value.ts';
import { alike, words } from '../records/normalise.ts';
import { monthsBefore } from '../records/parse-date.ts';
import { SIGNAL_NAMES, signalType, SIGNAL_TYPES } from '../records/signal-types.ts';
import type { SlicedField } from '../store/index/bit-slices.ts';
import { all, any, not, range, term, type FilterSides, type Predicate } from './predicate.ts';

/** The facts on which the meaning of a filter depends. */
export interface FilterContext {
  /** Days since 1970. */
  readonly today: number;
}

export interface FilterKind {
  /** Schema of one value. */
  readonly takes: Schema;
  /** The filter removes the rows that match. */
  readonly exclude: boolean;
  /** Commas in a query separate its values. */
  readonly divided: boolean;
  /** Each value is one look-up by key, so the filter takes up to 1,000 of them. */
  readonly many?: true;
  /** The most values that this filter takes, where that is fewer than all filters together take. */
  readonly most?: number;
  /** It changes what another filter means, and takes one value. */
  readonly single?: true;
  /**
   * The predicate for the values; several of them must all match.
   * @param others the values of another filter, which may change the meaning of this one
   * @throws BadValue for the first invalid value
   */
  parse(
    values: readonly string[],
    context: FilterContext,
    others: (name: string) => readonly string[],
  ): FilterSides | readonly FilterSides[];
}

type Side = 'person' | 'company';
type ParseValue = (value: string, context: FilterContext) => Predicate;

/** Each word of `q` is a union of six posting lists, any other word is one look-up, and each circle is compared with every place. */
const [MAX_Q_WORDS, MAX_VALUE_WORDS, MAX_CIRCLES] = [10, 20, 10];
const TITLE_MATCHES = ['all', 'any', 'exact'] as const;

/** A row matches when it matches one of the values. */
function anyValue(side: Side, parse: ParseValue, more: Partial<FilterKind> = {}): FilterKind {
  return {
    takes: TEXT,
    exclude: false,
    divided: true,
    parse: (values, context) => ({ [side]: any(values.map((value) => parse(value, context))) }),
    ...more,
  };
}

/** Turns a kind into one that removes the rows that match. */
export const excluding = (kind: FilterKind): FilterKind => ({ ...kind, exclude: true });

/** The field equals the value, without regard to case, accents, spaces and hyphens. */
export const exact = (side: Side, field: string): FilterKind => anyValue(side, (value) => term(`${field}=${alike(value)}`));

/** The field has all words of the value, in any order. */
export const text = (side: Side, field: string): FilterKind => anyValue(side, (value) => allWords(field, value));

/** The number is within the range. @param scale stored units in one unit of the filter */
export const between = (side: Side, field: SlicedField, scale = 1): FilterKind =>
  anyValue(
    side,
    (value) => {
      const { min, max } = rangeOf(value);
      return range(field, min === null ? null : min * scale, max === null ? null : max * scale);
    },
    { takes: RANGE_VALUE },
  );

/** The day is the given one or later. */
export const since = (side: Side, field: SlicedField): FilterKind =>
  anyValue(side, (value) => range(field, dateOf(value), null), { takes: DATE_VALUE });

/** As many whole months ago as the range says. */
export const months = (field: SlicedField): FilterKind =>
  anyValue(
    'person',
    (value, { today }) => {
      const { min, max } = rangeOf(value);
      // The third month lasts until the fourth is complete.
      return range(
        field,
        max === null ? null : monthsBefore(today, Math.floor(max) + 1) + 1,
        min === null ? null : monthsBefore(today, Math.ceil(min)),
      );
    },
    { takes: RANGE_VALUE },
  );

export const flag = (name: string): FilterKind =>
  anyValue('person', (value) => (flagOf(value) ? term(name) : not(term(name))), { takes: FLAG });

export const country = (side: Side, field: string): FilterKind =>
  anyValue(
    side,
    (value) => {
      const found = filterCountry(value);
      if (found === null) throw new BadValue('format', COUNTRY_WANTED);
      return term(`${field}=${found.toLowerCase()}`);
    },
    { takes: COUNTRY },
  );

/** A code of an industry, by its first digits. */
export const code = (field: string): FilterKind => anyValue('company', (value) => term(`${field}=${codeOf(value)}`), { takes: CODE });

export const profile: FilterKind = {
  takes: TEXT,
  exclude: false,
  divided: true,
  many: true,
  parse: (urls) => ({ person: { kind: 'profiles', urls } }),
};

/** A domain of the company, its own or an alias. */
export const domain: FilterKind = {
  takes: TEXT,
  exclude: false,
  divided: true,
  many: true,
  parse: (values) => ({ company: { kind: 'domains', domains: values.map(validDomain) } }),
};

export const parentDomain: FilterKind = anyValue('company', (value) => term(`parent_domain=${validDomain(value)}`));

export const departmentHeadcount: FilterKind = anyValue(
  'company',
  (value) => {
    const colon = value.lastIndexOf(':');
    if (colon < 1) throw new BadValue('format', 'is no department and range, such as engineering:10-50');
    const { min, max } = rangeOf(value.slice(colon + 1));
    return range('department_size', min, max, alike(value.slice(0, colon)));
  },
  { takes: DEPARTMENT_RANGE },
);

export const near: FilterKind = {
  takes: CIRCLE,
  exclude: false,
  divided: false,
  most: MAX_CIRCLES,
  parse: (values) => ({ person: { kind: 'circles', circles: values.map(circleOf) } }),
};

/** Each word, in any of the fields that a person would look into. */
export const anywhere: FilterKind = {
  takes: TEXT,
  exclude: false,
  divided: false,
  parse(values) {
    const found = values.flatMap((value) => wordList(value));
    if (found.length > MAX_Q_WORDS) throw new BadValue('too_many', `has more than ${MAX_Q_WORDS} words`);
    return found.map((word) => ({
      person: any(['name', 'title', 'employer', 'school'].map((field) => term(`${field}~${word}`)).concat(term(`skills=${word}`))),
      company: term(`company~${word}`),
    }));
  },
};

/** The name of the employer: of its record, or as the person's record has it. */
export const companyName: FilterKind = {
  takes: TEXT,
  exclude: false,
  divided: true,
  parse: (values) => ({
    person: any(values.map((value) => allWords('employer', value))),
    company: any(values.map((value) => allWords('company', value))),
  }),
};

/** The field has all of the values. */
export const allOf = (field: string): FilterKind => ({
  takes: TEXT,
  exclude: false,
  divided: true,
  parse: (values) => ({ company: all(values.map((value) => term(`${field}=${alike(value)}`))) }),
});

/** All words of a title, any of them, or the exact title, as `title_match` says. */
export const title: FilterKind = {
  takes: TEXT,
  exclude: false,
  divided: true,
  parse(values, _context, others) {
    const [given] = others('title_match');
    const match = given === undefined ? 'all' : titleMatchOf(given);
    const parse = (value: string): Predicate =>
      match === 'exact'
        ? term(`title=${alike(value)}`)
        : match === 'any'
          ? any(distinctWords(value).map((word) => term(`title~${word}`)))
          : allWords('title', value);
    return { person: any(values.map(parse)) };
  },
};

export const titleMatch: FilterKind = {
  takes: { type: 'string', enum: TITLE_MATCHES },
  exclude: false,
  divided: false,
  single: true,
  parse(values) {
    values.forEach(titleMatchOf);
    return {};
  },
};

export const hiringSince: FilterKind = anyValue(
  'company',
  (value) => any([range('hiring_posted', dateOf(value), null), range('signal_day', dateOf(value), null, 'hiring')]),
  { takes: DATE_VALUE },
);

export const signal: FilterKind = {
  takes: { type: 'string', enum: SIGNAL_NAMES },
  exclude: false,
  divided: true,
  parse: (values, _context, others) => ({ company: signalsSince(values.map(signalTypeOf), others('signal_since')) }),
};

/** Narrows `signal`; without that filter, signals of any type count. */
export const signalSince: FilterKind = {
  takes: DATE_VALUE,
  exclude: false,
  divided: false,
  single: true,
  parse(values, _context, others) {
    values.forEach(dateOf);
    return others('signal').length > 0 ? {} : { company: signalsSince(SIGNAL_TYPES, values) };
  },
};

function titleMatchOf(value: string): (typeof TITLE_MATCHES)[number] {
  const found = TITLE_MATCHES.find((match) => match === value);
  if (found === undefined) throw new BadValue('enum', `must be one of ${TITLE_MATCHES.join(', ')}`);
  return found;
}

function validDomain(value: string): string {
  const found = normaliseDomain(value);
  if (found === null) throw new BadValue('format', 'is no domain name, such as acme.example');
  return found;
}

function signalTypeOf(value: string): string {
  const type = signalType(value.toLowerCase());
  if (type !== null) return type;
  throw new BadValue('enum', `must be one of ${SIGNAL_NAMES.join(', ')}`);
}

function signalsSince(types: readonly string[], [from]: readonly string[]): Predicate {
  return any(types.map((type) => range('signal_day', from === undefined ? null : dateOf(from), null, type)));
}

/** @throws BadValue when the value has no word or too many */
function allWords(field: string, value: string): Predicate {
  return all(distinctWords(value).map((word) => term(`${field}~${word}`)));
}

function distinctWords(value: string): readonly string[] {
  const found = [...new Set(wordList(value))];
  if (found.length > MAX_VALUE_WORDS) throw new BadValue('too_many', `has a value of more than ${MAX_VALUE_WORDS} words`);
  return found;
}

function wordList(value: string): readonly string[] {
  const found = words(value);
  if (found.length === 0) throw new BadValue('format', 'has no word in it');
  return found;
}
