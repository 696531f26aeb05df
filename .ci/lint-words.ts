// The linter of prose: `node .ci/lint-words.ts [FOLDER or FILE...]`. docs/CONTRIBUTING.md has the rules that it holds the tree to.
import { globSync, readFileSync, statSync } from 'node:fs';
import { proseOfPage, proseOfSource, type Prose } from './prose.ts';
import { PATTERNS, WORDS } from './words.ts';

/** One place to mend. `line` counts from 1. */
export interface Finding {
  readonly line: number;
  readonly message: string;
}

const MAX_COLUMNS = 140;
const MAX_WORDS = 38;
const MAX_COMMENT_SENTENCES = 2;
const DEFAULT_PATHS = ['src', 'test', 'bench', 'jobs', 'docs', 'fixtures', 'clients', '.ci', 'README.md', 'CHANGELOG.md'];

/** The findings of one file, in the order of its lines. `path` tells TypeScript (`.ts`) from Markdown (`.md`). */
export function lintText(path: string, text: string): Finding[] {
  const source = path.endsWith('.ts');
  const findings = source ? lintLines(text) : lintColumnsOfPage(text);
  for (const prose of source ? proseOfSource(text) : proseOfPage(text)) findings.push(...lintProse(prose));
  return findings.toSorted((a, b) => a.line - b.line);
}

function lintLines(text: string): Finding[] {
  const findings: Finding[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.length > MAX_COLUMNS) findings.push({ line: index + 1, message: `${line.length} columns; break the line at ${MAX_COLUMNS}` });
    const names = line.replace(/^\s*(?:\/\*\*|\*|\/\/).*|\/\/ .*|'[^']*'|"[^"]*"|`[^`]*`/g, '');
    for (const message of refusedWords(names)) findings.push({ line: index + 1, message });
  }
  return findings;
}

/** Long lines of a page, but for code, tables and a single word such as an address. */
function lintColumnsOfPage(text: string): Finding[] {
  let fence = false;
  return text.split('\n').flatMap((line, index) => {
    if (/^\s*(?:```|~~~)/.test(line)) fence = !fence;
    const isProse = !fence && !/^\s*[|<#]/.test(line) && /^\W*\S+\s+\S/.test(line.replace(/`[^`]*`/g, '`x`'));
    return isProse && line.length > MAX_COLUMNS
      ? [{ line: index + 1, message: `${line.length} columns; break the line at ${MAX_COLUMNS}` }]
      : [];
  });
}

function refusedWords(text: string): string[] {
  return WORDS.flatMap(({ pattern, say }) => {
    const found = pattern.exec(text)?.[0];
    return found === undefined ? [] : [`"${found}": ${say}`];
  });
}

function lintProse({ kind, line, text }: Prose): Finding[] {
  const findings: Finding[] = [];
  // Code keeps its length, so that a match keeps its line.
  const prose = text.replace(/`[^`\n]*`/g, (code) => `\`${'x'.repeat(code.length - 2)}\``);
  const lineAt = (index: number): number => line + (text.slice(0, index).match(/\n/g)?.length ?? 0);
  for (const { pattern, kinds, say } of PATTERNS) {
    if (kinds !== undefined && !kinds.includes(kind)) continue;
    for (const match of prose.replaceAll('\n', ' ').matchAll(pattern)) {
      const start = match.index + match[0].length - match[0].trimStart().length;
      findings.push({ line: lineAt(start), message: `"${match[0].trim()}": ${say}` });
    }
  }
  if (kind !== 'page') for (const message of refusedWords(prose)) findings.push({ line, message });
  let at = 0;
  const sentences = prose.split(/(?<=[.!?][)"*_]*)\s+(?=[A-Z`"(*@[-])|\n\s*\n|\n\s*(?=[-*] |@)/);
  for (const sentence of sentences) {
    const words = sentence.split(/\s+/).filter((word) => /\w/.test(word)).length;
    at = prose.indexOf(sentence, at);
    if (words > MAX_WORDS) {
      const opening = sentence.trim().slice(0, 30);
      findings.push({ line: lineAt(at), message: `${words} words in a sentence ("${opening} …"); end it after ${MAX_WORDS} at most` });
    }
  }
  if (kind === 'comment' && sentences.length > MAX_COMMENT_SENTENCES) {
    findings.push({ line, message: `${sentences.length} sentences; a comment says why in ${MAX_COMMENT_SENTENCES} at most` });
  }
  return findings;
}

function filesOf(path: string): string[] {
  return statSync(path).isDirectory() ? globSync(['**/*.ts', '**/*.md'], { cwd: path }).map((file) => `${path}/${file}`) : [path];
}

if (import.meta.main) {
  const given = process.argv.slice(2).map((path) => path.replace(/\/+$/, ''));
  const counts = new Map<string, number>();
  const output: string[] = [];
  for (const path of (given.length === 0 ? DEFAULT_PATHS : given).flatMap(filesOf).toSorted()) {
    for (const { line, message } of lintText(path, readFileSync(path, 'utf8'))) {
      const folder = path.split('/').slice(0, 2).join('/');
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
      output.push(`${path}:${line}: ${message}`);
    }
  }
  if (output.length > 0) {
    output.push('', ...[...counts].map(([folder, count]) => `${String(count).padStart(5)}  ${folder}`), `${output.length} findings`);
    process.stdout.write(`${output.join('\n')}\n`);
    process.exitCode = 1;
  }
}
