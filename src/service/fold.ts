/** Text as it is compared: without case, accents and differences of width. Pure. */
import { ownText } from './own-text.ts';

const SPACE = 0x20;
const TILDE = 0x7e;
/** Accents, and signs over the letters of alphabets that leave vowels out. Where marks are vowels, as in Devanagari and Thai, or make another letter, as in Kana, another word is another. */
const MARKS = /[[\p{M}&&[\p{Script=Inherited}\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}]]--[\u3099\u309a]]+/gv;
/** Letters and apostrophes that are written as others by whoever lacks them, and have no mark that could be taken off. */
const LETTERS: Readonly<Record<string, string>> = { ß: 'ss', ø: 'o', ł: 'l', đ: 'd', ı: 'i', '\u2018': "'", '\u2019': "'", '\u02bc': "'" };
const OTHER_LETTERS = /[ßøłđı\u2018\u2019\u02bc]/g;
/** Signs that belong to a word, as in C++, C# and .NET. It begins where no dot stands before: a row of dots is looked at once, and not from each of them. */
const WORD = /(?<!\.)[\p{L}\p{M}\p{N}.]*[\p{L}\p{M}\p{N}][+#]*/gu;

/** Titles, skills and places come again and again: what was folded lately is remembered, where it is short. */
const MAX_REMEMBERED = 20_000;
const MAX_REMEMBERED_LENGTH = 80;

/** `make`, which is pure, with what it made of short texts remembered. */
export function remembering<T>(make: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    if (text.length > MAX_REMEMBERED_LENGTH) return make(text);
    const own = ownText(text);
    const made = make(own);
    if (known.size >= MAX_REMEMBERED) known.clear();
    known.set(own, made);
    return made;
  };
}

/** `Žluťoučký  Kůň` and `zlutoucky kun` are the same. */
export function fold(text: string): string {
  return isPlain(text) ? text.toLowerCase() : knownFold(text);
}

const knownFold: (text: string) => string = remembering(folded);

/** Whether case is all there is to a text. */
function isPlain(text: string): boolean {
  let previous = SPACE;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < SPACE || unit > TILDE || (unit === SPACE && previous === SPACE)) return false;
    previous = unit;
  }
  return previous !== SPACE || text === '';
}

/** One value as it is compared with another: `Series A`, `series_a` and `series-a` are the same. What has nothing but such signs stays what it is. */
export const alike: (text: string) => string = remembering((text) => {
  const plain = folded(text);
  return plain.replaceAll(/[\s_\-\u2010-\u2015]+/g, ' ').trim() || plain;
});

/** The different words of a text, folded. */
export function wordsIn(text: string): string[] {
  return [...new Set(folded(text).match(WORD) ?? [])].map((word) => word.replace(/^\.(?!net$)+/, ''));
}

/** The same, for texts that come again. */
export const words: (text: string) => readonly string[] = remembering(wordsIn);

function folded(text: string): string {
  // Most text is ASCII, and then case is all there is to it.
  const plain = /^[\0-\x7f]*$/.test(text) ? text.toLowerCase() : text.normalize('NFKD').replaceAll(MARKS, '').toLowerCase().replaceAll(OTHER_LETTERS, (letter) => LETTERS[letter] ?? letter);
  return plain.replaceAll(/\s+/g, ' ').trim();
}
