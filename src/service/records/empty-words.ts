/** Words that exports of databases, spreadsheets and scripts write for an absent value. Pure. */
import { isEmpty } from '../http/values.ts';

/**
 * In these spellings alone: `Null` is a family name and `NA` is Namibia. Errors of spreadsheets begin with `#`.
 */
const WORDS: ReadonlySet<string> = new Set(
  (
    'NULL null (null) <null> [null] \\N NIL nil <nil> None none NONE (none) undefined nan NaN N/A n/a N/a n.a. N.A. <NA> (blank) (empty) ' +
    'TBD tbd - -- --- \u2013 \u2014 ? . #N/A #NULL! #REF! #VALUE! #DIV/0! #NAME? #NUM! #ERROR! #SPILL! #CALC!'
  ).split(' '),
);
const LONGEST = Math.max(...[...WORDS].map((word) => word.length));
/** Few texts begin with one of these. So most texts are no such word at a glance. */
const FIRST: ReadonlySet<number> = new Set([...WORDS].map((word) => word.charCodeAt(0)));
const SPACE = 0x20;
const NO_BREAK_SPACE = 0xa0;

/** Whether a value is absent, or a text that says that there is none: blanks alone, `NULL`, `N/A`, `#N/A`, `none`. */
export function isBlank(value: unknown): boolean {
  return typeof value === 'string' ? isBlankText(value) : isEmpty(value);
}

/** As `isBlank`, for a text. */
export function isBlankText(text: string): boolean {
  if (text === '') return true;
  const first = text.charCodeAt(0);
  if (first > SPACE && first !== NO_BREAK_SPACE && !FIRST.has(first)) return false;
  const word = text.trim();
  return word === '' || (word.length <= LONGEST && WORDS.has(word));
}
