import { readdir, readFile } from 'node:fs/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { parseDocument } from '../../../src/documents/parse-document.ts';
import { BUILT_IN, builtInText } from '../../../src/providers/definition/built-in.ts';
import { compileProvider } from '../../../src/providers/definition/compile-provider.ts';
import { loadProvider, PROVIDER_DEFINITION } from '../../../src/providers/definition/load-provider.ts';
import { providerSchemaText } from '../../../src/providers/definition/reference.ts';
import { LEAST } from './support.ts';

const root = new URL('../../../', import.meta.url);
const validate = new Ajv2020({ allErrors: true, formats: { date: true } }).compile(JSON.parse(providerSchemaText()) as object);
const isValid = (text: string): boolean => validate(parseDocument(text, 'x.yaml', PROVIDER_DEFINITION).value);

// After a change of the schema run: node src/providers/definition/write-schema.ts
test('docs/provider.schema.json is current', async () => {
  expect(await readFile(new URL('docs/provider.schema.json', root), 'utf8')).toBe(providerSchemaText());
});

test('the definition of the service is compiled as jobs/providers/millrace.yaml has it', async () => {
  const text = await readFile(new URL('src/providers/definition/millrace.json', root), 'utf8');
  expect(text).toBe(builtInText(compileProvider(await loadProvider('millrace'))));
});

test('a mapping of the compiled definition gives what the loaded one gives', async () => {
  const answer = { status: 404, headers: {}, body: { code: 'no_match' } };
  for (const definition of [BUILT_IN, compileProvider(await loadProvider('millrace'))])
    expect(await definition.operations.enrich?.answers.miss?.evaluate(answer)).toBe(true);
});

test('the JSON schema takes what the command takes, and refuses unknown keys', () => {
  expect(isValid(LEAST)).toBe(true);
  expect(isValid('use: millrace\nquota: {plans: {growth: null}}\noperations: {verify: null, enrich: {batch: null}}')).toBe(true);
  expect(isValid(`${LEAST}baseUrll: https://a.example`)).toBe(false);
  expect(isValid(LEAST.replace('[email]', '[emial]'))).toBe(false);
  expect(isValid(LEAST.replace('record: {email: body.data.email}', 'record: 5'))).toBe(false);
});

test('every definition that ships is valid, and its first line lets an editor find the schema', async () => {
  const folder = new URL('jobs/providers/', root);
  for (const name of await readdir(folder)) {
    const text = await readFile(new URL(name, folder), 'utf8');
    expect([name, isValid(text)]).toEqual([name, true]);
    expect(text.split('\n', 1)).toEqual(['# yaml-language-server: $schema=../../docs/provider.schema.json']);
  }
});
