/** Reads the telephone number in a cell, as people and programs write it. Pure. */
import { visibleText } from './clean-keys.ts';
import { normalisePhone } from './phone.ts';

/** Longer text is no number. */
const MAX_LENGTH = 1_024;

/** Arabic-Indic and Persian digits. Full-width ones are ASCII in the visible text. */
const OTHER_DIGITS = /[\u0660-\u0669\u06f0-\u06f9]/g;
/** Dashes other than the hyphen-minus. */
const DASHES = /[\u2010-\u2015\u2212]/g;

const KIND =
  'tel(?:ephone|efon|efono|éfono|éphone|\\.)?|phone|mobile?|mob|cell|cellular|handy|portable|móvil|callto|sms|whatsapp|' +
  'work|office|home|direct|[tmpchw]';
/** `tel:` (RFC 3966) and other words before a number. */
const BEFORE = new RegExp(`^(?:(?:${KIND}) ?[.:]{0,2} ?)+(?=[+(\\d])`, 'iu');
/** Remarks in brackets, such as `(mobile)`; brackets with digits belong to the number. */
const REMARK = /[([][^\d()[\]]*\p{L}[^\d()[\]]*[)\]]/gu;
/** An extension, which only a switchboard knows: `ext. 5`, `x12`, `#12`, `;ext=5`. */
const EXTENSION = /[ ,;./-]*(?:ext(?:ension|n)?|xtn|x|#|durchwahl|dw|poste|interno|int|anexo|ramal|toestel|доб)[ .:=]*\d{1,7}$/iu;
/** A word behind a number. */
const BEHIND = new RegExp(`(?<=\\d)[ ,-]*(?:${KIND})\\.?$`, 'iu');
/** A number that a program has written as a decimal one. */
const DECIMAL = /^(\d{7,15})\.0+$/;
/** The one calling code that is recognised without a plus: North American numbers have a fixed length. */
const NORTH_AMERICAN = /^1[2-9]\d{2}[2-9]\d{6}$/;

/** The first number of a cell in E.164; null without one. @param country that of a national number, two letters; null if unknown */
export function phoneIn(text: string, country: string | null = null): string | null {
  if (text === '' || text.length > MAX_LENGTH) return null;
  for (const part of visibleText(text).split(/[,;|\n]| \/ /)) {
    const number = oneNumber(part, country);
    if (number !== null) return number;
    // Another number may be another person's.
    if (/\d/.test(part)) return null;
  }
  return null;
}

function oneNumber(text: string, country: string | null): string | null {
  const number = text
    .replaceAll(OTHER_DIGITS, (digit) => String(digit.charCodeAt(0) & 0xf))
    .replaceAll(DASHES, '-')
    .replaceAll(REMARK, ' ')
    .replaceAll(/["']/g, '')
    .trim()
    .replace(BEFORE, '')
    .replace(EXTENSION, '')
    .replace(BEHIND, '')
    .replace(DECIMAL, '$1')
    .trim();
  const digits = number.replaceAll(/[ ().-]/g, '');
  return normalisePhone(country === null && NORTH_AMERICAN.test(digits) ? `+${digits}` : number, country);
}
