// Pure. Extracts the prose of a source file or a page: comments, docstrings, test titles, paragraphs.

/** A piece of prose. `comment` is a run of `//` lines, `title` names a test, `page` is Markdown. `line` counts from 1. */
export interface Prose {
  readonly kind: 'comment' | 'docstring' | 'title' | 'page';
  readonly line: number;
  readonly text: string;
}

const STRING = /'(?:[^'\\\n]|\\[^])*'|"(?:[^"\\\n]|\\[^])*"/;
const REGEX = /(?<=(?:^|[-=(,:[!&|?{};<>+*%~^]|\b(?:return|typeof|case|of|await))\s*)\/(?![/*])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\//;
const TOKEN = new RegExp(`//[^\\n]*|/\\*[^]*?\\*/|${STRING.source}|${REGEX.source}|[\`{}]`, 'g');
const IN_TEMPLATE = /\\[^]|\$\{|`/g;
const TITLE = /(?:(?<![.\w])(?:it|test|describe)(?:\.\w+)*(?:\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\))?|\]\))\(\s*$/;

/** The comments and test titles of a TypeScript file, in their order. Adjacent `//` lines are one comment. */
export function proseOfSource(source: string): Prose[] {
  const found: Prose[] = [];
  const lineOf = lineCounter(source);
  // Braces still open in each template literal around here. In the literal's own text the count is -1.
  const depths: number[] = [];
  let lastComment = -1;
  let templateStart = 0;
  for (let at = 0; ;) {
    const inTemplate = depths.at(-1) === -1;
    const pattern = inTemplate ? IN_TEMPLATE : TOKEN;
    pattern.lastIndex = at;
    const match = pattern.exec(source);
    if (match === null) return found;
    const [token] = match;
    const { index } = match;
    at = index + token.length;
    if (inTemplate) {
      if (token.startsWith('\\')) continue;
      addTitle(found, source, templateStart, index, lineOf);
      if (token === '`') depths.pop();
      else depths[depths.length - 1] = 0;
    } else if (token === '`') {
      depths.push(-1);
      templateStart = at;
    } else if (token === '{' || token === '}') {
      const depth = depths.pop();
      if (depth !== undefined) depths.push(depth + (token === '{' ? 1 : -1));
      templateStart = at;
    } else if (token.startsWith('//')) {
      const line = lineOf(index);
      const ownLine = /(?:^|\n)[ \t]*$/.test(source.slice(source.lastIndexOf('\n', index - 1), index));
      const last = found.at(-1);
      const text = token.slice(2).trim();
      if (ownLine && lastComment === line - 1 && last !== undefined) found[found.length - 1] = { ...last, text: `${last.text}\n${text}` };
      else found.push({ kind: 'comment', line, text });
      lastComment = ownLine ? line : -1;
    } else if (token.startsWith('/*')) {
      const text = token
        .slice(2, -2)
        .replace(/^\*+/, '')
        .replace(/\n[ \t]*\*?[ \t]?/g, '\n');
      found.push({ kind: 'docstring', line: lineOf(index), text });
    } else if (!token.startsWith('/')) addTitle(found, source, index + 1, at - 1, lineOf);
  }
}

function addTitle(found: Prose[], source: string, start: number, end: number, lineOf: (at: number) => number): void {
  if (!TITLE.test(source.slice(Math.max(0, start - 160), start - 1))) return;
  found.push({ kind: 'title', line: lineOf(start), text: source.slice(start, end) });
}

/** The paragraphs, list items, headings and table cells of a page. Code blocks are left out; code in a line becomes `x`. */
export function proseOfPage(page: string): Prose[] {
  const found: Prose[] = [];
  let fence = '';
  let open = false;
  for (const [index, raw] of page.split('\n').entries()) {
    const fenceHere = /^\s*(```+|~~~+)/.exec(raw)?.[1] ?? '';
    if (fenceHere !== '') {
      fence = fence === '' ? fenceHere : raw.trim().startsWith(fence) ? '' : fence;
      open = false;
      continue;
    }
    if (fence !== '' || raw.trim() === '') {
      open = false;
      continue;
    }
    const text = raw
      .replace(/(`+)[^`]*\1/g, '`x`')
      .replace(/\]\([^)]*\)/g, ']')
      .replace(/<[^>]*>/g, '');
    const line = index + 1;
    if (/^\s*\|/.test(text)) {
      open = false;
      for (const cell of text.split(/(?<!\\)\|/)) if (/\w/.test(cell)) found.push({ kind: 'page', line, text: cell.trim() });
      continue;
    }
    const last = found.at(-1);
    if (open && last !== undefined && !/^\s*(?:[-*+]|\d+\.|#+|>)\s/.test(text)) {
      found[found.length - 1] = { ...last, text: `${last.text}\n${text.trim()}` };
    } else found.push({ kind: 'page', line, text: text.replace(/^\s*(?:[-*+]|\d+\.|#+|>)\s+/, '').trim() });
    open = !/^\s*#/.test(text);
  }
  return found;
}

/** The line of a position, for positions that grow. */
function lineCounter(source: string): (at: number) => number {
  let line = 1;
  let counted = 0;
  return (at) => {
    for (let next = source.indexOf('\n', counted); next !== -1 && next < at; next = source.indexOf('\n', counted)) {
      line += 1;
      counted = next + 1;
    }
    return line;
  };
}
