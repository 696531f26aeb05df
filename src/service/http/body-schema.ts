/** Declarations of request bodies: `BodyReader` reads by them, and they are published as JSON Schema. Pure. */

/** A JSON Schema (draft 2020-12), as OpenAPI 3.1 has them. */
export type Schema = Readonly<Record<string, unknown>>;

interface Described {
  readonly description: string;
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
}

interface TextField extends Described {
  readonly type: 'string';
  readonly enum?: readonly string[];
  /** Characters. */
  readonly minLength?: 1;
  readonly maxLength?: number;
}

interface FlagField extends Described {
  readonly type: 'boolean';
}

interface WholeField extends Described {
  readonly type: 'integer';
  readonly minimum: number;
  readonly maximum: number;
}

interface TextsField extends Described {
  readonly type: 'array';
  readonly items: { readonly type: 'string'; readonly enum?: readonly string[] };
  readonly minItems?: number;
  readonly maxItems?: number;
}

interface ObjectsField extends Described {
  readonly type: 'array';
  readonly items: {
    readonly type: 'object';
    readonly properties: Readonly<Record<string, Schema>>;
    readonly required: readonly string[];
    readonly additionalProperties: false;
  };
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** An object whose fields are read elsewhere, or are the caller's own. */
interface ObjectField extends Described {
  readonly type: 'object';
  readonly properties?: undefined;
}

/** An object of lists. */
interface ListsField extends Described {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, TextsField>>;
  readonly additionalProperties: false;
}

export type SchemaField = TextField | FlagField | WholeField | TextsField | ObjectsField | ObjectField | ListsField;

/** The type of a field's value. */
export type ValueOf<F extends SchemaField> = F extends { readonly enum: readonly (infer E)[] }
  ? E
  : F extends TextField
    ? string
    : F extends FlagField
      ? boolean
      : F extends WholeField
        ? number
        : F extends { readonly items: { readonly enum: readonly (infer E)[] } }
          ? readonly E[]
          : F extends TextsField
            ? readonly string[]
            : F extends ObjectsField
              ? readonly unknown[]
              : F extends ListsField
                ? { readonly [name in keyof F['properties']]?: readonly string[] }
                : F extends ObjectField
                  ? Readonly<Record<string, unknown>>
                  : never;

/** The JSON object of a request's body. A field that is `null` was not given. */
export interface Body {
  readonly properties: Readonly<Record<string, SchemaField>>;
  readonly required?: readonly string[];
  /** Sets of fields. A body gives exactly one set, and no field of another. */
  readonly forms?: readonly (readonly string[])[];
}

/** The body as its published schema: exactly what `BodyReader` takes, but for what the values mean. */
export function bodySchema({ properties, required, forms }: Body): Schema {
  const named = Object.entries(properties).map(([name, field]) => [name, orNull(field, required?.includes(name) === true)] as const);
  return {
    type: 'object',
    ...(required === undefined ? {} : { required }),
    properties: Object.fromEntries(named),
    additionalProperties: false,
    ...(forms === undefined ? {} : { oneOf: forms.map((form) => formSchema(form, new Set(forms.flat()))) }),
  };
}

function formSchema(form: readonly string[], all: ReadonlySet<string>): Schema {
  const given = form.map((name) => [name, { not: { type: 'null' } }] as const);
  const absent = [...all].filter((name) => !form.includes(name)).map((name) => [name, { type: 'null' }] as const);
  return { title: form.join(' and '), required: form, properties: Object.fromEntries([...given, ...absent]) };
}

function orNull(field: SchemaField, required: boolean): Schema {
  if (required) return { ...field };
  if (field.type === 'string' && field.enum !== undefined) return { ...field, type: ['string', 'null'], enum: [...field.enum, null] };
  return { ...field, type: [field.type, 'null'] };
}

/** A part of the document that has a name. */
export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** A value that may be missing. */
export function nullable(schema: Schema): Schema {
  const { type, enum: values } = schema;
  if (typeof type !== 'string') return { anyOf: [schema, { type: 'null' }] };
  return { ...schema, type: [type, 'null'], ...(Array.isArray(values) ? { enum: [...(values as readonly unknown[]), null] } : {}) };
}
