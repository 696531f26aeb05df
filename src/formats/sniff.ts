/** Detects what a file is by its first bytes (decompressed): whether it is text, its encoding, format and delimiter. Pure. */
import { isUtf8 } from 'node:buffer';
import { InputError } from '../util/errors.ts';
import { isKeyName } from './header-aliases.ts';
import { findBom } from './encodings/encoding.ts';
import { likelyEncodings } from './encodings/likely-encodings.ts';
import type { Encoding, InputFormat } from './input-record.ts';

/** Signatures of file types that are often given by mistake, with the advice for each. */
const BINARY_MAGICS: readonly (readonly [magic: string, what: string, hint: string])[] = [
  ['504b0304', 'a zip archive or an Excel workbook (.xlsx)', 'In Excel: File, Save As, "CSV UTF-8". A zip archive: unpack it first.'],
  ['d0cf11e0a1b11ae1', 'an old Excel workbook (.xls)', 'In Excel: File, Save As, "CSV UTF-8".'],
  ['25504446', 'a PDF', 'Export the data as CSV.'],
  ['89504e47', 'a PNG image', 'Give a csv, tsv or jsonl file.'],
  ['ffd8ff', 'a JPEG image', 'Give a csv, tsv or jsonl file.'],
  ['47494638', 'a GIF image', 'Give a csv, tsv or jsonl file.'],
  ['50415231', 'a Parquet file', 'Leave out --input.format, or say parquet.'],
  ['4f626a01', 'an Avro file', 'Convert it to csv or jsonl first.'],
  ['53514c69746520666f726d6174', 'an SQLite database', 'Export a table as CSV.'],
  ['7f454c46', 'a program', 'Give a csv, tsv or jsonl file.'],
  ['425a68', 'a bzip2 archive', 'Compress it with gzip or zstd instead, or unpack it.'],
  ['fd377a585a00', 'an xz archive', 'Compress it with gzip or zstd instead, or unpack it.'],
  ['377abcaf271c', 'a 7z archive', 'Unpack it first.'],
  ['526172211a07', 'a RAR archive', 'Unpack it first.'],
  ['1f8b', 'an archive within an archive', 'Unpack it once.'],
  ['28b52ffd', 'an archive within an archive', 'Unpack it once.'],
];

/** Text with more control characters than this share, and at least this number, is binary. */
const MAX_CONTROL_SHARE = 0.1;
const MIN_CONTROLS = 8;
/** ASCII text in UTF-16 has a NUL in every second byte. */
const UTF16_NUL_SHARE = 0.3;

interface TextFacts {
  readonly encoding: Encoding;
  /** Length of the byte order mark, bytes. */
  readonly bom: number;
}

export interface Sample {
  readonly uri: string;
  readonly bytes: Buffer;
  /** Whether the sample is the whole file. */
  readonly isComplete: boolean;
}

/**
 * The encoding of a file: that of its byte order mark, else the configured one, else UTF-8.
 * @throws InputError `input_binary` when the file is not text, `input_encoding` when it is not in that encoding
 */
export function findEncoding(sample: Sample, configured: string | null): TextFacts {
  const { bytes } = sample;
  refuseMagic(sample);
  const bom = findBom(bytes);
  if (bom !== null) {
    // Four zero-padded bytes per character mean UTF-32, whose byte order mark begins like that of UTF-16.
    if (bom.encoding === 'utf-16le' && bytes.length >= 4 && bytes[2] === 0 && bytes[3] === 0) {
      throw new InputError('input_encoding', `${sample.uri} looks like UTF-32.`, { hint: 'Save it as UTF-8.' });
    }
    if (!bom.encoding.startsWith('utf-16')) refuseControls(sample);
    return { encoding: bom.encoding, bom: bom.length };
  }
  const nuls = nulShares(bytes);
  if (configured === 'utf-16') return { encoding: nuls.even > nuls.odd ? 'utf-16be' : 'utf-16le', bom: 0 };
  if (configured?.startsWith('utf-16') === true) return { encoding: configured, bom: 0 };
  if (Math.max(nuls.even, nuls.odd) > UTF16_NUL_SHARE && Math.min(nuls.even, nuls.odd) < 0.05) {
    throw new InputError('input_encoding', `${sample.uri} looks like UTF-16 without a byte order mark.`, {
      hint: 'Read it with --input.encoding utf-16.',
    });
  }
  refuseControls(sample);
  if (configured !== null && configured !== 'utf-8') return { encoding: configured, bom: 0 };
  refuseOtherEncoding(sample);
  return { encoding: 'utf-8', bom: 0 };
}

