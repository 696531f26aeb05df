import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { RUN_FLAGS } from '../../src/definition/flags.ts';
import { configurationPage, jsonSchemaText } from '../../src/definition/reference.ts';
import { RUN_FLAG_NOTES } from '../../src/definition/run-options.ts';

const docs = new URL('../../docs/', import.meta.url);

// After a change of the schema run: node src/definition/write-schema.ts
test('docs/job.schema.json is current', async () => {
  expect(await readFile(new URL('job.schema.json', docs), 'utf8')).toBe(jsonSchemaText());
});

test('docs/configuration.md is current', async () => {
  expect(await readFile(new URL('configuration.md', docs), 'utf8')).toBe(configurationPage());
});

test('the JSON schema is draft 2020-12 and accepts no other keys', () => {
  const schema = JSON.parse(jsonSchemaText()) as { $schema: string; additionalProperties: boolean; required?: unknown };
  expect(schema).toMatchObject({ $schema: 'https://json-schema.org/draft/2020-12/schema', additionalProperties: false });
  expect(schema.required).toBeUndefined();
});

test('every flag of a run is described', () => {
  expect(Object.keys(RUN_FLAG_NOTES)).toEqual([...RUN_FLAGS]);
});
