/** A schema of the document as a table of its fields. Pure. */
import type { Schema } from '../../http/body-schema.ts';
import { escape, prose, table } from '../../../util/html.ts';

/** The fields of an object, with those of objects within it. */
export function schemaTable(schema: Schema): string {
  return table(['Field', 'Type', 'Meaning'], fieldRows(schema, ''));
}

function fieldRows(schema: Schema, prefix: string): string[][] {
  const required = (schema['required'] ?? []) as readonly string[];
  return Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, Schema>>).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const must = prefix === '' && required.includes(name) && schema['additionalProperties'] === false ? ' (required)' : '';
    const row = [`<code>${escape(path)}</code>${must}`, typeText(field), meaning(field)];
    return [row, ...fieldRows(inner(field), `${path}${isList(field) ? '[]' : ''}.`)];
  });
}

/** The object whose fields are shown below a field: its own, or that of its items. */
function inner(field: Schema): Schema {
  const items = field['items'] as Schema | undefined;
  return items ?? field;
}

function isList(field: Schema): boolean {
  return [field['type']].flat().includes('array');
}

/** The type of a schema in words, with links to records. */
export function typeText(schema: Schema): string {
  const reference = schema['$ref'];
  if (typeof reference === 'string') {
    const name = escape(reference.split('/').at(-1) ?? '');
    return `<a href="#${name}">${name}</a>`;
  }
  const choices = (schema['anyOf'] ?? schema['oneOf']) as readonly Schema[] | undefined;
  if (choices !== undefined && schema['properties'] === undefined) return choices.map(typeText).join(' or ');
  const values = schema['enum'] as readonly unknown[] | undefined;
  if (values !== undefined && values.length <= 12)
    return values.map((value) => `<code>${escape(typeof value === 'string' ? value : JSON.stringify(value))}</code>`).join(' ');
  const types = [(schema['type'] ?? 'any') as string | string[]].flat();
  return types
    .map((type) => (type === 'array' ? `array of ${typeText((schema['items'] ?? {}) as Schema)}` : escape(named(type, schema))))
    .join(' or ');
}

function named(type: string, schema: Schema): string {
  const format = schema['format'];
  return type === 'string' && typeof format === 'string' ? format : type;
}

function meaning(field: Schema): string {
  const { description, default: usual, minimum, maximum, maxItems, examples } = field;
  const [example] = Array.isArray(examples) ? (examples as readonly unknown[]) : [];
  return [
    typeof description === 'string' ? prose(description) : '',
    maximum === undefined ? '' : `${String(minimum)} to ${Number(maximum).toLocaleString('en')}.`,
    maxItems === undefined ? '' : `At most ${Number(maxItems).toLocaleString('en')}.`,
    usual === undefined ? '' : `Default <code>${escape(JSON.stringify(usual))}</code>.`,
    example === undefined || JSON.stringify(example).length > 80 ? '' : `Such as <code>${escape(JSON.stringify(example))}</code>.`,
  ]
    .filter((part) => part !== '')
    .join(' ');
}
