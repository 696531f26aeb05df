/** Homoglyphs: letters of other alphabets that look like Latin ones, and the Latin text that a reader sees in them. Pure. */
import { isAscii } from './domain.ts';

/** Cyrillic, Greek and Armenian lower-case letters that most typefaces draw like a Latin one, selected by hand. */
const LATIN_LOOKALIKES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    a: 'аɑα',
    b: 'Ьь',
    c: 'сϲ',
    d: 'ԁ',
    e: 'еҽ',
    g: 'ɡց',
    h: 'һհ',
    i: 'іιı',
    j: 'јϳ',
    k: 'κк',
    l: 'ӏⅼ',
    m: 'м',
    n: 'ոп',
    o: 'оοօ',
    p: 'рρ',
    q: 'ԛգ',
    r: 'г',
    s: 'ѕ',
    t: 'т',
    u: 'սυ',
    v: 'νѵ',
    w: 'ԝա',
    x: 'хχ',
    y: 'уγ',
    z: 'ʐ',
  }).flatMap(([latin, others]) => others.split('').map((other) => [other, latin] as const)),
);

const LATIN = /\p{Script=Latin}/u;
const OTHER_ALPHABET = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}]/u;

/** The ASCII text that a reader sees in `text`. Null when `text` is ASCII already, or has a letter that resembles no ASCII letter. */
export function asciiReading(text: string): string | null {
  if (isAscii(text)) return null;
  let reading = '';
  for (const letter of text.normalize('NFKC')) reading += LATIN_LOOKALIKES.get(letter) ?? letter;
  return isAscii(reading) ? reading : null;
}

/** `text` without accents and other marks on its letters. */
export function withoutMarks(text: string): string {
  return text.normalize('NFD').replaceAll(/\p{M}/gu, '');
}

/**
 * True when `text` mixes Latin with an alphabet that resembles it (at most "minimally restrictive" in UTS 39 5.2), or has compatibility
 * forms such as full-width letters. No real name is spelt like that on purpose.
 */
export function mixesAlphabets(text: string): boolean {
  if (isAscii(text)) return false;
  const compatible = text.normalize('NFKC');
  return compatible !== text.normalize('NFC') || (LATIN.test(compatible) && OTHER_ALPHABET.test(compatible));
}
