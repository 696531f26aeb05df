/** Keeps the API key out of whatever a service may echo: results, errors, logs. */
import type { ResponseHeaders } from './types.ts';

const MASK = '[redacted]';

/**
 * In headers and records only keys of this length are masked: a shorter one cannot be told from data, and masking it
 * would corrupt what was paid for. Words for people are masked whatever the length.
 */
const MIN_KEY_IN_DATA = 8;

export class Redactor {
  readonly #key: string | null;
  readonly #inData: boolean;

  constructor(key: string | null) {
    this.#key = key;
    this.#inData = key !== null && key.length >= MIN_KEY_IN_DATA;
  }

  /** For text that people read: any occurrence goes. */
  words(text: string): string {
    return this.#key !== null && text.includes(this.#key) ? text.replaceAll(this.#key, MASK) : text;
  }

  /** For a body that is used as data. */
  data(text: string): string {
    return this.#inData ? this.words(text) : text;
  }

  /** The same object when there is nothing to mask, which is as good as always. */
  headers(headers: ResponseHeaders): ResponseHeaders {
    if (!this.#inData) return headers;
    const key = this.#key as string;
    for (const name in headers) {
      const value = headers[name];
      if (typeof value === 'string' ? value.includes(key) : value?.some((part) => part.includes(key))) return this.#mask(headers);
    }
    return headers;
  }

  #mask(headers: ResponseHeaders): ResponseHeaders {
    return Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name,
        typeof value === 'string' ? this.words(value) : value?.map((part) => this.words(part)),
      ]),
    );
  }
}
