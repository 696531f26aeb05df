/** Countries by ISO 3166-1 alpha-2 code and by English name, from ICU. */
import { memoize } from './normalise.ts';

const ENGLISH = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });

/** A user-assigned code of ISO 3166-1: unknown. */
const UNKNOWN = 'ZZ';

/** Common other names. */
const ALSO: Readonly<Record<string, string>> = {
  usa: 'US',
  'united states of america': 'US',
  uk: 'GB',
  england: 'GB',
  'great britain': 'GB',
  korea: 'KR',
  russia: 'RU',
  turkey: 'TR',
  'czech republic': 'CZ',
  holland: 'NL',
  uae: 'AE',
  vietnam: 'VN',
};

let byName: Map<string, string> | null = null;
/** A cache, because Intl takes microseconds for each code. */
const codes = new Map<string, string | null>();
const names = new Map<string, string | null>();

/** The code of a country, from a code or English name; null if it is no country. */
export const countryCode: (text: string) => string | null = memoize((text) => {
  const given = text.trim();
  if (/^[a-z]{2}$/i.test(given)) return currentCode(given.toUpperCase());
  const name = given.toLowerCase();
  if (Object.hasOwn(ALSO, name)) return ALSO[name] ?? null;
  byName ??= allNames();
  return byName.get(name) ?? null;
});

/** The rest of a message about a bad country in a filter. */
export const COUNTRY_WANTED = 'is no country code of two letters (ISO 3166-1), such as DE';

/** The current code for a filter's value: `uk` becomes `GB`; null if no country has it. */
export function filterCountry(value: string): string | null {
  return /^[a-z]{2}$/i.test(value) ? countryCode(value) : null;
}

/** The English name of a code; null if there is no such country. */
export function countryName(code: string): string | null {
  if (code === UNKNOWN) return null;
  let name = names.get(code);
  if (name === undefined) {
    name = ENGLISH.of(code) ?? null;
    names.set(code, name);
  }
  return name;
}

/** The current code of a present or former one: `UK` becomes `GB`. */
function currentCode(code: string): string | null {
  const before = codes.get(code);
  if (before !== undefined) return before;
  const current = (Intl.getCanonicalLocales(`und-${code}`)[0] ?? '').slice('und-'.length);
  const found = countryName(current) === null ? null : current;
  codes.set(code, found);
  return found;
}

function allNames(): Map<string, string> {
  const found = new Map<string, string>();
  const letters = Array.from({ length: 26 }, (_, at) => String.fromCharCode(65 + at));
  for (const code of letters.flatMap((first) => letters.map((second) => first + second))) {
    if (currentCode(code) === code) found.set((countryName(code) ?? '').toLowerCase(), code);
  }
  return found;
}
