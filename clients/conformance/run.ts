/** `npm run conformance:clients [-- python ...]`: runs the scenarios. Without names it writes the table of docs/clients/conformance.md. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { LANGUAGES } from './languages.ts';
import { runLanguage, type Result } from './run-language.ts';
import { readScenarios } from './scenario.ts';
import type { Language } from './runner.ts';
import { World } from './world.ts';

const DOCS = join(import.meta.dirname, '../../docs/clients');

const print = (line: string): void => void process.stdout.write(`${line}\n`);

interface Run {
  readonly results: readonly Result[];
  readonly seconds: number;
}

/** As many languages at once as there are processors, because scenarios wait most of their time. The slowest ones begin. */
async function runAll(only: readonly string[]): Promise<Map<string, Run>> {
  const wanted = LANGUAGES.filter(({ name }) => only.length === 0 || only.includes(name));
  const [world, ...languages] = await Promise.all([World.open(), ...wanted.map(({ prepare }) => prepare())]);
  const found = new Map<string, Run>();
  const left = wanted.map(({ name }, i) => ({ name, language: languages[i] ?? 'unknown' })).values();
  const worker = async (): Promise<void> => {
    for (const { name, language } of left) {
      if (typeof language === 'string') print(`SKIPPED ${name}: ${language}`);
      else found.set(name, await runOne(language, world));
    }
  };
  try {
    await Promise.all(Array.from({ length: availableParallelism() }, worker));
  } finally {
    await world.close();
  }
  return found;
}

async function runOne(language: Language, world: World): Promise<Run> {
  const from = performance.now();
  const results = await runLanguage(language, readScenarios(), world);
  const seconds = (performance.now() - from) / 1000;
  for (const { scenario, variant, failures } of results) {
    for (const failure of failures ?? []) print(`${language.name} ${variant}: ${scenario}: ${failure}`);
  }
  const run = results.filter(({ failures }) => failures !== null);
  const green = run.filter(({ failures }) => failures?.length === 0);
  print(`${language.name}: ${green.length} of ${run.length} scenarios are green in ${seconds.toFixed(1)} s`);
  if (green.length < run.length) process.exitCode = 1;
  return { results, seconds };
}

/** One row a scenario, one column a language. */
function tableOf(found: ReadonlyMap<string, Run>, total: number): string {
  const names = LANGUAGES.map(({ name }) => name);
  const cell = (language: string, scenario: string): string => {
    const results = found.get(language)?.results.filter((result) => result.scenario === scenario) ?? [];
    const run = results.filter(({ failures }) => failures !== null);
    if (run.length === 0) return found.has(language) ? 'no such thing' : 'not run';
    const red = run.filter(({ failures }) => (failures?.length ?? 0) > 0);
    return red.length === 0 ? 'green' : `red: ${red.map(({ variant }) => variant).join(', ')}`;
  };
  const rows = readScenarios().map(({ name }) => `| ${[name, ...names.map((language) => cell(language, name))].join(' | ')} |`);
  const seconds = [...found].map(([language, run]) => `${language} ${Math.round(run.seconds)} s`);
  return `# Conformance of the client libraries

Written by \`npm run conformance:clients\`. [The suite](../../clients/conformance/README.md) explains how a scenario is run against the real
service. "no such thing" means that the language has none, such as cancelling a blocking call.

The last run took ${Math.round(total)} s in all, on ${availableParallelism()} cores, with as many languages at once: ${seconds.join(', ')}.

| scenario | ${names.join(' | ')} |
|---|${names.map(() => '---|').join('')}
${rows.join('\n')}
`;
}

const only = process.argv.slice(2);
const began = performance.now();
const found = await runAll(only);
const total = (performance.now() - began) / 1000;
print(`${total.toFixed(1)} s in all`);
if (only.length === 0) {
  mkdirSync(DOCS, { recursive: true });
  writeFileSync(join(DOCS, 'conformance.md'), tableOf(found, total));
}
