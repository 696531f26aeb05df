/** The paths and methods that have a route, and the refusal of a request that has none. */
import type { FastifyInstance, RouteHandlerMethod } from 'fastify';
import { nearest } from '../../util/nearest.ts';
import type { Operation } from '../http/operation.ts';
import { ServiceError } from '../http/problem.ts';
import { pathOf } from '../http/request-path.ts';

/** Characters of a path in a message. */
const MAX_SHOWN_PATH = 200;

export class RouteTable {
  readonly #app: FastifyInstance;
  /** By path, with parameters as `:name`. */
  readonly #methods = new Map<string, string[]>();

  constructor(app: FastifyInstance) {
    this.#app = app;
  }

  add({ method, path, query = {}, open, body, raw }: Operation, handler: RouteHandlerMethod): void {
    const url = path.replaceAll(/\{(\w+)\}/g, ':$1');
    this.#methods.set(url, [...(this.#methods.get(url) ?? []), ...(method === 'GET' ? ['GET', 'HEAD'] : [method])]);
    this.#app.route({
      method,
      url,
      handler,
      config: {
        parameters: query,
        ...(open === undefined ? {} : { open }),
        ...(raw === undefined ? {} : { raw: Object.keys(raw) }),
        ...(body === undefined ? {} : { hasBody: true }),
      },
    });
  }

  /** Adds a GET for browsers. No operation of the document, because no client needs it. */
  addUnlisted(path: string, handler: RouteHandlerMethod): void {
    this.#methods.set(path, ['GET', 'HEAD']);
    this.#app.get(path, { config: { open: true, parameters: {} } }, handler);
  }

  /** The refusal of a request without a route: 405 with the methods of its path, or 404 with the path that was probably meant. */
  refusalOf(url: string): ServiceError {
    const path = pathOf(url);
    const allowed = this.#methodsOf(path);
    if (allowed === undefined) {
      const near = this.#nearPath(path);
      const advice = near === null ? 'the reference is at /docs' : `did you mean ${near.slice(0, MAX_SHOWN_PATH)}?`;
      return new ServiceError('not_found', `there is no such path; ${advice}`);
    }
    return new ServiceError('method_not_allowed', `${path.slice(0, MAX_SHOWN_PATH)} takes ${allowed.join(', ')}`, {
      headers: { allow: allowed.join(', ') },
    });
  }

  /** Undefined: no route has this path. */
  #methodsOf(path: string): readonly string[] | undefined {
    const exact = this.#methods.get(path);
    if (exact !== undefined) return exact;
    const parts = path.split('/');
    for (const [route, found] of this.#methods) {
      const pattern = route.split('/');
      if (pattern.length === parts.length && pattern.every((part, at) => part === parts[at] || (part.startsWith(':') && parts[at] !== '')))
        return found;
    }
    return undefined;
  }

  #nearPath(path: string): string | null {
    // An origin that ends in a slash gives two in a row, and libraries add one at the end.
    const plain = `/${path
      .split('/')
      .filter((part) => part !== '')
      .join('/')}`;
    const fixed = [...this.#methods.keys()].filter((route) => !route.includes(':'));
    return [plain, plain.toLowerCase()].find((one) => one !== path && this.#methodsOf(one) !== undefined) ?? nearest(plain, fixed);
  }
}
