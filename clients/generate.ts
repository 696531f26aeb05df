/** Writes the generated files of all client libraries: `npm run generate:clients`. test/clients/generated.test.ts holds them current. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { publishedDocument } from '../src/service/openapi/published.ts';
import { EMITTERS } from './generator/emitters.ts';
import type { GeneratedFile } from './generator/model.ts';
import { readDocument, type Document } from './generator/read-document.ts';

/** The files of every language. Pure but for the document, which is made of the service's own declarations. */
export function generatedFiles(): GeneratedFile[] {
  const api = readDocument(publishedDocument() as unknown as Document);
  return Object.values(EMITTERS).flatMap((emit) => emit(api));
}

if (import.meta.main) {
  for (const { path, text } of generatedFiles()) {
    const file = join(import.meta.dirname, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}