function refuseMagic({ uri, bytes }: Sample): void {
  const head = bytes.toString('hex', 0, 16);
  for (const [magic, what, hint] of BINARY_MAGICS) {
    if (head.startsWith(magic)) throw new InputError('input_binary', `${uri} is ${what}, not text.`, { hint });
  }
}

/**
 * Whether the sample is binary: a NUL in the first line, or many control characters anywhere. A stray one in a later row only makes a bad
 * row.
 */
function refuseControls({ uri, bytes }: Sample): void {
  let controls = 0;
  for (const byte of bytes) {
    if (byte < 32 && byte !== 9 && byte !== 10 && byte !== 13) controls += 1;
  }
  const nul = bytes.indexOf(0);
  const firstEnd = bytes.findIndex((byte) => byte === 10 || byte === 13);
  const inHeader = nul !== -1 && (firstEnd === -1 || nul < firstEnd);
  if (!inHeader && (controls < MIN_CONTROLS || controls <= bytes.length * MAX_CONTROL_SHARE)) return;
  throw new InputError(
    'input_binary',
    `${uri} is not a text file: ` +
      (inHeader
        ? `there is a NUL at byte ${nul}, in its first line`
        : `${controls} of its first ${bytes.length} bytes are control characters`) +
      '.',
    {
      hint: 'Give a csv, tsv or jsonl file, plain or in gzip or zstd.',
    },
  );
}

function nulShares(bytes: Buffer): { even: number; odd: number } {
  const counts = [0, 0];
  for (let at = bytes.indexOf(0); at !== -1; at = bytes.indexOf(0, at + 1)) counts[at & 1] = (counts[at & 1] ?? 0) + 1;
  const half = Math.max(1, bytes.length / 2);
  return { even: (counts[0] ?? 0) / half, odd: (counts[1] ?? 0) / half };
}

/** ISO-2022-JP is ASCII with escape sequences, and would pass as UTF-8. */
const JAPANESE_ESCAPE = /\x1b\$[@B]/;

/** Text with more invalid UTF-8 bytes than characters has another encoding. A few damaged places in UTF-8 text are bad rows. */
function refuseOtherEncoding({ uri, bytes, isComplete }: Sample): void {
  const text = isComplete ? bytes : bytes.subarray(0, wholeCharacters(bytes));
  if (JAPANESE_ESCAPE.test(text.toString('latin1'))) {
    throw new InputError('input_encoding', `${uri} looks like ISO-2022-JP: it has escape sequences for Japanese characters.`, {
      hint: 'Read it with --input.encoding iso-2022-jp.',
    });
  }
  if (isUtf8(text)) return;
  let firstWrong = -1;
  let wrong = 0;
  let right = 0;
  for (let at = 0; at < text.length;) {
    const length = sequenceLength(text, at);
    if (length > 1) right += 1;
    else if (length === 0) {
      wrong += 1;
      if (firstWrong === -1) firstWrong = at;
    }
    at += Math.max(1, length);
  }
  if (right >= wrong) return;
  let line = 1;
  for (let at = text.indexOf(10); at !== -1 && at < firstWrong; at = text.indexOf(10, at + 1)) line += 1;
  const byte = (text[firstWrong] ?? 0).toString(16);
  const [likely = 'windows-1252', ...others] = likelyEncodings(text);
  throw new InputError(
    'input_encoding',
    `${uri} is not UTF-8: line ${line} has the byte 0x${byte} (byte ${firstWrong} of the file's text), and ` +
      `${right === 0 ? 'nothing in it is UTF-8 beyond ASCII' : 'most of it beyond ASCII is not UTF-8'}.`,
    {
      hint:
        `It may be ${[likely, ...others].join(' or ')}: read it with --input.encoding ${likely}` +
        `${others.length === 0 ? '' : ', look at the first rows with --limit 10, and try the other where letters are wrong'}.`,
    },
  );
}

