/** Declares the keys of a provider definition: their zod type, the words for a wrong value, and their description. */
import { z } from 'zod';

/** Completes "must be ...", by schema. */
export const expectations = z.registry<{ readonly expected: string }>();

/** A key with its description. @param expected completes "must be ..." */
export function key<T extends z.ZodType>(schema: T, expected: string, description: string): T {
  return expecting(schema.describe(description), expected);
}

/** An entry of a list or mapping. */
export function expecting<T extends z.ZodType>(schema: T, expected: string): T {
  expectations.add(schema, { expected });
  return schema;
}

/** Bounds, named once. */
export const BOUNDS = {
  text: 4096,
  expression: 65_536,
  entries: 200,
  absent: 50,
  documentation: 20,
  pollSeconds: 86_400,
  timeoutMs: [100, 600_000],
  concurrency: 1024,
  batch: 1_000,
  credits: 1_000_000,
} as const;

const JSONATA = 'a JSONata expression as text';

/** An expression. */
export const expression = z.string().min(1).max(BOUNDS.expression);
export const optionalExpression = (description: string): z.ZodOptional<typeof expression> =>
  key(expression.optional(), JSONATA, description);

/** An expression, or a number or truth value that stands for itself. */
export const leaf = z.union([expression, z.number(), z.boolean()]);
export const LEAF = 'a JSONata expression as text, a number, or true or false';

/** An expression, or a mapping or list at any depth whose text leaves are expressions. */
const tree: z.ZodType = z
  .lazy(() => z.union([expression, z.number(), z.boolean(), z.null(), z.array(tree), z.record(z.string(), tree)]))
  .meta({ id: 'expressions' });
export const treeKey = (description: string): z.ZodOptional<z.ZodType> =>
  key(
    z.union([expression, z.array(tree), z.record(z.string(), tree)]).optional(),
    `${JSONATA}, or a mapping or list of such expressions`,
    description,
  );

/** RFC 9110, 5.6.2. */
export const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$/;
export const HEADER = "a header's name";
export const headerName = expecting(z.string().regex(HEADER_NAME), HEADER);
