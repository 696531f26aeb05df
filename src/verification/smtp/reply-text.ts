/** Decodes a line of a reply. Servers write other languages than English in the encodings of their countries. Pure. */
import { knownLength } from './wordings.ts';

/** The usual encodings of the languages in the tables. For equal texts the first one counts. */
const ENCODINGS = [
  'windows-1252',
  'windows-1250',
  'iso-8859-2',
  'windows-1254',
  'windows-1251',
  'koi8-u',
  'iso-8859-5',
  'ibm866',
  'gb18030',
  'big5',
  'shift_jis',
  'euc-jp',
  'euc-kr',
] as const;

const decodeAs = (encoding: string, bytes: Uint8Array): string => new TextDecoder(encoding).decode(bytes);

const ESCAPE = 0x1b;

/**
 * UTF-8, if the bytes are valid or no other encoding gives known words. Else the encoding in which the vocabulary knows the longest part.
 * ISO-2022-JP is recognised by its escape sequences.
 */
export function decodeReplyText(bytes: Uint8Array): string {
  const text = decodeAs('utf-8', bytes);
  const candidates = bytes.includes(ESCAPE) ? ['iso-2022-jp'] : text.includes('\ufffd') ? ENCODINGS : [];
  let [best, mostKnown] = [text, candidates.length === 0 ? 0 : knownLength(text)];
  for (const encoding of candidates) {
    const other = decodeAs(encoding, bytes);
    const known = knownLength(other);
    if (known > mostKnown) [best, mostKnown] = [other, known];
  }
  return best;
}
