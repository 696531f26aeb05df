/** Guesses which key of a lookup fills which parameter, and by which keys an endpoint finds. Pure. */
import { partsOf, PROVIDER_KEYS, type KeyPart, type ProviderKey } from '../../steps/keys.ts';
import { onlyKeyOf } from '../../steps/registry.ts';
import type { OperationName } from '../compiled-provider.ts';
import type { Endpoint, Node, OpenApiDocument } from './openapi-document.ts';
import { maySetHeader } from '../definition/check-headers.ts';
import { listOf, textOf } from './openapi-document.ts';
import { inComment, wholeSchema } from './schema-fields.ts';

/** By the name of a parameter, lower case without separators. */
const PARTS: readonly (readonly [RegExp, KeyPart])[] = [
  [/^(?:work|person|contact|professional|personal)?emails?(?:address)?$/, 'email'],
  [/^emailtoverify$|^address$|^recipient$/, 'email'],
  [/linkedin|^profile(?:url)?$|^socialurl$/, 'linkedin_url'],
  [/^(?:mobile|phone|telephone|cell)(?:number|phone)?$/, 'phone'],
  [/^(?:person|contact)?(?:first|given)name$|^firstname$/, 'first_name'],
  [/^(?:person|contact)?(?:last|family|sur)name$|^surname$/, 'last_name'],
  [/^(?:person|contact|full)(?:full)?name$|^name$/, 'name'],
  [/^(?:company|organi[sz]ation)?(?:domain|website|websiteurl)(?:name)?$|^companyurl$|^domainorcompany$/, 'domain'],
  [/^(?:company|organi[sz]ation|employer)(?:name)?$/, 'company'],
];
const API_KEY = /^(?:x?apikey|apitoken|accesstoken|token|key|xapikey|authorization|secret|apisecret)$/;

export const bare = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/** The part of a lookup that a parameter of this name takes; null for another. */
export function partOf(name: string, operation: OperationName): KeyPart | null {
  const part = PARTS.find(([pattern]) => pattern.test(bare(name)))?.[1] ?? null;
  return onlyKeyOf(operation) === 'domain' && part === 'name' ? null : part;
}

export function isApiKey(name: string): boolean {
  return API_KEY.test(bare(name));
}

/** One parameter, or one field of a body. */
export interface Input {
  readonly name: string;
  /** JSONata; null when the document shows no value for it. */
  readonly expression: string | null;
  readonly part: KeyPart | null;
  readonly isRequired: boolean;
  readonly description: string;
}

/** A field of a body: a leaf, or an object or a list of one with fields of its own. */
export interface BodyField extends Input {
  readonly inner: { readonly isList: boolean; readonly fields: readonly BodyField[] } | null;
}

export interface Inputs {
  readonly path: readonly Input[];
  readonly query: readonly Input[];
  readonly headers: readonly Input[];
  readonly body: readonly BodyField[];
  readonly bodyType: 'json' | 'form';
  /** The body is a list of entries. */
  readonly isList: boolean;
}

const MAX_INNER = 3;
/** Headers that every request has. */
const OWN_HEADERS = /^(?:accept|user-agent|x-?api-?key)$/i;

export function inputsOf(
  document: OpenApiDocument,
  { method, path, parameters, operation: declared }: Endpoint,
  operation: OperationName,
): Inputs {
  const placed = (place: string): Input[] => {
    const names = new Map(parameters.filter((one) => one['in'] === place).map((one) => [textOf(one['name']), one]));
    return [...names]
      .filter(([name]) => name !== '' && !isApiKey(name))
      .map(([name, one]) => inputOf(document, name, one, operation, place === 'path' || one['required'] === true));
  };
  // A GET has no body, whatever a document says.
  const content = document.at(method === 'GET' ? null : document.at(declared['requestBody'])['content']);
  const types = Object.keys(content);
  const type = types.find((name) => /json/i.test(name)) ?? types.find((name) => /form/i.test(name)) ?? types[0];
  const schema = type === undefined ? {} : wholeSchema(document, document.at(content[type])['schema']);
  const isList = schema['type'] === 'array';
  return {
    path: placed('path').filter(({ name }) => path.includes(`{${name}}`)),
    query: placed('query'),
    headers: placed('header').filter(({ name }) => maySetHeader(name) && !OWN_HEADERS.test(name)),
    body: bodyFields(document, isList ? schema['items'] : schema, operation, 0),
    bodyType: type !== undefined && /form/i.test(type) ? 'form' : 'json',
    isList,
  };
}

function bodyFields(document: OpenApiDocument, node: unknown, operation: OperationName, depth: number): BodyField[] {
  const schema = wholeSchema(document, node);
  const required = new Set(listOf(schema['required']).map(String));
  return Object.entries(document.at(schema['properties']))
    .filter(([name]) => !isApiKey(name))
    .map(([name, member]) => {
      const own = wholeSchema(document, member);
      const isList = own['type'] === 'array';
      const fields = depth < MAX_INNER ? bodyFields(document, isList ? own['items'] : own, operation, depth + 1) : [];
      const leaf = inputOf(document, name, { schema: own, description: own['description'] }, operation, required.has(name));
      const inner = fields.some(({ part }) => part !== null) ? { isList, fields } : null;
      return { ...leaf, inner };
    });
}

function inputOf(document: OpenApiDocument, name: string, node: Node, operation: OperationName, isRequired: boolean): Input {
  const schema = wholeSchema(document, node['schema']);
  const part = partOf(name, operation);
  const isList = schema['type'] === 'array';
  const filler = isRequired && part === null ? fillerOf(schema, node) : null;
  const expression = part === null ? filler : isList ? `[${part}]` : part;
  return { name, part, expression, isRequired, description: inComment(node['description'] ?? schema['description']) };
}

/** A value for a parameter that must be there, as the document shows one. */
function fillerOf(schema: Node, node: Node): string | null {
  const [first] = listOf(schema['enum']);
  const value = schema['default'] ?? schema['const'] ?? first ?? node['example'] ?? schema['example'];
  if (typeof value === 'string') return `'${value.replaceAll(/['\\\p{C}]/gu, '')}'`;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}

/** All inputs, those of inner objects too. */
export function allInputs({ path, query, headers, body }: Inputs): readonly Input[] {
  const flat = (fields: readonly BodyField[]): readonly Input[] =>
    fields.flatMap((field): readonly Input[] => (field.inner === null ? [field] : flat(field.inner.fields)));
  return [...path, ...query, ...headers, ...flat(body)];
}

/** The keys by which these inputs find, those first that give everything the document requires. */
export function keysOf(inputs: Inputs, operation: OperationName): ProviderKey[] {
  const all = allInputs(inputs);
  const parts = new Set(all.flatMap(({ part }) => (part === null ? [] : [part])));
  const hasName = parts.has('name') || parts.has('first_name') || parts.has('last_name');
  const only = onlyKeyOf(operation);
  const possible = PROVIDER_KEYS.filter((key) => partsOf(key).every((some) => some.some((part) => parts.has(part))));
  const taken = possible.filter((key) => (only === null ? key !== 'domain' || !hasName : key === only));
  const required = all.flatMap(({ part, isRequired }) => (isRequired && part !== null ? [part] : []));
  const whole = taken.filter((key) => required.every((part) => partsOf(key).flat().includes(part)));
  return whole.length > 0 ? whole : taken;
}
