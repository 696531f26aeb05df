/** Reads a JSON body field by field and collects everything that is wrong with it, so that the caller is told once. */
import { ServiceError, type ErrorItem } from './errors.ts';
import { nearest } from './nearest.ts';

/** More findings than this help nobody. */
const MAX_ITEMS = 100;

/** An absent field and `null` are the same: the field was not given. */
export class BodyReader {
  readonly #body: Readonly<Record<string, unknown>>;
  readonly #items: ErrorItem[] = [];

  /** @param known every field that the request may have. @throws ServiceError when the body is no JSON object. */
  constructor(body: unknown, known: readonly string[]) {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      const detail = `the body must be a JSON object, not ${typeName(body)}`;
      throw new ServiceError('validation_failed', detail, { errors: [{ pointer: '', code: 'type', detail }] });
    }
    this.#body = body as Readonly<Record<string, unknown>>;
    for (const field of Object.keys(body)) {
      if (known.includes(field)) continue;
      const near = nearest(field, known);
      this.fail(pointer(field), 'unknown_field', `unknown field ${shown(field)}${near === null ? `; known are ${known.join(', ')}` : `; did you mean ${near}?`}`);
    }
  }

  has(field: string): boolean {
    return this.#get(field) !== undefined;
  }

  string(field: string): string | null {
    const value = this.#get(field);
    if (value === undefined) return null;
    if (typeof value === 'string') return value;
    return this.#wrongType(field, 'a string', value);
  }

  boolean(field: string): boolean | null {
    const value = this.#get(field);
    if (value === undefined) return null;
    if (typeof value === 'boolean') return value;
    return this.#wrongType(field, 'true or false', value);
  }

  integer(field: string, least: number, most: number): number | null {
    const value = this.#get(field);
    if (value === undefined) return null;
    if (typeof value !== 'number' || !Number.isInteger(value)) return this.#wrongType(field, 'a whole number', value);
    if (value >= least && value <= most) return value;
    this.fail(pointer(field), 'range', `${field} must be from ${least} to ${most}, not ${value}`);
    return null;
  }

  oneOf<T extends string>(field: string, values: readonly T[]): T | null {
    const value = this.string(field);
    if (value === null) return null;
    if ((values as readonly string[]).includes(value)) return value as T;
    this.fail(pointer(field), 'enum', `${field} must be one of ${values.join(', ')}, not ${shown(value)}`);
    return null;
  }

  /** An array of anything. */
  array(field: string): readonly unknown[] | null {
    const value = this.#get(field);
    if (value === undefined) return null;
    if (Array.isArray(value)) return value as readonly unknown[];
    return this.#wrongType(field, 'an array', value);
  }

  /** An array of strings; each entry that is none is reported by itself. */
  strings(field: string): readonly string[] | null {
    const entries = this.array(field);
    entries?.forEach((entry, index) => {
      if (typeof entry !== 'string') this.fail(`${pointer(field)}/${index}`, 'type', `${field}[${index}] must be a string, not ${typeName(entry)}`);
    });
    return entries as readonly string[] | null;
  }

  /** An array of names out of `values`. */
  names(field: string, values: readonly string[]): readonly string[] | null {
    const entries = this.strings(field);
    entries?.forEach((entry, index) => {
      if (typeof entry !== 'string' || values.includes(entry)) return;
      const near = nearest(entry, values);
      this.fail(`${pointer(field)}/${index}`, 'enum', `unknown name ${shown(entry)} in ${field}${near === null ? '' : `; did you mean ${near}?`}`);
    });
    return entries;
  }

  fail(at: string, code: string, detail: string): void {
    if (this.#items.length < MAX_ITEMS) this.#items.push({ pointer: at, code, detail });
  }

  /** @throws ServiceError with all that was found, when anything was. */
  finish(): void {
    const [first] = this.#items;
    if (first === undefined) return;
    const more = this.#items.length - 1;
    throw new ServiceError('validation_failed', more === 0 ? first.detail : `${first.detail} (and ${more} more, see errors)`, { errors: this.#items });
  }

  #get(field: string): unknown {
    return Object.hasOwn(this.#body, field) ? (this.#body[field] ?? undefined) : undefined;
  }

  #wrongType(field: string, expected: string, value: unknown): null {
    this.fail(pointer(field), 'type', `${field} must be ${expected}, not ${typeName(value)}`);
    return null;
  }
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
