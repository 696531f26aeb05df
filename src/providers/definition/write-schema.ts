/**
 * Writes docs/provider.schema.json, the tables of docs/providers.md, and the compiled definition of the specification's service:
 * `node src/providers/definition/write-schema.ts`.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { builtInText } from './built-in.ts';
import { compileProvider } from './compile-provider.ts';
import { loadProvider } from './load-provider.ts';
import { providerSchemaText } from './reference.ts';
import { withTables } from './reference-tables.ts';

const page = new URL('../../../docs/providers.md', import.meta.url);
await writeFile(new URL('../../../docs/provider.schema.json', import.meta.url), providerSchemaText());
await writeFile(page, withTables(await readFile(page, 'utf8')));
await writeFile(new URL('millrace.json', import.meta.url), builtInText(compileProvider(await loadProvider('millrace'))));
