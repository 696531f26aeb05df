/** Normalises text for comparison: case, accents and character width do not count. Pure. */
import { ownText } from '../http/own-text.ts';

const SPACE = 0x20;
const TILDE = 0x7e;
/**
 * Accents and vowel points. Marks of scripts where they are vowels (Devanagari, Thai) or make another letter (Kana) stay, because they make
 * another word.
 */
const MARKS = /[[\p{M}&&[\p{Script=Inherited}\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}]]--[\u3099\u309a]]+/gv;
/** Letters and apostrophes without a removable mark, and how they are written without them. */
const LETTERS: Readonly<Record<string, string>> = { ß: 'ss', ø: 'o', ł: 'l', đ: 'd', ı: 'i', '\u2018': "'", '\u2019': "'", '\u02bc': "'" };
const OTHER_LETTERS = /[ßøłđı\u2018\u2019\u02bc]/g;
/** A word may have signs, as in C++, C# and .NET. It does not begin after a dot, so that a row of dots is scanned once. */
const WORD = /(?<!\.)[\p{L}\p{M}\p{N}.]*[\p{L}\p{M}\p{N}][+#]*/gu;

/** A cache of short texts, because titles, skills and places repeat. */
const MAX_CACHED = 20_000;
const MAX_CACHED_LENGTH = 80;

/** Caches the results of a pure function for short texts. */
export function memoize<T>(make: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    if (text.length > MAX_CACHED_LENGTH) return make(text);
    const own = ownText(text);
    const made = make(own);
    if (known.size >= MAX_CACHED) known.clear();
    known.set(own, made);
    return made;
  };
}

/** Normalises case, accents and blanks: `Žluťoučký  Kůň` becomes `zlutoucky kun`. */
export function normalise(text: string): string {
  return isPlain(text) ? text.toLowerCase() : cachedNormalise(text);
}

const cachedNormalise: (text: string) => string = memoize(normaliseUncached);

/** Whether only case needs normalising. */
function isPlain(text: string): boolean {
  let previous = SPACE;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < SPACE || unit > TILDE || (unit === SPACE && previous === SPACE)) return false;
    previous = unit;
  }
  return previous !== SPACE || text === '';
}

/** A value in the form in which it is compared: `Series A`, `series_a` and `series-a` are equal. A value of such signs alone stays. */
export const alike: (text: string) => string = memoize((text) => {
  const plain = normaliseUncached(text);
  return plain.replaceAll(/[\s_\-\u2010-\u2015]+/g, ' ').trim() || plain;
});

/** The distinct words of a text, normalised. */
export function wordsIn(text: string): string[] {
  return [...new Set(normaliseUncached(text).match(WORD) ?? [])].map((word) => word.replace(/^\.(?!net$)+/, ''));
}

/** As `wordsIn`, cached for repeated texts. */
export const words: (text: string) => readonly string[] = memoize(wordsIn);

function normaliseUncached(text: string): string {
  // Most text is ASCII and needs case folding only.
  const plain = /^[\0-\x7f]*$/.test(text)
    ? text.toLowerCase()
    : text
        .normalize('NFKD')
        .replaceAll(MARKS, '')
        .toLowerCase()
        .replaceAll(OTHER_LETTERS, (letter) => LETTERS[letter] ?? letter);
  return plain.replaceAll(/\s+/g, ' ').trim();
}
