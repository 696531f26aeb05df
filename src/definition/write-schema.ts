/** Writes docs/job.schema.json and docs/configuration.md: `node src/definition/write-schema.ts`. */
import { writeFile } from 'node:fs/promises';
import { configurationPage, jsonSchemaText } from './reference.ts';

const docs = new URL('../../docs/', import.meta.url);
await writeFile(new URL('job.schema.json', docs), jsonSchemaText());
await writeFile(new URL('configuration.md', docs), configurationPage());
