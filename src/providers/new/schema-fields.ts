/** The fields of an OpenAPI schema or example, each with its path in JSONata. Pure. */
import { isObject } from '../../util/is-object.ts';
import { listOf, textOf, type Node, type OpenApiDocument } from './openapi-document.ts';
import { parseJson } from '../../util/parse-json.ts';

const MAX_DEPTH = 7;
const MAX_FIELDS = 400;
/** A name that JSONata takes without quotes. */
const PLAIN = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** A name that JSONata takes in backticks. */
const SAYABLE = /^[^`\p{C}]+$/u;
const WORDS: ReadonlySet<string> = new Set(['and', 'or', 'in', 'true', 'false', 'null', 'function']);

export interface Field {
  /** Such as `body.data.emails[0].value`. */
  readonly path: string;
  /** The names on the way, without positions. */
  readonly names: readonly string[];
  /** text, number, boolean, list or any. */
  readonly type: 'text' | 'number' | 'boolean' | 'list' | 'any';
  /** The words that it may have; empty when the schema does not say. */
  readonly words: readonly string[];
}

/** The fields of the body of an answer. Objects and the first entry of a list are entered. */
export function fieldsOfAnswer(document: OpenApiDocument, response: Node): readonly Field[] {
  const content = document.at(response['content']);
  const json = Object.entries(content).find(([type]) => /json/i.test(type))?.[1];
  const media = document.at(json);
  const fields = walk(document, media['schema']);
  if (fields.length > 0) return fields;
  const [example] = Object.values(document.at(media['examples'])).map((one) => document.at(one)['value']);
  return walk(document, schemaOf(media['example'] ?? example ?? document.at(media['schema'])['example']));
}

/** A schema with the properties of all its parts. `oneOf` and `anyOf` count by their first part that has some. */
export function wholeSchema(document: OpenApiDocument, node: unknown, depth = 0): Node {
  const schema = document.at(node);
  if (depth > MAX_DEPTH || !document.mayEnter()) return schema;
  const parts = listOf(schema['allOf']).map((part) => wholeSchema(document, part, depth + 1));
  const choices = [...listOf(schema['oneOf']), ...listOf(schema['anyOf'])].map((part) => wholeSchema(document, part, depth + 1));
  const choice = choices.find((one) => isObject(one['properties']) || one['type'] !== 'null');
  const all = [...parts, ...(choice === undefined ? [] : [choice]), schema];
  const properties = Object.assign({}, ...all.map((one) => document.at(one['properties']))) as Node;
  const required = all.flatMap((one) => listOf(one['required']));
  const merged = Object.assign({}, ...all) as Node;
  return { ...merged, ...(Object.keys(properties).length === 0 ? {} : { properties }), ...(required.length === 0 ? {} : { required }) };
}

/** text, number, boolean, list or any, by the schema. */
export function typeOf(schema: Node): Field['type'] {
  const [type] = [schema['type']].flat().filter((one) => one !== 'null');
  if (type === 'string') return 'text';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'boolean') return 'boolean';
  return type === 'array' ? 'list' : 'any';
}

function walk(document: OpenApiDocument, root: unknown): Field[] {
  const found: Field[] = [];
  const enter = (node: unknown, path: string, names: readonly string[], depth: number): void => {
    if (depth > MAX_DEPTH || found.length >= MAX_FIELDS) return;
    const schema = wholeSchema(document, node);
    const properties = Object.entries(document.at(schema['properties'])).filter(([name]) => SAYABLE.test(name));
    for (const [name, member] of properties) enter(member, `${path}.${quoted(name)}`, [...names, name], depth + 1);
    if (properties.length > 0) return;
    const items = wholeSchema(document, schema['items']);
    if (isObject(items['properties'])) enter(items, `${path}[0]`, names, depth + 1);
    else if (names.length > 0) found.push({ path, names, type: typeOf(schema), words: listOf(schema['enum']).map(String) });
    else if (typeOf(schema) === 'list') enter(items, `${path}[0]`, names, depth + 1);
  };
  enter(root, 'body', [], 0);
  return found;
}

/** A schema of what an example shows. */
function schemaOf(example: unknown, depth = 0): Node {
  if (depth > MAX_DEPTH) return {};
  if (Array.isArray(example)) return { type: 'array', items: schemaOf(example[0], depth + 1) };
  if (isObject(example))
    return {
      type: 'object',
      properties: Object.fromEntries(Object.entries(example).map(([name, value]) => [name, schemaOf(value, depth + 1)])),
    };
  if (typeof example === 'string') return looksLikeJson(example) && depth === 0 ? schemaOf(parseJson(example), 1) : { type: 'string' };
  return typeof example === 'number' || typeof example === 'boolean' ? { type: typeof example } : {};
}

const looksLikeJson = (text: string): boolean => /^\s*[[{]/.test(text);

/** A name as JSONata writes it in a path. */
function quoted(name: string): string {
  return PLAIN.test(name) && !WORDS.has(name) ? name : `\`${name}\``;
}

/** The first line of a description, as it fits a comment. */
export function inComment(value: unknown, longest = 90): string {
  const line = textOf(value)
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim();
  return line.length > longest ? `${line.slice(0, longest).trimEnd()}…` : line;
}
