/** Every example of the reference runs against the real service. So do the five lines with which the page of each language begins. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { operationIds, operationOf } from '../../clients/conformance/operations.ts';
import { exampleRequest } from '../../clients/generator/examples/calls.ts';
import { SERVICE } from '../../clients/generator/examples/write-example.ts';
import { startService } from '../../src/service/app/start-service.ts';
import type { Operation } from '../../src/service/http/operation.ts';
import { OPERATIONS } from '../../src/service/openapi/operations.ts';
import { codeSamples, publishedExamples } from '../../src/service/reference/code-samples.ts';
import { available } from '../services/debian.ts';
import { cleanUp } from '../support/clean-up.ts';
import { FreshObjects, LEADS } from './examples/fresh-objects.ts';
import { PROGRAMS } from './examples/programs.ts';
import { Recorder, type Exchange } from './examples/recorder.ts';

type Fields = Readonly<Record<string, unknown>>;

const LIBRARIES = ['node', 'python', 'ruby', 'go', 'php'];
const FIVE_LINES = 'fiveLines';
/** More than 4,000 characters of filters. */
const DOMAINS = ['cobalt-materials.example', 'tundra-logistics.example', ...Array.from({ length: 300 }, (_, i) => `nobody-${i}.example`)];

it('each operation has an example in curl and, but for the page itself, with each client library', () => {
  const languages = (id: string): string[] => codeSamples(id, publishedExamples()).map(({ lang }) => lang);
  for (const id of operationIds()) expect(languages(id), id).toEqual(['curl', ...LIBRARIES]);
  expect(languages('getReference')).toEqual(['curl']);
});

it.each(['curl', ...LIBRARIES])('each example for %s sends the request of its operation, and shows the answer', async (language) => {
  const run = (await PROGRAMS[language]?.()) ?? `nothing runs ${language}`;
  if (typeof run === 'string') {
    available(false, `the examples for ${language}`, run);
    return;
  }
  const folder = await temporary();
  await writeFile(join(folder, 'leads.ndjson'), LEADS);
  await writeFile(join(folder, 'domains.txt'), `${DOMAINS.join('\n')}\n`);
  const service = await startService({ store: join(folder, 'store.sqlite'), sample: true, development: true });
  cleanUp(() => service.close(AbortSignal.abort()));
  const recorder = await Recorder.start(service.url);
  cleanUp(() => recorder.close());
  const objects = await FreshObjects.start(service.url);
  cleanUp(() => objects.close());

  const examples = OPERATIONS.flatMap(({ id }) =>
    codeSamples(id, publishedExamples()).map(({ lang, source }) => ({ name: id, lang, code: source })),
  );
  const wanted = examples.filter(({ lang }) => lang === language);
  if (LIBRARIES.includes(language)) wanted.push({ name: FIVE_LINES, lang: language, code: await fiveLines(language) });
  const programs = await Promise.all(
    wanted.map(async ({ name, code }) => {
      const ids = Object.entries(await objects.make(name));
      return { name, code: ids.reduce((text, [published, made]) => text.replaceAll(published, made), at(code, recorder.urlOf(name))) };
    }),
  );
  const outputs = await run(programs, folder);

  const wrong = wanted.flatMap(({ name }) => {
    const operation = OPERATIONS.find(({ id }) => id === name);
    const exchanges = recorder.exchanges.filter(({ example }) => example === name);
    return operation === undefined ? [] : differences(operation, language, exchanges, outputs.get(name) ?? '');
  });
  expect(wrong).toEqual([]);
  if (LIBRARIES.includes(language)) expect(outputs.get(FIVE_LINES)).toContain('Jérôme Noël');
});

/** Findings about an example: another request than its operation's, a refusal, an answer that is not shown. */
function differences(operation: Operation, language: string, exchanges: readonly Exchange[], output: string): string[] {
  const first = exchanges.find(({ method, path }) => operationOf(method, path) === operation.id);
  if (first === undefined) return [`${operation.id}: it sent no such request`];
  const successes = Object.keys(operation.answers).filter((status) => Number(status) < 400);
  const expected = requestOf(operation, language);
  const isSame = isDeepStrictEqual([first.query, bodyOf(first)], [expected.query, expected.body]);
  return [
    ...(successes.includes(String(first.status)) ? [] : [`${operation.id}: it was answered ${first.status} ${first.answer}`]),
    ...exchanges.filter(({ status }) => status >= 400).map(({ method, path, answer }) => `${operation.id}: ${method} ${path}: ${answer}`),
    ...(isSame ? [] : [`${operation.id}: it sent ${JSON.stringify([first.query, bodyOf(first)]).slice(0, 300)}`]),
    ...(output.includes(markOf(first.answer)) ? [] : [`${operation.id}: it shows no ${markOf(first.answer)} but ${output.slice(0, 500)}`]),
  ];
}

/** The request that an example makes. A library has pages of its own size. A search by body has the domains of a file. */
function requestOf(operation: Operation, language: string): { readonly query: Fields; readonly body: unknown } {
  const { query, body } = exampleRequest(operation);
  if (operation.raw !== undefined) return { query, body: LEADS };
  if (language === 'curl') return { query, body };
  const { limit: _, ...filters } = query;
  if (operation.id !== 'searchContactsByBody') return { query: filters, body };
  const { limit: __, ...fields } = body as Fields;
  return { query, body: { ...fields, domain: DOMAINS } };
}

function bodyOf({ body }: Exchange): unknown {
  if (body === '') return undefined;
  return body === LEADS ? body : (JSON.parse(body) as unknown);
}

/** A text of the answer by which it is recognised: a secret, an id, else the first text. A list has that of its first item. */
function markOf(answer: string): string {
  if (!answer.startsWith('{')) return answer.slice(0, 20);
  const [line = ''] = answer.split('\n{');
  const json = JSON.parse(line) as Fields;
  const first = Array.isArray(json['data']) ? ((json['data'] as Fields[])[0] ?? {}) : json;
  return firstText([first['secret'], first['id'], first]) ?? '';
}

function firstText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.values(value)
    .map(firstText)
    .find((text) => text !== undefined);
}

/** The first example of a language's page. It stands before any other text. Go's second one has the imports around it. */
async function fiveLines(language: string): Promise<string> {
  const page = await readFile(`docs/clients/${language}.md`, 'utf8');
  const [, code = ''] = /^# .*\n\n```\w+\n([^]*?)^```$/m.exec(page) ?? [];
  expect(code.split('\n').filter((line) => line !== '')).toHaveLength(5);
  expect(await readFile('docs/clients.md', 'utf8')).toContain(`(clients/${language}.md)`);
  if (language !== 'go') return code;
  const [, imports = ''] = /^```go\n(package main\n[^]*?)^```$/m.exec(page) ?? [];
  return `${imports}\nfunc main() {\n${code}}\n`;
}

function at(code: string, url: string): string {
  expect(code).toContain(SERVICE.url);
  return code.replace(SERVICE.url, url);
}

async function temporary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-examples-'));
  cleanUp(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
