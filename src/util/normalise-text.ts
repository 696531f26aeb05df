/** Normalises text for comparison, the same in the pipeline and in the service. Pure. */

/**
 * Accents and vowel points. Marks of scripts where they are vowels (Devanagari, Thai) or make another letter (Kana) stay, because they make
 * another word.
 */
const MARKS = /[[\p{M}&&[\p{Script=Inherited}\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}]]--[\u3099\u309a]]+/gv;
/** Letters and apostrophes without a removable mark, and how they are written without them. */
const LETTERS: Readonly<Record<string, string>> = { ß: 'ss', ø: 'o', ł: 'l', đ: 'd', ı: 'i', '\u2018': "'", '\u2019': "'", '\u02bc': "'" };
const OTHER_LETTERS = /[ßøłđı\u2018\u2019\u02bc]/g;

/** Normalises case, accents, character width and blanks: `Žluťoučký  Kůň` becomes `zlutoucky kun`. */
export function normaliseText(text: string): string {
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
