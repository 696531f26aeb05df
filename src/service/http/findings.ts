/** Collects the findings of a request's filters: 400 by parameter for a query, 422 by pointer for a body. */
import { ServiceError, type ErrorItem } from './problem.ts';

/** The most findings of one answer. */
const MAX_FINDINGS = 100;

export type ParameterOrigin = 'query' | 'body';

export class RequestFindings {
  readonly #origin: ParameterOrigin;
  readonly #items: ErrorItem[] = [];

  constructor(origin: ParameterOrigin) {
    this.#origin = origin;
  }

  /** Whether the limit of findings is reached. */
  get full(): boolean {
    return this.#items.length >= MAX_FINDINGS;
  }

  add(name: string, code: string, detail: string): void {
    if (this.full) return;
    this.#items.push(
      this.#origin === 'query'
        ? { parameter: name, code, detail }
        : { pointer: name === '' ? '' : `/${name.slice(0, 64).replaceAll('~', '~0').replaceAll('/', '~1')}`, code, detail },
    );
  }

  /** @throws ServiceError when anything was found */
  finish(): void {
    if (this.#items.length > 0) throw this.refusal();
  }

  refusal(): ServiceError {
    const more = this.#items.length - 1;
    const detail = `${this.#items[0]?.detail ?? ''}${more > 0 ? ` (and ${more} more, see errors)` : ''}`;
    return new ServiceError(this.#origin === 'query' ? 'invalid_parameter' : 'validation_failed', detail, { errors: this.#items });
  }
}
