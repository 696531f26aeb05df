/** The published JSON Schema of provider definitions. Pure. */
import { z } from 'zod';
import { isObject } from '../../util/is-object.ts';
import { providerSchema } from './schema.ts';

type Node = Readonly<Record<string, unknown>>;

/** JSON Schema, draft 2020-12, of a definition as its author writes it. */
export function providerSchemaText(): string {
  const schema = z.toJSONSchema(providerSchema, { io: 'input', target: 'draft-2020-12' });
  return `${JSON.stringify({ ...(asWritten(schema) as Node), title: 'Millrace provider' }, null, 2)}\n`;
}

/**
 * A definition that uses another one may leave any key out, and takes one away with null. The command checks the whole, so the schema
 * requires nothing and permits null for each key.
 */
function asWritten(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(asWritten);
  if (!isObject(node)) return node;
  const members = Object.entries(node).filter(([name, member]) => name !== 'required' || !Array.isArray(member));
  return Object.fromEntries(
    members.map(([name, member]) => {
      if (name === 'properties' && isObject(member))
        return [name, Object.fromEntries(Object.entries(member).map(([key, schema]) => [key, nullable(schema)]))];
      return [name, name === 'additionalProperties' && isObject(member) ? nullable(member) : asWritten(member)];
    }),
  );
}

function nullable(schema: unknown): Node {
  const { description, ...rest } = asWritten(schema) as Node;
  return { ...(description === undefined ? {} : { description }), anyOf: [rest, { type: 'null' }] };
}
