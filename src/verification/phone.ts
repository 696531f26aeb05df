/** Telephone numbers as keys. Pure. */
import { callingCode, NORTH_AMERICA, numberPlan } from './calling-codes.ts';

/** E.164: a plus and at most 15 digits. No country has a number of fewer than 7, its code included. */
const INTERNATIONAL = /^\+[1-9]\d{6,14}$/;
/** Area code and exchange of North America begin with 2 to 9. */
const NORTH_AMERICAN = /^1[2-9]\d{2}[2-9]\d{6}$/;
/** A number without its trunk prefix, where the country has one, is known to be complete from this length on. */
const COMPLETE_DIGITS = 9;

/**
 * E.164 (ITU-T): a plus and up to 15 digits. Null for another text, for a calling code that is not assigned, and for a number without its
 * country, unless `country` says it.
 * @param country the country of a national number: two letters (ISO 3166-1); null if it is unknown
 */
export function normalisePhone(text: string, country: string | null = null): string | null {
  // `+44 (0)20 ...`: the zero is for calls within the country. In Italy and San Marino it is part of the number.
  const digits = text
    .trim()
    .replace(/^((?:\+|00)(?!39|378)[^(]{1,8})\(\s*0\s*\)/, '$1')
    .replaceAll(/[\s().\-/\u00a0\u2010-\u2015\u2212]/g, '');
  const number = digits.replace(/^00/, '+');
  if (number.startsWith('+')) return isAssigned(number) ? number : null;
  const found = country === null || !/^\d{5,17}$/.test(digits) ? null : nationalNumber(digits, country);
  return found !== null && isAssigned(found) ? found : null;
}

function isAssigned(number: string): boolean {
  if (!INTERNATIONAL.test(number)) return false;
  const digits = number.slice(1);
  const code = callingCode(digits);
  return code !== null && (code !== NORTH_AMERICA || NORTH_AMERICAN.test(digits));
}

/** The number of a text without a plus; null if it may be several numbers, or is too short, like that of an extension. */
function nationalNumber(digits: string, country: string): string | null {
  const plan = numberPlan(country);
  if (plan === null) return null;
  const { code, trunk, fewest, most } = plan;
  const isLength = (rest: string): boolean => rest.length >= fewest && rest.length <= most;
  if (code === NORTH_AMERICA && digits.startsWith('011')) return `+${digits.slice('011'.length)}`;
  if (trunk !== '' && code !== NORTH_AMERICA && digits.startsWith(trunk)) {
    const rest = digits.slice(trunk.length);
    return isLength(rest) ? `+${code}${rest}` : null;
  }
  const afterCode = digits.startsWith(code) ? digits.slice(code.length) : null;
  const hasCode = afterCode !== null && isLength(afterCode);
  // Where numbers have a trunk prefix, one without it lacks its area code, unless it is long.
  const isWhole = isLength(digits) && (trunk === '' || code === NORTH_AMERICA || (digits.length >= COMPLETE_DIGITS && digits.length <= 11));
  if (hasCode && (!isWhole || digits.length > 11)) return `+${digits}`;
  return isWhole && !hasCode ? `+${code}${digits}` : null;
}
