/** Small OpenAPI documents, and the definitions that they begin. */
import { newDefinition, type NewDefinition } from '../../../src/providers/new/new-definition.ts';
import type { CompiledProvider } from '../../../src/providers/compiled-provider.ts';
import { compiled } from '../definition/support.ts';

type Json = Readonly<Record<string, unknown>>;

export const openapi = (paths: Json, more: Json = {}): Json => ({
  openapi: '3.0.3',
  info: { title: 'Acme Data API', version: '1' },
  servers: [{ url: 'https://api.acme.example/v1/' }],
  components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
  paths,
  ...more,
});

export const query = (...names: readonly string[]): Json[] => names.map((name) => ({ name, in: 'query', schema: { type: 'string' } }));

/** Responses with one 200 whose body has these properties. */
export const answers = (properties: Json): Json => ({
  '200': { description: 'Found', content: { 'application/json': { schema: { type: 'object', properties } } } },
});

export const TEXT = { type: 'string' };

export function begun(document: Json, paths: readonly string[] = []): NewDefinition {
  return newDefinition(JSON.stringify(document), 'acme.json', { name: null, paths, today: '2026-11-26' });
}

export function begunProvider(document: Json, paths: readonly string[] = []): CompiledProvider {
  return compiled(begun(document, paths).text);
}
