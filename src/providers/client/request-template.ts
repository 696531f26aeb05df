/** A request of a definition, made ready once: for each lookup only its mappings are evaluated. */
import type { BaseUrl } from '../../client/base-url.ts';
import type { TransportRequest } from '../../client/transport.ts';
import { isObject } from '../../util/is-object.ts';
import type { Mapping, ProviderRequest } from '../compiled-provider.ts';
import type { Credentials } from './credentials.ts';
import { evaluate, inWords, Refusal } from './refusal.ts';

/** Servers refuse longer ones: 8 KiB for a line is the usual bound of both. */
const MAX_PATH_CHARS = 8_000;
const MAX_HEADER_CHARS = 8_000;
/** Far above a request for a thousand lookups. */
const MAX_BODY_CHARS = 16 * 1024 * 1024;

/** RFC 9110, 5.5: visible characters, spaces and tabs. Above ASCII, servers disagree. */
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;
/** A segment that a server or a proxy would resolve, and so send the lookup to another endpoint. */
const DOT_SEGMENT = /(?:^|\/)\.{1,2}(?:\/|$)/;

interface TemplateOptions {
  readonly request: ProviderRequest;
  readonly base: BaseUrl;
  readonly credentials: Credentials;
  /** Sent with every request; names in any case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null where the provider has none. */
  readonly idempotencyHeader: string | null;
}

export class RequestTemplate {
  /** For messages, such as `GET https://api.example.com/people/{email}`. */
  readonly call: string;
  readonly #options: TemplateOptions;
  readonly #query: readonly (readonly [name: string, value: Mapping])[];
  readonly #headers: readonly (readonly [name: string, value: Mapping])[];
  /** The headers that are the same for all lookups, with the key of that version. */
  #fixed: { readonly version: number; readonly list: string[] } | null = null;

  constructor(options: TemplateOptions) {
    const { request, base } = options;
    this.#options = options;
    this.#query = Object.entries(request.query).map(([name, value]) => [encodeURIComponent(name), value]);
    this.#headers = Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value]);
    const path = request.path.map((part) => (typeof part === 'string' ? part : `{${part.text}}`)).join('');
    this.call = `${request.method} ${base.origin}${base.prefix}${path}`;
  }

  /** @throws Refusal when a mapping fails, or finds nothing where a value must be */
  async fill(input: unknown, idempotencyKey: string | undefined): Promise<TransportRequest> {
    const { request, idempotencyHeader } = this.#options;
    const path = await this.#pathFor(input);
    const fixed = this.#fixedHeaders();
    let headers = fixed;
    if (this.#headers.length > 0) headers = [...fixed, ...(await this.#mappedHeaders(input))];
    if (idempotencyHeader !== null && idempotencyKey !== undefined) headers = [...headers, idempotencyHeader.toLowerCase(), idempotencyKey];
    const body = request.body === null ? null : await this.#bodyFor(request.body, input);
    return { method: request.method, path, headers, body };
  }

  async #pathFor(input: unknown): Promise<string> {
    const { request, base, credentials } = this.#options;
    let path = '';
    for (const part of request.path) {
      if (typeof part === 'string') path += part;
      else {
        const value = textOf(part, await evaluate(part, input));
        if (value === null || value === '') throw nothing(part);
        path += encodeURIComponent(value);
      }
    }
    if (DOT_SEGMENT.test(path))
      throw new Refusal('no_request_value', `the path of ${this.call} has a part of dots alone, which would lead to another endpoint`);
    let query = '';
    for (const [name, mapping] of this.#query) {
      const value = await evaluate(mapping, input);
      for (const one of Array.isArray(value) ? (value as readonly unknown[]) : [value]) {
        const text = textOf(mapping, one);
        if (text !== null) query += `&${name}=${encodeURIComponent(text)}`;
      }
    }
    const { query: key, field } = credentials.carried;
    if (key !== null && (field === null || request.body === null)) query += `&${key}`;
    const whole = base.prefix + path + (query === '' ? '' : `?${query.slice(1)}`);
    if (whole.length > MAX_PATH_CHARS)
      throw new Refusal('bad_request', `the address of ${this.call} would have ${whole.length} characters`);
    return whole;
  }

  #fixedHeaders(): string[] {
    const { credentials, headers, request } = this.#options;
    const { version, carried } = credentials;
    if (this.#fixed?.version === version) return this.#fixed.list;
    const byName = new Map([
      ['accept', 'application/json'],
      ['accept-encoding', 'identity'],
      ...(request.body === null
        ? []
        : [['content-type', request.bodyType === 'form' ? 'application/x-www-form-urlencoded' : 'application/json'] as const]),
      ...Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const),
    ]);
    for (const [name] of this.#headers) byName.delete(name);
    if (carried.header !== null) byName.set(...carried.header);
    const list = [...byName].flat();
    this.#fixed = { version, list };
    return list;
  }

  async #mappedHeaders(input: unknown): Promise<string[]> {
    const list: string[] = [];
    let size = 0;
    for (const [name, mapping] of this.#headers) {
      const value = textOf(mapping, await evaluate(mapping, input));
      // The key may use the same header, and goes before a mapping.
      if (value === null || this.#options.credentials.carried.header?.[0] === name) continue;
      if (!HEADER_VALUE.test(value)) throw new Refusal('bad_request', `${mapping.key} gives characters that a header cannot have`);
      size += name.length + value.length;
      if (size > MAX_HEADER_CHARS)
        throw new Refusal('bad_request', `${mapping.key}: the headers have more than ${MAX_HEADER_CHARS} characters`);
      list.push(name, value);
    }
    return list;
  }

  async #bodyFor(mapping: Mapping, input: unknown): Promise<string> {
    const asked = await evaluate(mapping, input);
    if (asked === undefined) throw nothing(mapping);
    const value = this.#withKey(mapping, asked);
    const text = this.#options.request.bodyType === 'json' ? JSON.stringify(value) : formText(mapping, value);
    if (text.length > MAX_BODY_CHARS) throw new Refusal('bad_request', `${mapping.key} gives ${text.length} characters`);
    return text;
  }

  /** The key's own field counts, whatever the mapping says. */
  #withKey(mapping: Mapping, value: unknown): unknown {
    const { field } = this.#options.credentials.carried;
    if (field === null) return value;
    if (!isObject(value))
      throw new Refusal('bad_mapping', `${mapping.key}: expected an object, which carries the API key, got ${inWords(value)}`);
    return { ...value, [field[0]]: field[1] };
  }
}

function formText(mapping: Mapping, value: unknown): string {
  if (!isObject(value)) throw new Refusal('bad_mapping', `${mapping.key}: expected an object for a form, got ${inWords(value)}`);
  const form = new URLSearchParams();
  for (const [name, field] of Object.entries(value)) {
    for (const one of Array.isArray(field) ? (field as readonly unknown[]) : [field]) {
      const text = textOf(mapping, one);
      if (text !== null) form.append(name, text);
    }
  }
  return form.toString();
}

/** Null for nothing. @throws Refusal for what is no single value */
function textOf(mapping: Mapping, value: unknown): string | null {
  switch (typeof value) {
    case 'string':
      // Half a surrogate pair has no percent-encoding.
      return value.toWellFormed();
    case 'number':
    case 'boolean':
      return String(value);
    default:
      if (value === undefined || value === null) return null;
      throw new Refusal('bad_mapping', `${mapping.key}: expected text, a number, true or false, got ${inWords(value)}`);
  }
}

function nothing(mapping: Mapping): Refusal {
  return new Refusal('no_request_value', `${mapping.key}: this lookup has no value for it`);
}
