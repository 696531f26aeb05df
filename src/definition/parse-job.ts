/** Parses a job file's text and finds the line of each key. */
import { isMap, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml';
import type { Node } from 'yaml';
import { ConfigError } from '../util/errors.ts';

/** Limit on uses of one anchor, because aliases may multiply a document. */
const MAX_ALIASES = 100;
/** Deeper than any key, and shallow enough for every recursion. */
const MAX_DEPTH = 64;

/** Parses YAML or JSON. An empty document is an empty job. */
export function parseJob(text: string, path: string): { value: unknown; lines: ReadonlyMap<string, number> } {
  const refuse = (line: number | null, problem: string, cause?: unknown): ConfigError =>
    new ConfigError('job_syntax', `${path}${line === null ? '' : `, line ${line}`}: ${problem}`, {
      cause,
      hint: 'A job file is one YAML or JSON mapping. Values that begin with * { [ | or a comma are put in quotes: "*.csv".',
    });
  const deep = tooDeep(text);
  if (deep !== null) throw refuse(deep, `brackets are nested more than ${MAX_DEPTH} deep`);
  const counter = new LineCounter();
  try {
    // `uniqueKeys` compares each key with every other, in quadratic time. `collectLines` finds repeated keys instead.
    const document = parseDocument(text, {
      version: '1.2',
      schema: 'core',
      uniqueKeys: false,
      strict: true,
      prettyErrors: false,
      lineCounter: counter,
    });
    const problem = document.errors[0] ?? document.warnings[0];
    if (problem !== undefined) throw refuse(counter.linePos(problem.pos[0]).line, inWords(problem));
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
function tooDeep(text: string): number | null {
  let depth = 0;
  let line = 1;
  for (const char of text) {
    if (char === '\n') line += 1;
    else if (char === '[' || char === '{') depth += 1;
    else if (char === ']' || char === '}') depth -= 1;
    if (depth > MAX_DEPTH) return line;
  }
  return null;
}

/** The parser's message, reworded where it addresses programmers. */
function inWords(problem: { code: string; message: string }): string {
  if (problem.code === 'MULTIPLE_DOCS') return 'a second document begins here: a job file holds one job';
  if (problem.message.includes('call stack')) return 'it is nested too deep';
  return problem.message;
}

type Refuse = (line: number | null, problem: string) => ConfigError;
type LineOf = (range: Node['range']) => number | null;

/** Collects the line of each key. @throws for a repeated key, and for a key that is not a plain word */
function collectLines(node: Node | null, path: string, lines: Map<string, number>, lineOf: LineOf, refuse: Refuse): void {
  // No key of a job lies in a list, so mappings there have no path. Repeated keys are still found.
  if (isSeq(node)) for (const item of node.items) collectLines(item as Node | null, '', new Map(), lineOf, refuse);
  if (!isMap(node)) return;
  for (const { key, value } of node.items) {
    if (!isScalar(key)) throw refuse(lineOf(node.range), 'a key must be plain text: put it in quotes');
    const name = path === '' ? String(key.value) : `${path}.${String(key.value)}`;
    const line = lineOf(key.range);
    const first = lines.get(name);
    if (first !== undefined) throw refuse(line, `the key ${name.slice(0, 100)} is given twice, first on line ${first}`);
    lines.set(name, line ?? 0);
    collectLines(value as Node | null, name, lines, lineOf, refuse);
  }
}
