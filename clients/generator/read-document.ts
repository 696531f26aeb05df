/** From the OpenAPI document of the service to the model that the emitters read. */
import type { Api, ClientOperation, Enum, ErrorCode, EventType, Field, Shape, Type } from './model.ts';
import { ENUM_NAMES, nestedName, OBJECT_NAMES, OMITTED, OTHER_BODIES, PARAMS_OF_BODIES, PARAMS_OF_QUERIES } from './names.ts';

interface Schema {
  readonly [keyword: string]: unknown;
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly (string | null)[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | false;
}

interface Media {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
  readonly description?: string;
}

interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly description: string; readonly schema: Schema }[];
  readonly requestBody?: Media;
}

export interface Document {
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>>; readonly responses: Readonly<Record<string, Media>> };
}

/** @throws Error for a schema that the clients cannot express, with its name */
export function readDocument(document: Document): Api {
  const reader = new SchemaReader();
  const { schemas } = document.components;
  const bodies = new Set([...Object.keys(PARAMS_OF_BODIES), ...OTHER_BODIES]);
  for (const [name, schema] of Object.entries(schemas)) if (!bodies.has(name)) reader.model(name, schema);
  for (const [body, name] of Object.entries(PARAMS_OF_BODIES)) reader.params(name, schemas[body] ?? missing(body));
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  for (const { operation } of operations) {
    const name = PARAMS_OF_QUERIES[operation.operationId];
    if (name !== undefined) reader.params(name, queryOf(operation));
  }
  return {
    version: document.info.version,
    enums: reader.enums,
    models: inOrder(reader.models),
    params: inOrder(reader.paramShapes),
    errors: errorCodes(document, schemas['Problem']?.properties?.['code']?.enum ?? []),
    events: Object.entries(document.webhooks).map(([type, { post }]) => eventOf(type, post)),
    operations: operations.map(({ path, method, operation }): ClientOperation => ({ id: operation.operationId, method, path })),
  };
}

class SchemaReader {
  readonly models: Shape[] = [];
  readonly paramShapes: Shape[] = [];
  readonly enums: Enum[] = [];
  /** Names of objects by their fields, so that one shape has one name. */
  readonly #known = new Map<string, string>();

  model(name: string, schema: Schema): void {
    this.#shape(name, schema, this.models, 'model');
  }

  params(name: string, schema: Schema): void {
    this.#shape(name, schema, this.paramShapes, 'params');
  }

  #shape(name: string, schema: Schema, shapes: Shape[], kind: 'model' | 'params'): void {
    if (this.#has(name)) return;
    const declared = Object.entries(schema.properties ?? {}).filter(([field]) => OMITTED[name]?.includes(field) !== true);
    const fields = declared.map(([field, value]): Field => {
      const description = value.description ?? '';
      const required = schema.required?.includes(field) === true;
      return { name: field, description, type: this.#type(`${name}.${field}`, value, kind), required, nullable: isNullable(value) };
    });
    shapes.push({ name, description: schema.description ?? '', fields });
  }

  #has(name: string): boolean {
    return [...this.models, ...this.paramShapes].some((shape) => shape.name === name);
  }

