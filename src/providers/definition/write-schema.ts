/** Writes docs/provider.schema.json and the tables of docs/providers.md: `node src/providers/definition/write-schema.ts`. */
import { readFile, writeFile } from 'node:fs/promises';
import { providerSchemaText } from './reference.ts';
import { withTables } from './reference-tables.ts';

const page = new URL('../../../docs/providers.md', import.meta.url);
await writeFile(new URL('../../../docs/provider.schema.json', import.meta.url), providerSchemaText());
await writeFile(page, withTables(await readFile(page, 'utf8')));
