/** Two slow reference implementations of the splitter: a scan without memory, and a regular expression. */
export interface Found {
  kind: string;
  text: string;
  line: number;
  nextOffset: number;
  nextLine: number;
}

export interface Limits {
  quoted: number;
  record: number;
}

/** The reference: scans each record from its first byte over the complete text, without memory. */
export function referenceRecords(text: string, limits: Limits): Found[] {
  const found: Found[] = [];
  let pos = 0;
  let line = 1;
  const eolAt = (at: number): number => (text.startsWith('\r\n', at) ? 2 : text[at] === '\n' || text[at] === '\r' ? 1 : 0);
  const lineEnd = (at: number): number => {
    let end = at;
    while (end < text.length && eolAt(end) === 0) end += 1;
    return end;
  };
  const countEols = (from: number, to: number): number => {
    let count = 0;
    for (let at = from; at < to; at += Math.max(1, eolAt(at))) if (eolAt(at) > 0) count += 1;
    return count;
  };
  while (pos < text.length) {
    const blank = eolAt(pos);
    if (blank > 0) {
      pos += blank;
      line += 1;
      continue;
    }
    let at = pos;
    let state = 'field';
    let opener = -1;
    let dirty = false;
    let quotes = false;
    let end = -1;
    let kind = '';
    const overlongAt = (place: number): boolean =>
      place - pos > limits.record || (place - pos === limits.record && (state === 'quoted' || eolAt(place) === 0) && place < text.length);
    let overlong = false;
    for (; end === -1; at += 1) {
      overlong ||= overlongAt(at);
      if (state === 'quoted' && (at - opener > limits.quoted || at >= text.length)) {
        // Unclosed: the line of the record's start, or of the quote when the record is too long to be rescanned.
        end = lineEnd(overlong ? opener : pos);
        if (end - pos > limits.record) overlong = true;
        kind = 'unclosed';
        break;
      }
      if (at >= text.length || (state !== 'quoted' && eolAt(at) > 0)) {
        end = at;
        break;
      }
      const unit = text[at];
      if (state === 'quoted') {
        if (unit === '"' && text[at + 1] === '"' && at + 1 - opener <= limits.quoted) at += 1;
        else if (unit === '"') state = 'closed';
      } else if (unit === ',') state = 'field';
      else if (unit === '"' && state !== 'after') {
        quotes = true;
        if (state === 'field') {
          state = 'quoted';
          opener = at;
        } else if (state === 'closed') state = 'quoted';
        else dirty = true;
      } else {
        if (state === 'closed' || state === 'after') {
          dirty = true;
          const space = unit === ' ' || unit === '\t';
          if (!space && countEols(opener, at) > 0) {
            end = lineEnd(overlong ? opener : pos);
            kind = 'unclosed';
            break;
          }
          state = space ? 'after' : 'bare';
        } else state = 'bare';
      }
      // The second quote of a pair counts separately for the limit.
      overlong ||= overlongAt(at);
    }
    if (overlong) kind = 'overlong';
    else if (kind === '') kind = dirty ? 'dirty' : quotes ? 'quoted' : 'plain';
    const next = end + eolAt(end);
    const nextLine = line + countEols(pos, next);
    found.push({ kind, text: kind === 'overlong' ? '' : text.slice(pos, end), line, nextOffset: next, nextLine });
    pos = next;
    line = nextLine;
  }
  return found;
}

/** A cell by RFC 4180, or one that does not begin with a quote. */
const CELL = '(?:"(?:[^"]|"")*"|(?!")[^,\\n]*)';

const RECORD = new RegExp(`${CELL}(?:,${CELL})*\\r?(?:\\n|$)`, 'y');

/** Strict records by a regular expression: a match that is short enough, else its first line alone. */
export function strictReferenceRecords(text: string, delimiter: number | null, record: number): Pick<Found, 'text' | 'nextOffset'>[] {
  const found = [];
  for (let pos = 0; pos < text.length;) {
    const line = text.slice(pos, text.indexOf('\n', pos) === -1 ? undefined : text.indexOf('\n', pos) + 1);
    RECORD.lastIndex = pos;
    const whole = delimiter === null ? null : (RECORD.exec(text)?.[0] ?? null);
    const content = (part: string): string => part.replace(/\r?\n$|\r$/, '');
    const part = whole !== null && content(whole).length <= record ? whole : line;
    const isBlank = /^[ \t]*\r?\n?$/.test(line);
    pos += isBlank ? line.length : part.length;
    if (!isBlank) found.push({ text: content(part).length > record ? 'overlong' : content(part), nextOffset: pos });
  }
  return found;
}
