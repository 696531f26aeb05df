/** Parses YAML or JSON and finds the line of each key. */
import { isMap, isScalar, isSeq, LineCounter, parseDocument as parseYaml, visit } from 'yaml';
import type { Node } from 'yaml';
import { ConfigError } from '../util/errors.ts';
import type { DocumentKind } from './document-kind.ts';

/** Limit on uses of one anchor, because aliases may multiply a document. */
const MAX_ALIASES = 100;
/** Deeper than any key, and shallow enough for every recursion. */
const MAX_DEPTH = 64;

export interface ParsedDocument {
  readonly value: unknown;
  /** The line of each key, from 1, by its path: `output.uri`, `operations.enrich.keys[2]`. */
  readonly lines: ReadonlyMap<string, number>;
}

/**
 * Parses one YAML 1.2 (core schema) or JSON document. An empty one has the value null.
 * @throws ConfigError `<code>_syntax`, with the line where it is known
 */
export function parseDocument(text: string, path: string, kind: DocumentKind): ParsedDocument {
  const refuse = (line: number | null, problem: string, cause?: unknown): ConfigError =>
    new ConfigError(kind.codes.syntax, `${path}${line === null ? '' : `, line ${line}`}: ${problem}`, {
      cause,
      hint:
        `A ${kind.noun} is one YAML or JSON ${kind.form ?? 'mapping'}. ` +
        `Values that begin with * { [ | or a comma are put in quotes: ${kind.quoted}.`,
    });
  const maxDepth = kind.maxDepth ?? MAX_DEPTH;
  const deep = tooDeep(text, maxDepth);
  if (deep !== null) throw refuse(deep, `brackets are nested more than ${maxDepth} deep`);
  const counter = new LineCounter();
  try {
    // `uniqueKeys` compares each key with every other, in quadratic time. `collectLines` finds repeated keys instead.
    const document = parseYaml(text, {
      version: '1.2',
      schema: 'core',
      uniqueKeys: false,
      strict: true,
      prettyErrors: false,
      lineCounter: counter,
    });
    const problem = document.errors[0] ?? document.warnings[0];
    if (problem !== undefined) throw refuse(counter.linePos(problem.pos[0]).line, inWords(problem, kind));
    visit(document, {
      Alias: (_, alias) => {
        if (alias.resolve(document) !== undefined) return;
        const line = alias.range ? counter.linePos(alias.range[0]).line : null;
        throw refuse(line, `*${alias.source.slice(0, 100)} is an alias of nothing`);
      },
    });
    const lines = new Map<string, number>();
    collectLines(document.contents, '', lines, (range) => (range ? counter.linePos(range[0]).line : null), refuse);
    return { value: document.toJS({ maxAliasCount: MAX_ALIASES }) as unknown, lines };
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    throw refuse(null, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

/** The line where brackets first exceed the maximum depth, or null. Quotes and comments count too, so the true depth may be less. */
function tooDeep(text: string, maxDepth: number): number | null {
  let depth = 0;
  let line = 1;
  for (const char of text) {
    if (char === '\n') line += 1;
    else if (char === '[' || char === '{') depth += 1;
    else if (char === ']' || char === '}') depth -= 1;
    if (depth > maxDepth) return line;
  }
  return null;
}

/** The parser's message, reworded where it addresses programmers. */
function inWords(problem: { code: string; message: string }, kind: DocumentKind): string {
  if (problem.code === 'MULTIPLE_DOCS') return `a second document begins here: a ${kind.noun} holds one ${kind.content}`;
  if (problem.message.includes('call stack')) return 'it is nested too deep';
  return problem.message;
}

type Refuse = (line: number | null, problem: string) => ConfigError;
type LineOf = (range: Node['range']) => number | null;

/** Collects the line of each key and list entry. @throws for a repeated key, and for a key that is not a plain word */
function collectLines(node: Node | null, path: string, lines: Map<string, number>, lineOf: LineOf, refuse: Refuse): void {
  if (isSeq(node)) {
    for (const [index, item] of (node.items as (Node | null)[]).entries()) {
      const name = `${path}[${index}]`;
      const line = lineOf(item?.range);
      if (line !== null) lines.set(name, line);
      collectLines(item, name, lines, lineOf, refuse);
    }
  }
  if (!isMap(node)) return;
  const seen = new Map<string, number>();
  for (const { key, value } of node.items) {
    if (!isScalar(key)) throw refuse(lineOf(node.range), 'a key must be plain text: put it in quotes');
    const name = path === '' ? String(key.value) : `${path}.${String(key.value)}`;
    const line = lineOf(key.range);
    const first = seen.get(name);
    // Within a list the path begins at the entry, which the line tells.
    const entry = name.lastIndexOf('].');
    const shown = (entry === -1 ? name : name.slice(entry + 2)).slice(0, 100);
    if (first !== undefined) throw refuse(line, `the key ${shown} is given twice, first on line ${first}`);
    seen.set(name, line ?? 0);
    lines.set(name, line ?? 0);
    collectLines(value as Node | null, name, lines, lineOf, refuse);
  }
}
