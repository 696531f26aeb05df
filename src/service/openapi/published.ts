/** The document with the package's version and the sample set's answers, which lie beside the code. */
import { readFileSync } from 'node:fs';
import { openApiDocument, type OpenApiDocument, type SampleAnswers } from './document.ts';

/** As far from `src/service/openapi` as from `dist/service/openapi`. */
const PACKAGE = new URL('../../../', import.meta.url);

/** Made from the package's own files: they are there, or the package is broken. */
export function publishedDocument(): OpenApiDocument {
  const { version } = read('package.json') as { readonly version: string };
  return openApiDocument(version, read('fixtures/sample/answers.json') as SampleAnswers);
}

function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(name, PACKAGE), 'utf8'));
}
