/** The generated files of the client libraries are those of the service's own description. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { generatedFiles } from '../../clients/generate.ts';

it.each(generatedFiles().map(({ path, text }) => ({ path, text })))('clients/$path is current', ({ path, text }) => {
  expect(readFileSync(`clients/${path}`, 'utf8'), 'run `npm run generate:clients`').toBe(text);
});
