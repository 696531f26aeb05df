/** Text as it is compared: without case, accents and differences of width. Pure. */

const MARKS = /\p{M}+/gu;
/** Signs that belong to a word, as in C++, C# and .NET. */
const WORD = /[\p{L}\p{N}.]*[\p{L}\p{N}][+#]*/gu;

/** `Žluťoučký  Kůň` and `zlutoucky kun` are the same. */
export function fold(text: string): string {
  // Most text is ASCII, and then case is all there is to it.
  const plain = /^[\0-\x7f]*$/.test(text) ? text : text.normalize('NFKD').replaceAll(MARKS, '').replaceAll('ß', 'ss').replaceAll('ø', 'o').replaceAll('Ø', 'o').replaceAll('ł', 'l').replaceAll('Ł', 'l');
  return plain.toLowerCase().replaceAll(/\s+/g, ' ').trim();
}

/** The different words of a text, folded. */
export function words(text: string): string[] {
  return [...new Set(fold(text).match(WORD) ?? [])].map((word) => word.replace(/^\.(?!net$)+/, ''));
}
