/** Whole records made from the text in which they are kept, which need not be read and written again for that. Pure. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Which fields a record lacks is much the same for all of one source: what was made for one is remembered. */
const MAX_REMEMBERED = 2_000;

/** Makes whole records of kept texts: with `more`, whose values are JSON and which the kept text has not, and null for every other of `fields`. */
export function completer(fields: readonly string[]): (kept: string, more: Readonly<Record<string, string>>) => string {
  const remembered = new Map<string, string>();
  return (kept, more) => {
    const names = [...namesIn(kept), ...Object.keys(more)];
    const known = names.join();
    let absent = remembered.get(known);
    if (absent === undefined) {
      absent = fields.filter((field) => !names.includes(field)).map((field) => `,${JSON.stringify(field)}:null`).join('');
      if (remembered.size >= MAX_REMEMBERED) remembered.clear();
      remembered.set(known, absent);
    }
    let text = kept.slice(1, -1);
    for (const name in more) text += `,"${name}":${more[name]}`;
    text += absent;
    return `{${kept === '{}' ? text.slice(1) : text}}`;
  };
}

/** The names of the members of an object, in JSON as `JSON.stringify` writes it. Names have no escapes in them: fields of records have none. */
export function namesIn(json: string): string[] {
  const names: string[] = [];
  for (let at = 1; at < json.length - 1; ) {
    const end = json.indexOf('"', at + 1);
    names.push(json.slice(at + 1, end));
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
