/** Normalises text for comparison: case, accents and character width do not count. Pure. */
import { normaliseText } from '../../util/normalise-text.ts';
import { ownText } from '../http/own-text.ts';

const SPACE = 0x20;
const TILDE = 0x7e;
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

const cachedNormalise: (text: string) => string = memoize(normaliseText);

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
  const plain = normaliseText(text);
  return plain.replaceAll(/[\s_\-\u2010-\u2015]+/g, ' ').trim() || plain;
});

/** The distinct words of a text, normalised. */
export function wordsIn(text: string): string[] {
  return [...new Set(normaliseText(text).match(WORD) ?? [])].map((word) => word.replace(/^\.(?!net$)+/, ''));
}

/** As `wordsIn`, cached for repeated texts. */
export const words: (text: string) => readonly string[] = memoize(wordsIn);
