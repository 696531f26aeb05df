/** Whole records made from the text in which they are kept, which need not be read and written again for that. Pure. */
import { memberNames } from './member-names.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Which fields a record lacks is much the same for all of one source: what was made for one is remembered. */
const MAX_REMEMBERED = 2_000;

/** Makes whole records of kept texts. */
export interface Completer {
  /** Which of the fields a record has not, a bit each: kept with its text, it saves looking through that. */
  lacking(record: Readonly<Record<string, unknown>>): number;
  /** A whole record: of `kept`, of `given`, which are members as JSON has them between commas, and null for every other field. @param lacking of `kept`; null: it is not known */
  complete(kept: string, given: string, lacking: number | null): string;
}

/**
 * @param fields at most 53, and new ones come last: numbers that are kept tell them by their place
 * @param given those of them that no kept text has, and every answer gives
 */
export function completer(fields: readonly string[], given: readonly string[]): Completer {
  const kept = fields.filter((field) => !given.includes(field));
  const texts = new Map<number, string>();
  const nulls = (lacking: number): string => {
    let text = texts.get(lacking);
    if (text === undefined) {
      text = kept.filter((_, at) => Math.floor(lacking / 2 ** at) % 2 === 1).map((field) => `,${JSON.stringify(field)}:null`).join('');
      if (texts.size >= MAX_REMEMBERED) texts.clear();
      texts.set(lacking, text);
    }
    return text;
  };
  const all = kept.reduce((sum, _, at) => sum + 2 ** at, 0);
  const bits = memberNames(0, (name) => (kept.includes(name) ? 2 ** kept.indexOf(name) : 0));
  const lackingOf = (text: string): number => {
    const names = namesIn(text);
    return kept.reduce((sum, field, at) => (names.has(field) ? sum : sum + 2 ** at), 0);
  };
  return {
    lacking(record) {
      let lacking = all;
      let at = bits;
      for (const name in record) {
        at = at.to(name);
        if (record[name] !== undefined) lacking -= at.means;
      }
      return lacking;
    },
    complete: (text, more, lacking) => `${text === '{}' ? '{' : `${text.slice(0, -1)},`}${more}${nulls(lacking ?? lackingOf(text))}}`,
  };
}

/** The names of the members of an object, in JSON as `JSON.stringify` writes it. Names have no escapes in them: fields of records have none. */
export function namesIn(json: string): Set<string> {
  const names = new Set<string>();
  for (let at = 1; at < json.length - 1; ) {
    const end = json.indexOf('"', at + 1);
    names.add(json.slice(at + 1, end));
    at = endOfValue(json, end + 2) + 1;
  }
  return names;
}

/** Behind the value that begins at `at`. */
function endOfValue(json: string, at: number): number {
  const first = json.charCodeAt(at);
  if (first === QUOTE) return endOfString(json, at);
  const isNested = first === OPEN_BRACE || first === OPEN_BRACKET;
  let depth = 0;
  for (let i = at; ; i++) {
    const c = json.charCodeAt(i);
    if (c === QUOTE) i = endOfString(json, i) - 1;
    else if (c === OPEN_BRACE || c === OPEN_BRACKET) depth++;
    else if (c === CLOSE_BRACE || c === CLOSE_BRACKET) {
      if (!isNested) return i;
      if (--depth === 0) return i + 1;
    } else if (c === COMMA && !isNested) return i;
    else if (i >= json.length) return i;
  }
}

function endOfString(json: string, at: number): number {
  for (let end = json.indexOf('"', at + 1); ; end = json.indexOf('"', end + 1)) {
    if (end === -1) return json.length;
    let backslashes = 0;
    while (json.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end + 1;
  }
}
