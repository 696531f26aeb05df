/** Guesses encodings of a text that is not UTF-8, for a hint only: nothing is decoded by this guess. Pure. */
import type { Encoding } from '../input-record.ts';

/** Bytes of the sample; a hint needs no more. */
const LOOKED_AT = 64 * 1_024;

/** Multibyte encodings, and the lead bytes of their most frequent characters. Other lead bytes are evidence against the encoding. */
const EAST_ASIAN: readonly {
  readonly encoding: Encoding;
  readonly frequent: (lead: number, trail: number) => boolean;
  readonly letters: RegExp;
  readonly also?: RegExp;
}[] = [
  {
    encoding: 'shift_jis',
    frequent: (lead) => lead === 0x82 || lead === 0x83 || (lead >= 0x88 && lead <= 0x97),
    letters: /[\u3000-\u30ff\u4e00-\u9fff\uff01-\uff9f]/u,
  },
  {
    encoding: 'euc-jp',
    frequent: (lead, trail) => (lead === 0xa4 || lead === 0xa5 || (lead >= 0xb0 && lead <= 0xcf)) && trail >= 0xa1,
    letters: /[\u3000-\u30ff\u4e00-\u9fff\uff01-\uff9f]/u,
    also: /[\u3040-\u30ff]/u,
  },
  { encoding: 'euc-kr', frequent: (lead, trail) => lead >= 0xb0 && lead <= 0xc8 && trail >= 0xa1, letters: /\p{Script=Hangul}/u },
  {
    encoding: 'gb18030',
    frequent: (lead, trail) => lead >= 0xb0 && lead <= 0xd7 && trail >= 0xa1,
    letters: /[\u3000-\u303f\u4e00-\u9fff\uff01-\uff5e]/u,
  },
  { encoding: 'big5', frequent: (lead) => lead >= 0xa4 && lead <= 0xc6, letters: /[\u3000-\u303f\u4e00-\u9fff\uff01-\uff5e]/u },
];

/** Single-byte encodings for other alphabets, and the letters of their languages: lower case, because names have little else. */
const OTHER_ALPHABETS: readonly (readonly [encoding: Encoding, letters: RegExp])[] = [
  ['windows-1251', /[\u0430-\u044f\u0451]/u],
  ['koi8-r', /[\u0430-\u044f\u0451]/u],
  ['windows-1253', /[\u03ac-\u03ce]/u],
  ['windows-1255', /[\u05d0-\u05ea]/u],
  ['windows-1256', /[\u0620-\u064a]/u],
];
/** This share of the bytes beyond ASCII must be letters of the alphabet. */
const MOST = 0.6;
/** Japanese text has at least this share of kana. */
const SOME = 0.1;
const LATIN: Encoding = 'windows-1252';
const THAI: Encoding = 'windows-874';

/** One or two names, the likeliest first. */
export function likelyEncodings(text: Buffer): Encoding[] {
  const bytes = text.subarray(0, LOOKED_AT);
  const scored = [
    ...EAST_ASIAN.map(({ encoding, frequent, letters, also }) => ({
      encoding,
      score:
        isMostly(bytes, encoding, letters) && (also === undefined || shareOf(bytes, encoding, also) > SOME)
          ? shareOfPairs(bytes, frequent)
          : 0,
    })),
    ...OTHER_ALPHABETS.map(([encoding, letters]) => ({ encoding, score: runsOfLetters(bytes) ? shareOf(bytes, encoding, letters) : 0 })),
  ].filter(({ score }) => score >= MOST);
  const [best, second] = scored.sort((one, other) => other.score - one.score);
  // Nearly every byte beyond ASCII is a letter of Thai, so this guess comes last.
  if (best === undefined) return runsOfLetters(bytes) && shareOf(bytes, THAI, /[\u0e01-\u0e5b]/u) > 0.9 ? [THAI] : [LATIN];
  return second !== undefined && second.score > best.score - 0.15 ? [best.encoding, second.encoding] : [best.encoding];
}

/** Words of other alphabets are completely beyond ASCII. A Western text has single letters there. */
function runsOfLetters(bytes: Buffer): boolean {
  let high = 0;
  let beside = 0;
  for (let at = 0; at < bytes.length; at++) {
    if ((bytes[at] ?? 0) < 0x80) continue;
    high += 1;
    if ((bytes[at + 1] ?? 0) >= 0x80 || (bytes[at - 1] ?? 0) >= 0x80) beside += 1;
  }
  return beside > high * MOST;
}

function shareOf(bytes: Buffer, encoding: Encoding, letters: RegExp): number {
  const beyond = Array.from(new TextDecoder(encoding).decode(bytes)).filter((sign) => sign > '\u007f');
  return beyond.length === 0 ? 0 : beyond.filter((sign) => letters.test(sign)).length / beyond.length;
}

/** Whether nearly all characters beyond ASCII are letters of the script. The sample's end may split a character. */
function isMostly(bytes: Buffer, encoding: Encoding, letters: RegExp): boolean {
  return shareOf(bytes, encoding, letters) > 0.9;
}

/** The share of byte pairs that are frequent characters. */
function shareOfPairs(bytes: Buffer, frequent: (lead: number, trail: number) => boolean): number {
  let pairs = 0;
  let known = 0;
  for (let at = 0; at + 1 < bytes.length; at++) {
    const lead = bytes[at] ?? 0;
    if (lead < 0x81) continue;
    pairs += 1;
    if (frequent(lead, bytes[at + 1] ?? 0)) known += 1;
    at += 1;
  }
  return pairs === 0 ? 0 : known / pairs;
}
