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
  readonly #escaped: RegExp | null;

  constructor(key: string | null) {
    this.#key = key;
    this.#inData = key !== null && key.length >= MIN_KEY_IN_DATA;
    this.#escaped = key !== null && this.#inData ? inJson(key) : null;
  }

  /** For text that people read: any occurrence goes. */
  words(text: string): string {
    return this.#key !== null && text.includes(this.#key) ? text.replaceAll(this.#key, MASK) : text;
  }

  /** For a body that is used as data: also where JSON writes it with escapes, since it is parsed, or kept as it is. */
  data(text: string): string {
    if (this.#escaped === null) return text;
    const plain = this.words(text);
    return plain.includes('\\') ? plain.replaceAll(this.#escaped, MASK) : plain;
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

/** The key in a JSON text, each of its characters plain or escaped (RFC 8259, 7), and not after a backslash that is none of its own. */
function inJson(key: string): RegExp {
  const characters = Array.from(key, (character) => {
    const hex = character.charCodeAt(0).toString(16).padStart(2, '0');
    const plain = `\\x${hex}`;
    const code = `\\\\u00${hex.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)}`;
    // A quote and a backslash are always escaped, a slash may be.
    const short = '"\\/'.includes(character) ? [`\\\\${plain}`] : [];
    return `(?:${[...('"\\'.includes(character) ? [] : [plain]), ...short, code].join('|')})`;
  });
  return new RegExp(`(?<=(?:^|[^\\\\])(?:\\\\\\\\)*)${characters.join('')}`, 'g');
}
