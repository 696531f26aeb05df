/** An OpenAPI 3 document: parsed within bounds, with its local references followed. Pure. */
import { parseDocument } from '../../documents/parse-document.ts';
import type { DocumentKind } from '../../documents/document-kind.ts';
import { ConfigError } from '../../util/errors.ts';
import { isObject } from '../../util/is-object.ts';
import { show } from '../../util/show.ts';

export type Node = Readonly<Record<string, unknown>>;

/** References in a row: a longer chain goes in a circle. */
const MAX_REFERENCES = 50;
const METHODS = ['get', 'post', 'put', 'patch'] as const;
const MAX_ENDPOINTS = 5_000;
/** Schemas that are entered, about a second of work. The largest documents of vendors take a tenth of it. */
const MAX_VISITS = 500_000;

export const OPENAPI: DocumentKind = {
  noun: 'OpenAPI document',
  content: 'document',
  codes: { syntax: 'openapi_syntax', unreadable: 'openapi_unreadable', tooLarge: 'openapi_too_large' },
  quoted: '"{...}"',
  maxBytes: 16 * 1024 * 1024,
  // Descriptions hold brackets that nobody closes.
  maxDepth: 1_000,
  adviceFor: () => null,
};

/** One path with one method. */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  readonly path: string;
  readonly operation: Node;
  /** Those of the path, then those of the operation, references followed. */
  readonly parameters: readonly Node[];
  /** The servers of the path or of the operation alone; null where those of the document hold. */
  readonly servers: readonly unknown[] | null;
}

export class OpenApiDocument {
  readonly root: Node;
  #visits = 0;

  /** @param file for messages @throws ConfigError when the text is no OpenAPI 3 document */
  constructor(text: string, file: string) {
    this.root = rootOf(text, file);
  }

  /** The object that a node is, or refers to within the document; an empty one for anything else. */
  at(node: unknown): Node {
    let found = node;
    for (let steps = 0; isObject(found) && typeof found['$ref'] === 'string'; steps += 1) {
      if (steps === MAX_REFERENCES) return {};
      found = this.#pointed(found['$ref']);
    }
    return isObject(found) ? found : {};
  }

  /** Whether another schema may be entered. Schemas that hold one another many times over would take for ever. */
  mayEnter(): boolean {
    this.#visits += 1;
    return this.#visits <= MAX_VISITS;
  }

  /** All endpoints, in the order of the document. */
  endpoints(): Endpoint[] {
    const found: Endpoint[] = [];
    for (const [path, entry] of Object.entries(this.at(this.root['paths']))) {
      const item = this.at(entry);
      for (const method of METHODS) {
        const operation = item[method];
        if (!isObject(operation) || found.length === MAX_ENDPOINTS) continue;
        const parameters = [...listOf(item['parameters']), ...listOf(operation['parameters'])].map((one) => this.at(one));
        const servers = listOf(operation['servers'] ?? item['servers']);
        const upper = method.toUpperCase() as Endpoint['method'];
        found.push({ method: upper, path, operation, parameters, servers: servers.length === 0 ? null : servers });
      }
    }
    return found;
  }

  /** RFC 6901. Undefined for another document's. */
  #pointed(reference: string): unknown {
    if (!reference.startsWith('#/')) return undefined;
    let found: unknown = this.root;
    for (const part of reference.slice(2).split('/')) {
      const name = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
      if (Array.isArray(found)) found = found[Number(name)];
      else if (isObject(found) && Object.hasOwn(found, name)) found = found[name];
      else return undefined;
    }
    return found;
  }
}

/** A list, or an empty one for anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function rootOf(text: string, file: string): Node {
  const value = valueOf(text, file);
  const refuse = (problem: string, hint: string): ConfigError => new ConfigError('bad_openapi', `${file} ${problem}`, { hint });
  const hint = 'An OpenAPI 3 document begins with `openapi: 3.0.3` or the like, and has `paths`.';
  if (!isObject(value)) throw refuse('is no OpenAPI document', hint);
  if (typeof value['swagger'] === 'string')
    throw refuse(
      `is a Swagger ${value['swagger'].slice(0, 20)} document`,
      'Only OpenAPI 3 is read: convert it first, or begin with --name NAME.',
    );
  const version = value['openapi'];
  if (typeof version !== 'string' && typeof version !== 'number') throw refuse('is no OpenAPI document', hint);
  if (!String(version).startsWith('3')) throw refuse(`is of OpenAPI ${show(version)}`, hint);
  if (!isObject(value['paths'])) throw refuse('has no paths', hint);
  return value;
}

/** JSON is read without the lines of its keys, which large documents have by the hundred thousand. */
function valueOf(text: string, file: string): unknown {
  if (!text.trimStart().startsWith('{')) return parseDocument(text, file, OPENAPI).value;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return parseDocument(text, file, OPENAPI).value;
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
