/** CSV of every kind of disorder, and where the service's own reader ends its records. */
import { Splitter } from '../../src/formats/csv/splitter.ts';
import { MAX_LINE_BYTES } from '../../src/service/batches/batch-limits.ts';

const COMMA = 0x2c;
const BYTE_ORDER_MARK = '\u{feff}';
/** Pieces that random texts are made of. */
const PIECES = ['"', '"', '"', ',', ',', '\n', '\n', '\r\n', '\r', 'a', ' ', '""', '","', '"\n"', '",\n', '19"'];
const RANDOM_TEXTS = 2_000;
const LONGEST_TEXT = 24;
const SEED = 42;

/** Texts by hand, of random pieces, and around the greatest length of a record. */
export function csvTexts(): string[] {
  const next = numbers(SEED);
  const random = Array.from({ length: RANDOM_TEXTS }, () =>
    Array.from({ length: 1 + (next() % LONGEST_TEXT) }, () => PIECES[next() % PIECES.length]).join(''),
  );
  const around = [-2, -1, 0, 1, 2].flatMap((more) => {
    const filler = 'x\n'.repeat((MAX_LINE_BYTES + more) / 2 - 4);
    const odd = more % 2 === 0 ? '' : 'y';
    return [`"${filler}${odd}",b\nc,d\n`, `a,"${filler}${odd}"\r\nc,d\n`, `"${'x'.repeat(MAX_LINE_BYTES + more)}\n",b\n`];
  });
  const byHand = [
    'email\n19" rack,a\nb,c\n',
    '"never closed\na,b\nc,d\n',
    `${BYTE_ORDER_MARK}"two\nlines",b\nc\n`,
    '"a"\r',
    '"a"\r\r\nb\n',
    `"${'x","y\n'.repeat(30_000)}`,
  ];
  return [...byHand, ...around, ...random];
}

/** The bytes of each record that is not blank, without its line end, as the service cuts a part. */
export function recordLengths(text: string): number[] {
  const bytes = Buffer.from(text);
  const splitter = new Splitter({
    delimiter: COMMA,
    strict: true,
    measure: (_bytes, from, to) => to - from,
    offset: 0,
    line: 1,
    limits: { quoted: Infinity, record: MAX_LINE_BYTES },
  });
  splitter.push(bytes);
  if (text.startsWith(BYTE_ORDER_MARK)) splitter.skip(Buffer.byteLength(BYTE_ORDER_MARK));
  splitter.finish();
  const lengths: number[] = [];
  while (splitter.next()) lengths.push(splitter.end - splitter.start);
  return lengths;
}

/** Whole numbers that are the same in every run (a linear congruential generator of Numerical Recipes). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state >>> 8;
  };
}
