/** What is wrong with a request's filters, told all at once: in its query by parameter (400), in its body by pointer (422). */
import { ServiceError, type ErrorItem } from '../errors.ts';

/** More findings than this help nobody. */
const MAX_FINDINGS = 100;

export type Origin = 'query' | 'body';

export class Findings {
  readonly #origin: Origin;
  readonly #items: ErrorItem[] = [];

  constructor(origin: Origin) {
    this.#origin = origin;
  }

  /** Enough is said: to look for more costs more than it helps. */
  get full(): boolean {
    return this.#items.length >= MAX_FINDINGS;
  }

  add(name: string, code: string, detail: string): void {
    if (this.full) return;
    this.#items.push(this.#origin === 'query' ? { parameter: name, code, detail } : { pointer: name === '' ? '' : `/${name.slice(0, 64).replaceAll('~', '~0').replaceAll('/', '~1')}`, code, detail });
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
