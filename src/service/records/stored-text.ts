/** Completes a stored record to an answer without parsing it: puts `"field":null` behind the JSON text for each absent field. Pure. */
import { memberNames } from '../http/member-names.ts';

/** Records of one source mostly lack the same fields, so the text of their nulls is cached. */
const MAX_CACHED = 2_000;

/** A bit for each field, and for those that may be declared later: the integers that a number holds exactly have 53. */
const ALL_BITS = 2 ** 53 - 1;

interface Completer {
  /**
   * The fields that a record lacks, one bit a field. It is stored beside the text, so that the text need not be parsed for it. Bits without
   * a field are set: a record that was stored before a field was declared lacks it.
   */
  absentFields(record: Readonly<Record<string, unknown>>): number;
  /**
   * The whole record as JSON: the members of `stored`, those of `given`, and null for every other field.
   * @param given members as JSON, with commas between them and no braces
   * @param absent `absentFields` of the stored record
   */
  complete(stored: string, given: string, absent: number): string;
}

/**
 * @param fields at most 53. A stored number knows a field by its position, so a new one comes behind all stored ones
 * @param given those of them that no stored text has and every answer gives
 */
export function completer(fields: readonly string[], given: readonly string[]): Completer {
  const stored = fields.filter((field) => !given.includes(field));
  const cache = new Map<number, string>();
  const nulls = (absent: number): string => {
    let text = cache.get(absent);
    if (text === undefined) {
      text = stored
        .filter((_, at) => Math.floor(absent / 2 ** at) % 2 === 1)
        .map((field) => `,${JSON.stringify(field)}:null`)
        .join('');
      if (cache.size >= MAX_CACHED) cache.clear();
      cache.set(absent, text);
    }
    return text;
  };
  const bits = memberNames(0, (name) => (stored.includes(name) ? 2 ** stored.indexOf(name) : 0));
  return {
    absentFields(record) {
      let absent = ALL_BITS;
      let at = bits;
      for (const name in record) {
        at = at.to(name);
        if (record[name] !== undefined) absent -= at.means;
      }
      return absent;
    },
    complete: (text, more, absent) => `${text === '{}' ? '{' : `${text.slice(0, -1)},`}${more}${nulls(absent)}}`,
  };
}
