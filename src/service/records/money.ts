/** Amounts of money in the specification's format: `$12M`. Pure. */

const GREATEST = [1e9, 'B'] as const;
const UNITS = [[1, ''], [1e3, 'K'], [1e6, 'M'], GREATEST] as const;

/** `$12M`, `$1.4B`, `$950K`, `$80`. @param usd US dollars */
export function formatUsd(usd: number): string {
  // By the rounded amount: 999,999 becomes $1M, not $1000K.
  const [unit, suffix] = UNITS.find(([size]) => rounded(usd / size) < 1_000) ?? GREATEST;
  return `$${rounded(usd / unit)}${suffix}`;
}

/** Rounded to at least two digits. */
function rounded(value: number): number {
  return value >= 10 ? Math.round(value) : Math.round(value * 10) / 10;
}

/** Digits with thousands. Dots are thousands where there are several. */
const DIGITS = String.raw`\d{1,3}(?:,\d{3}){1,6}(?:\.\d{1,6})?|\d{1,3}(?:\.\d{3}){2,6}|\d{1,20}(?:\.\d{1,6})?`;
const AMOUNT = String.raw`(${DIGITS})\s*(k|m|mn|mio|b|bn|thousand|million|billion)?`;
const USD_BEFORE = new RegExp(`^(?:(?:usd|us)\\s*\\$?|\\$)\\s*${AMOUNT}(?:\\s*usd)?$`, 'i');
const USD_BEHIND = new RegExp(`^${AMOUNT}\\s*(?:usd|us\\s?\\$|\\$|us dollars?)$`, 'i');
const BARE = new RegExp(`^${AMOUNT}$`, 'i');
const MAX_LENGTH = 60;

/**
 * US dollars of a text such as `$12M`, `USD 12,000,000` or `$1.4 billion`. Null for anything else: for other currencies, and for a number
 * that names none.
 */
export function parseUsd(text: string): number | null {
  const short = text.trim().slice(0, MAX_LENGTH);
  const [, digits, unit = ''] = USD_BEFORE.exec(short) ?? USD_BEHIND.exec(short) ?? [];
  if (digits === undefined) return null;
  const factor = { k: 1e3, t: 1e3, m: 1e6, b: 1e9 }[unit.slice(0, 1).toLowerCase()] ?? 1;
  const isDotted = digits.split('.').length > 2;
  const usd = Math.round(Number(digits.replaceAll(isDotted ? '.' : ',', '')) * factor);
  return Number.isSafeInteger(usd) ? usd : null;
}

/** An amount that names no currency with this one (ISO 4217); any other text stays. */
export function withCurrency(text: string, currency: string): string {
  return BARE.test(text.trim().slice(0, MAX_LENGTH)) ? `${currency.toUpperCase()} ${text.trim()}` : text;
}

/** Other dollars than those of the United States: `C$`, `HK$`, `A$`. */
const OTHER_DOLLARS = /(?<![a-z])(?!us\s?\$)[a-z]{1,3}\s?\$/i;
const OTHER_SIGN = /[\u00a2-\u00a5\u20a0-\u20cf]/;
/** A code of three letters that is neither `USD` nor a unit. */
const OTHER_CODE = /\b(?!usd\b|mio\b|mln\b|mrd\b)[a-z]{3}\b/i;

/** Whether a text names US dollars. */
export function namesUsd(text: string): boolean {
  return /\$|\busd\b/i.test(text) && !OTHER_DOLLARS.test(text);
}

/** Whether an amount is in another currency than US dollars. */
export function namesOtherCurrency(text: string): boolean {
  return OTHER_SIGN.test(text) || OTHER_DOLLARS.test(text) || OTHER_CODE.test(text);
}
