/** Builds `@millrace/client` into `dist/`: `node clients/node/build.ts`. One ES module, which CommonJS requires, and the types. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';

const ROOT = resolve(import.meta.dirname, '../..');
const ENTRY = join(import.meta.dirname, 'index.ts');
const DIST = join(import.meta.dirname, 'dist');
const ABOUT = '// Built by clients/node/build.ts from src/client/library.\n';

/** Records that no call returns: pages are those of `Pager`. */
const INNER = /^(?:(?:Contact|Signal|Batch|WebhookDelivery)Page(?:Meta)?|PageMeta)$/;

/** Returns the path of the ES module. @throws Error when the sources do not compile */
export async function buildNodeClient(): Promise<string> {
  const refuse = (_level: unknown, { message = '' }: { readonly message?: string }): never => {
    throw new Error(message);
  };
  // Nothing of a platform may be imported: a warning is an error.
  const bundle = await rolldown({ input: ENTRY, platform: 'neutral', onLog: refuse });
  const form = { banner: ABOUT, comments: false, minify: true } as const;
  const module = join(DIST, 'index.js');
  await bundle.write({ file: module, format: 'esm', ...form });
  await bundle.close();
  const text = await readFile(module, 'utf8');
  // Node prints the whole line of an error: each function gets lines of its own.
  await writeFile(module, text.replaceAll(/\}(?=#\w|async |async\*|function|get \w|static |const |let |var |class )/g, '}\n'));
  // A copy of the code would double the package. Node requires an ES module from 20.19 on.
  await writeFile(join(DIST, 'index.cjs'), `module.exports = require('./index.js');\n`);
  await writeFile(join(DIST, 'index.d.cts'), await declarations());
  // An ES module may take the types of the other kind, but not the reverse.
  await writeFile(join(DIST, 'index.d.ts'), `export * from './index.cjs';\n`);
  return module;
}

/** The declarations of all modules in one file. Only what the entry exports is exported. */
async function declarations(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-types-'));
  try {
    const options = [
      '--noEmit',
      'false',
      '--declaration',
      '--emitDeclarationOnly',
      '--stripInternal',
      '--outDir',
      folder,
      '--rootDir',
      ROOT,
    ];
    const config = join(folder, 'tsconfig.json');
    const compilerOptions = { typeRoots: [join(ROOT, 'node_modules/@types')] };
    await writeFile(config, JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), compilerOptions, include: [], files: [ENTRY] }));
    await promisify(execFile)(join(ROOT, 'node_modules/.bin/tsc'), ['-p', config, ...options], { cwd: ROOT });
    const texts = new Map<string, string>();
    await collect(join(folder, relative(ROOT, ENTRY)).replace(/\.ts$/, '.d.ts'), texts);
    const [, ...modules] = texts.values();
    const names = new Set(
      modules.flatMap((text) => [...text.matchAll(/^export .*?(?:class|interface|type|const|function) (\w+)/gm)].map(([, name]) => name)),
    );
    const entry = [...texts.values()][0] ?? '';
    const exported = [...entry.matchAll(/^export (type )?\{ (.*?) \}/gm)].flatMap(([, , list = '']) => list.split(', '));
    const all = [...entry.matchAll(/^export type \* from '(.*)'/gm)].flatMap(([, path = '']) => namesIn(textOf(texts, path)));
    const wanted = [...new Set([...exported, ...all])].filter((name) => names.has(name) && !INNER.test(name)).toSorted();
    const body = reachable(modules.map((text) => plain(text)).join('\n'), wanted);
    return `${ABOUT}${body}export {};\n`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The declarations that the wanted ones name, in their order. Each begins at the begin of a line, with its comment. */
function reachable(text: string, wanted: readonly string[]): string {
  const start = /^(?=\/\*\*|declare |interface |type )/m;
  const pieces = text.split(start).reduce<string[]>((all, piece) => {
    const isComment = (all.at(-1) ?? '').startsWith('/**') && !/^(?:declare|interface|type) /m.test(all.at(-1) ?? '');
    if (isComment && !piece.startsWith('/**')) all[all.length - 1] += piece;
    else all.push(piece);
    return all;
  }, []);
  const nameOf = (piece: string): string =>
    /^(?:declare (?:abstract )?)?(?:class|interface|type|const|function) (\w+)/m.exec(piece)?.[1] ?? '';
  const byName = Map.groupBy(pieces, nameOf);
  const found = new Set<string>();
  const visit = (name: string): void => {
    if (name === '' || found.has(name) || !byName.has(name)) return;
    found.add(name);
    for (const piece of byName.get(name) ?? [])
      for (const [word] of piece.replace(/\/\*\*.*?\*\/|'[^'\n]*'/gs, '').matchAll(/\w+/g)) visit(word);
  };
  wanted.forEach(visit);
  return pieces
    .filter((piece) => found.has(nameOf(piece)))
    .map((piece) => (wanted.includes(nameOf(piece)) ? piece.replace(/^(?=declare|interface|type)/m, 'export ') : piece))
    .map(smaller)
    .join('');
}

/** The same in less room: tabs, comments in one line, no comment that repeats the field's name, and no field that is marked readonly. */
function smaller(piece: string): string {
  return (/^(?:export )?interface /m.test(piece) ? piece.replaceAll(/^( +)readonly (?=[\w['])/gm, '$1') : piece)
    .replaceAll(/^(?: {4})+/gm, (spaces) => '\t'.repeat(spaces.length / 4))
    .replaceAll(/\/\*\*\n(.*?)\s*\*\//gs, (_, text: string) => `/** ${text.replaceAll(/\s*\n?[ \t]*\* /g, ' ').trim()} */`)
    .replaceAll(/\/\*\* ([^.@]*)\. \*\//g, '/** $1 */')
    .replaceAll(/^\t*\/\*\* (.*) \*\/\n(?=\t*(\w+)\??:)/gm, (comment: string, words: string, field: string) =>
      words.toLowerCase().replaceAll(' ', '_') === field ? '' : comment,
    )
    .replaceAll(/^\n/gm, '');
}

/** Reads a module and those that it imports. */
async function collect(path: string, into: Map<string, string>): Promise<void> {
  if (into.has(path)) return;
  const text = await readFile(path, 'utf8');
  into.set(path, text);
  for (const [, from = ''] of text.matchAll(/(?:from|import\() ?'(\..*?)'/g)) await collect(declarationOf(path, from), into);
}

function declarationOf(path: string, from: string): string {
  return join(dirname(path), from.replace(/\.(?:ts|js)$/, '.d.ts'));
}

function textOf(texts: ReadonlyMap<string, string>, from: string): string {
  const end = from.replace(/^(?:\.\.\/)+/, '/').replace(/\.(?:ts|js)$/, '.d.ts');
  return [...texts].find(([path]) => path.endsWith(end))?.[1] ?? '';
}

function namesIn(text: string): string[] {
  return [...text.matchAll(/^export (?:declare )?(?:interface|type|class) (\w+)/gm)].map(([, name = '']) => name);
}

/** A module without its imports and exports, and without the names that it gives to other modules. */
function plain(text: string): string {
  return text
    .replace(/^(?:import|export) [^;]*? from '[^']*';\n/gms, '')
    .replace(/^export \{\};\n/gm, '')
    .replace(/^export (?:declare )?(?=class|const|function|abstract)/gm, 'declare ')
    .replace(/^export (?=interface|type|declare)/gm, '')
    .replace(/\b(?:models|params)\.(?=[A-Z])/g, '');
}

if (import.meta.main) await buildNodeClient();