  #type(at: string, schema: Schema, kind: 'model' | 'params'): Type {
    const [owner = '', field = ''] = at.split('.');
    if (at === 'BulkItem.params') return { kind: 'params', name: 'EnrichParams' };
    if (schema.$ref !== undefined) return { kind: 'model', name: schema.$ref.split('/').at(-1) ?? '' };
    if (schema.anyOf !== undefined) {
      const kinds = schema.anyOf.filter((one) => one.type !== 'null').map((one) => this.#type(at, one, kind));
      return kinds.length === 1 && kinds[0] !== undefined ? kinds[0] : { kind: 'union', of: kinds };
    }
    if (schema.enum !== undefined) return { kind: 'enum', name: this.#enum(at, schema.enum) };
    const type = typesOf(schema);
    if (type.length !== 1)
      return type.length === 0 ? { kind: 'any' } : { kind: 'union', of: type.map((one) => ({ kind: scalar(one, at) })) };
    if (type[0] === 'array')
      return { kind: 'list', of: this.#type(at, schema.items ?? {}, kind), ...(schema['x-or-one'] === true ? { orOne: true } : {}) };
    if (type[0] !== 'object') return { kind: scalar(type[0] ?? '', at) };
    if (schema.properties === undefined) {
      return typeof schema.additionalProperties === 'object'
        ? { kind: 'map', of: this.#type(at, schema.additionalProperties, kind) }
        : { kind: 'object' };
    }
    const shape = `${kind} ${Object.keys(schema.properties).join(' ')}`;
    const name = this.#known.get(shape) ?? OBJECT_NAMES[at] ?? nestedName(owner, field);
    const isNew = !this.#known.has(shape);
    this.#known.set(shape, name);
    if (isNew && this.#has(name)) throw new Error(`${at}: ${name} has other fields; give this one a name in clients/generator/names.ts`);
    this.#shape(name, schema, kind === 'model' ? this.models : this.paramShapes, kind);
    return { kind, name };
  }

  #enum(at: string, declared: readonly (string | null)[]): string {
    const values = declared.filter((value) => value !== null);
    const same = this.enums.find((one) => one.values.join() === values.join());
    if (same !== undefined) return same.name;
    const name = ENUM_NAMES[at];
    if (name === undefined) throw new Error(`the enum of ${at} has no name; give it one in clients/generator/names.ts`);
    this.enums.push({ name, values });
    return name;
  }
}

function typesOf(schema: Schema): readonly string[] {
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  return types.filter((type) => type !== 'null');
}

function isNullable(schema: Schema): boolean {
  return schema.type?.includes('null') === true || schema.anyOf?.some((one) => one.type === 'null') === true;
}

function scalar(type: string, at: string): 'string' | 'integer' | 'number' | 'boolean' {
  if (type === 'string' || type === 'integer' || type === 'number' || type === 'boolean') return type;
  throw new Error(`${at}: the clients have no type for ${type}`);
}

function queryOf({ parameters = [] }: Operation): Schema {
  const query = parameters.filter((parameter) => parameter.in === 'query');
  return {
    type: 'object',
    properties: Object.fromEntries(query.map(({ name, description, schema }) => [name, { ...schema, description, 'x-or-one': true }])),
  };
}

/** The description of a response has the meaning of each of its codes: "`code`: Meaning. `other`: Meaning." */
function errorCodes({ components }: Document, codes: readonly (string | null)[]): ErrorCode[] {
  const known = new Map<string, ErrorCode>();
  for (const { description = '', content } of Object.values(components.responses)) {
    const { status, code } = content?.['application/problem+json']?.schema.properties ?? {};
    for (const name of code?.enum ?? []) {
      const meaning = description.split(/(?=`\w+`: )/).find((part) => part.startsWith(`\`${name}\`: `));
      const text = meaning?.slice(`\`${name}\`: `.length).trim() ?? '';
      if (name !== null && !known.has(name)) known.set(name, { code: name, status: Number(status?.['const']), description: text });
    }
  }
  return codes.filter((code) => code !== null).map((code) => known.get(code) ?? missing(`response with the code ${code}`));
}

function eventOf(type: string, { summary = '', requestBody }: Operation): EventType {
  const data = requestBody?.content?.['application/json']?.schema.properties?.['data'];
  const model = [data ?? {}, ...(data?.anyOf ?? [])]
    .find(({ $ref }) => $ref !== undefined)
    ?.$ref?.split('/')
    .at(-1);
  return { type, description: summary, model: model ?? missing(`data of ${type}`) };
}

/** Each after the models that its fields have. */
function inOrder(shapes: readonly Shape[]): Shape[] {
  const ordered: Shape[] = [];
  const add = (shape: Shape): void => {
    if (ordered.includes(shape)) return;
    for (const field of shape.fields) for (const name of namesIn(field.type)) shapes.filter((one) => one.name === name).forEach(add);
    ordered.push(shape);
  };
  shapes.forEach(add);
  return ordered;
}

function namesIn(type: Type): string[] {
  switch (type.kind) {
    case 'list':
    case 'map':
      return namesIn(type.of);
    case 'union':
      return type.of.flatMap(namesIn);
    case 'model':
    case 'params':
      return [type.name];
    default:
      return [];
  }
}

function missing(what: string): never {
  throw new Error(`the OpenAPI document has no ${what}`);
}
