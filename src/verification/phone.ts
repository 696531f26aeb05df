/** Telephone numbers as keys. Pure. */

/** E.164 (ITU-T): a plus and up to 15 digits. Null for another text, such as a number without a country code. */
export function normalisePhone(text: string): string | null {
  // `+44 (0)20 ...`: the zero is for calls within the country. In Italy and San Marino it is part of the number.
  const number = text
    .trim()
    .replace(/^((?:\+|00)(?!39|378)[^(]{1,8})\(\s*0\s*\)/, '$1')
    .replaceAll(/[\s().\-/]/g, '')
    .replace(/^00/, '+');
  return /^\+[1-9]\d{6,14}$/.test(number) ? number : null;
}
