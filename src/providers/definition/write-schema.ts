/** Writes docs/provider.schema.json: `node src/providers/definition/write-schema.ts`. */
import { writeFile } from 'node:fs/promises';
import { providerSchemaText } from './reference.ts';

await writeFile(new URL('../../../docs/provider.schema.json', import.meta.url), providerSchemaText());
