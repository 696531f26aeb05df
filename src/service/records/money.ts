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

/** US dollars of a text such as `$12M`, `12,000,000` or `$1.4 billion`; null for anything else, and for other currencies. */
export function parseUsd(text: string): number | null {
  const [, digits = '', unit = ''] =
    /^(?:usd|us)?\s*\$?\s*((?:\d{1,3}(?:,\d{3}){1,6}|\d{1,20})(?:\.\d{1,6})?)\s*(k|m|mn|b|bn|thousand|million|billion)?(?:\s*usd)?$/i.exec(
      text.trim().slice(0, 60),
    ) ?? [];
  if (digits === '') return null;
  const factor = { k: 1e3, t: 1e3, m: 1e6, b: 1e9 }[unit.slice(0, 1).toLowerCase()] ?? 1;
  const usd = Math.round(Number(digits.replaceAll(',', '')) * factor);
  return Number.isSafeInteger(usd) ? usd : null;
}
