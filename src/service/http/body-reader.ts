/** Reads a JSON body by its declaration, and collects all findings for one answer. */
import { ServiceError, type ErrorItem } from './problem.ts';
import { nearest } from '../../util/nearest.ts';
import type { Body, SchemaField, ValueOf } from './body-schema.ts';
import { isObject } from '../../util/is-object.ts';

/** The most findings of one answer. */
const MAX_ITEMS = 100;
/** The most names in a finding: /docs has all of them. */
const MAX_LISTED = 20;

/** A reader, whatever the declaration of its body. */
export interface Lookupable {
  has(field: string): boolean;
  text(field: string): string | null;
  fail(at: string, code: string, detail: string): void;
}

/** An absent field and `null` are the same: the field was not given. */
export class BodyReader<B extends Body> implements Lookupable {
  readonly #fields: Readonly<Record<string, SchemaField>>;
  readonly #body: Readonly<Record<string, unknown>>;
  readonly #items: ErrorItem[] = [];

  /** @throws ServiceError when the body is no JSON object. */
  constructor(body: unknown, declared: B) {
    if (!isObject(body)) {
      const detail = `the body must be a JSON object, not ${typeName(body)}`;
      throw new ServiceError('validation_failed', detail, { errors: [{ pointer: '', code: 'type', detail }] });
    }
    this.#fields = declared.properties;
    this.#body = body;
    for (const name of Object.keys(body)) {
      if (this.#isFull()) break;
      if (!Object.hasOwn(this.#fields, name)) this.#unknown(name);
    }
  }

  has(field: string): boolean {
    return this.#value(field) !== undefined;
  }

  /** The value of a field, or null when it is absent or wrong. Findings are collected. */
  get<F extends keyof B['properties'] & string>(field: F): ValueOf<B['properties'][F]> | null {
    return this.#read(field) as ValueOf<B['properties'][F]> | null;
  }

  /** A field that is declared as text. */
  text(field: string): string | null {
    return this.#read(field) as string | null;
  }

  fail(at: string, code: string, detail: string): void {
    if (!this.#isFull()) this.#items.push({ pointer: at, code, detail });
  }

  /** @throws ServiceError with all findings, if there are any */
  finish(): void {
    const [first] = this.#items;
    if (first === undefined) return;
    const more = this.#items.length - 1;
    throw new ServiceError('validation_failed', more === 0 ? first.detail : `${first.detail} (and ${more} more, see errors)`, {
      errors: this.#items,
    });
  }

  /** Whether the limit of findings is reached. */
  #isFull(): boolean {
    return this.#items.length >= MAX_ITEMS;
  }

  #value(name: string): unknown {
    return Object.hasOwn(this.#body, name) ? (this.#body[name] ?? undefined) : undefined;
  }

  #read(name: string): unknown {
    const value = this.#value(name);
    if (value === undefined) return null;
    const field = this.#fields[name] as SchemaField;
    switch (field.type) {
      case 'string':
        if (typeof value !== 'string') return this.#wrongType(name, 'a string', value);
        if (field.minLength !== undefined && value === '') return this.#refuse(pointer(name), 'empty', `${name} is empty`);
        if (field.maxLength !== undefined && value.length > field.maxLength)
          return this.#refuse(pointer(name), 'too_long', `${name} is longer than ${field.maxLength} characters`);
        return field.enum === undefined || field.enum.includes(value)
          ? value
          : this.#refuse(pointer(name), 'enum', `${name} must be one of ${field.enum.join(', ')}, not ${shown(value)}`);
      case 'boolean':
        return typeof value === 'boolean' ? value : this.#wrongType(name, 'true or false', value);
      case 'integer':
        if (typeof value !== 'number' || !Number.isInteger(value)) return this.#wrongType(name, 'a whole number', value);
        return value >= field.minimum && value <= field.maximum
          ? value
          : this.#refuse(pointer(name), 'range', `${name} must be from ${field.minimum} to ${field.maximum}, not ${value}`);
      case 'array':
        return Array.isArray(value)
          ? this.#list(name, pointer(name), field, value as readonly unknown[])
          : this.#wrongType(name, 'an array', value);
      case 'object':
        if (!isObject(value)) return this.#wrongType(name, 'an object', value);
        return field.properties === undefined ? value : this.#lists(name, field.properties, value);
      default:
        return field satisfies never;
    }
  }

  #lists(
    name: string,
    properties: Readonly<Record<string, SchemaField & { type: 'array' }>>,
    value: Readonly<Record<string, unknown>>,
  ): unknown {
    for (const [inner, list] of Object.entries(value)) {
      if (this.#isFull()) break;
      const [here, where] = [`${name}.${inner.slice(0, 64)}`, pointer(name) + pointer(inner)];
      const field = Object.hasOwn(properties, inner) ? properties[inner] : undefined;
      if (field === undefined)
        this.fail(
          where,
          'unknown_field',
          `unknown field ${shown(inner)} in ${name}` +
            meant(inner, Object.keys(properties), `; known are ${Object.keys(properties).join(', ')}`),
        );
      else if (Array.isArray(list)) this.#list(here, where, field, list as readonly unknown[]);
      else this.fail(where, 'type', `${here} must be an array, not ${typeName(list)}`);
    }
    return value;
  }

  /** @param at where it is (RFC 6901) */
  #list(
    name: string,
    at: string,
    { items, minItems = 0, maxItems = Infinity }: SchemaField & { type: 'array' },
    values: readonly unknown[],
  ): readonly unknown[] {
    if (values.length < minItems) this.fail(at, 'too_few', `${name} is empty; give at least one`);
    if (values.length > maxItems) {
      this.fail(at, 'too_many', `${name} takes ${maxItems} at most, not ${values.length}`);
      return values;
    }
    for (const [place, value] of values.entries()) {
      if (this.#isFull()) break;
      const where = `${at}/${place}`;
      const here = `${name}[${place}]`;
      if (items.type === 'object') this.#object(here, where, items, value);
      else if (typeof value !== 'string') this.fail(where, 'type', `${here} must be a string, not ${typeName(value)}`);
      else if (items.enum !== undefined && !items.enum.includes(value))
        this.fail(where, 'enum', `unknown name ${shown(value)} in ${name}${meant(value, items.enum, listed(items.enum))}`);
    }
    return values;
  }

  #object(
    here: string,
    where: string,
    { properties, required }: { readonly properties: Readonly<Record<string, unknown>>; readonly required: readonly string[] },
    value: unknown,
  ): void {
    if (!isObject(value)) {
      this.fail(where, 'type', `${here} must be an object with ${required.join(', ')}, not ${typeName(value)}`);
      return;
    }
    const known = Object.keys(properties);
    const stray = Object.keys(value).find((name) => !known.includes(name));
    if (stray !== undefined)
      this.fail(where, 'unknown_field', `${here} has the unknown field ${shown(stray)}; known are ${known.join(', ')}`);
    const missing = required.find((name) => !Object.hasOwn(value, name));
    if (missing !== undefined) this.fail(where, 'required', `${here} has no ${missing}`);
  }

  #unknown(name: string): void {
    const known = Object.keys(this.#fields);
    this.fail(pointer(name), 'unknown_field', `unknown field ${shown(name)}${meant(name, known, `; known are ${known.join(', ')}`)}`);
  }

  #wrongType(name: string, expected: string, value: unknown): null {
    return this.#refuse(pointer(name), 'type', `${name} must be ${expected}, not ${typeName(value)}`);
  }

  #refuse(at: string, code: string, detail: string): null {
    this.fail(at, code, detail);
    return null;
  }
}

/** The known names, when they are few. */
function listed(known: readonly string[]): string {
  return known.length <= MAX_LISTED ? `; known are ${known.join(', ')}` : '';
}

function meant(name: string, known: readonly string[], otherwise: string): string {
  const near = nearest(name, known);
  return near === null ? otherwise : `; did you mean ${near}?`;
}

/** RFC 6901. */
function pointer(field: string): string {
  return `/${field.slice(0, 64).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function shown(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}...` : text);
}

function typeName(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