/** The length of the valid UTF-8 sequence at `at`; 0 when there is none. */
function sequenceLength(bytes: Buffer, at: number): number {
  const lead = bytes[at] ?? 0;
  const length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
  return length > 0 && at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length)) ? length : 0;
}

/** The length without a character that the sample's end splits. */
function wholeCharacters(bytes: Buffer): number {
  let at = bytes.length;
  while (at > 0 && bytes.length - at < 3 && ((bytes[at - 1] ?? 0) & 0xc0) === 0x80) at -= 1;
  return (bytes[at - 1] ?? 0) >= 0xc0 ? at - 1 : bytes.length;
}

/** The format by the first characters of the content; null when they do not decide. */
export function findFormat(uri: string, text: string): InputFormat | null {
  const first = /\S/.exec(text);
  if (first === null) return null;
  if (first[0] === '{') return 'jsonl';
  refuseJsonArray(uri, text);
  return (statedDelimiter(text) ?? findDelimiter(firstLine(text))) === '\t' ? 'tsv' : 'csv';
}

/** Pages of servers: of an error, of a login, of S3. */
const MARKUP = /^\s*<(?:!doctype|html|head|body|\?xml|error|!--)[\s>]/i;

/** @throws InputError `input_no_columns` for a page in the place of a file */
export function refuseMarkup(uri: string, text: string): void {
  if (!MARKUP.test(text)) return;
  throw new InputError('input_no_columns', `${uri} is an HTML or XML page and no table.`, {
    hint: 'A server has probably answered with an error or a login page where the file was expected: fetch it again.',
  });
}

/** @throws InputError `input_json_array` */
export function refuseJsonArray(uri: string, text: string): void {
  if (!/^\s*\[\s*(?:\{|\])/.test(text)) return;
  throw new InputError('input_json_array', `${uri} is one JSON array.`, {
    hint: "Make it one object a line, e.g. with jq -c '.[]', and give it the extension .jsonl.",
  });
}

const DELIMITERS = [',', ';', '\t', '|'] as const;

/**
 * The delimiter that occurs most often outside quotes in a header. On a tie, the one that separates the name of a key column wins. A comma
 * when there is none.
 */
export function findDelimiter(header: string): string {
  const bare = header.replace(/"[^"]*"/g, '');
  const counts = DELIMITERS.map((delimiter) => bare.split(delimiter).length - 1);
  const most = Math.max(...counts);
  if (most === 0) return ',';
  const best = DELIMITERS.filter((_, index) => counts[index] === most);
  const leavesKey = (delimiter: string, isListed: boolean): boolean =>
    header.split(delimiter).some((cell) => isKeyName(cell.replace(/^"(.*)"$/, '$1'), isListed));
  return best.find((one) => leavesKey(one, true)) ?? best.find((one) => leavesKey(one, false)) ?? best[0] ?? ',';
}

/** The delimiter in a line `sep=;` above the header, which Excel understands and which is not part of the table; or null. */
export function statedDelimiter(text: string): string | null {
  return /^\s*"?sep=([,;\t|])"?[\r\n]/i.exec(text)?.[1] ?? null;
}

function firstLine(text: string): string {
  return /[^\r\n]+/.exec(text)?.[0] ?? '';
}
