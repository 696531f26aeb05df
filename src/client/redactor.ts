/** Keeps the API key out of whatever a service may echo: results, errors, logs. */
import type { ResponseHeaders } from './types.ts';

/** In place of a key. */
const MASK = '[redacted]';

/**
 * In headers and records only keys of this length are masked: a shorter one cannot be told from data, and masking it would corrupt what was
 * paid for. Words for people are masked whatever the length.
 */
const MIN_KEY_IN_DATA = 8;

/** In words a key below this length is masked only where it stands alone: the rest of a text would be letters of it. */
const MIN_KEY_IN_WORDS = 4;

interface Secret {
  readonly key: string;
  /** Matches the key as JSON may write it (the group), or any other escape. Null when the key is too short to be masked in data. */
  readonly escaped: RegExp | null;
  /** Matches a very short key where it is no part of a word. Null for any other key. */
  readonly alone: RegExp | null;
}

export class Redactor {
  /** The longest first. A service may still echo a key that was replaced. */
  readonly #secrets: Secret[] = [];

  readonly #mask: string;

  /** @param mask stands in place of a key */
  constructor(key: string | null, mask = MASK) {
    this.#mask = mask;
    if (key !== null) this.add(key);
  }

  /** Masks this key, too, from now on. */
  add(key: string): void {
    if (this.#secrets.some((secret) => secret.key === key)) return;
    this.#secrets.push({
      key,
      escaped: key.length >= MIN_KEY_IN_DATA ? inJson(key) : null,
      alone: key.length < MIN_KEY_IN_WORDS ? alone(key) : null,
    });
    // A key may be the beginning of another: the longer one must go first.
    this.#secrets.sort((one, other) => other.key.length - one.key.length);
  }

  /** For text that people read: any occurrence goes. */
  words(text: string): string {
    let masked = text;
    for (const { key, alone } of this.#secrets) if (masked.includes(key)) masked = masked.replaceAll(alone ?? key, this.#mask);
    return masked;
  }

  /** For a body that is used as data: also where JSON writes it with escapes, since it is parsed, or kept as it is. */
  data(text: string): string {
    let masked = text;
    for (const { key, escaped } of this.#secrets) {
      if (escaped === null) continue;
      if (masked.includes(key)) masked = masked.replaceAll(key, this.#mask);
      if (masked.includes('\\')) masked = masked.replaceAll(escaped, (other, found?: string) => (found === undefined ? other : this.#mask));
    }
    return masked;
  }

  /** The same object when there is nothing to mask, which is as good as always. */
  headers(headers: ResponseHeaders): ResponseHeaders {
    for (const { key, escaped } of this.#secrets) {
      if (escaped === null) continue;
      for (const name in headers) {
        const value = headers[name];
        if (typeof value === 'string' ? value.includes(key) : value?.some((part) => part.includes(key))) return this.#maskHeaders(headers);
      }
    }
    return headers;
  }

  #maskHeaders(headers: ResponseHeaders): ResponseHeaders {
    return Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name,
        typeof value === 'string' ? this.words(value) : value?.map((part) => this.words(part)),
      ]),
    );
  }
}

function alone(key: string): RegExp {
  const text = Array.from(key, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`).join('');
  return new RegExp(`(?<![\\p{L}\\p{N}_])${text}(?![\\p{L}\\p{N}_])`, 'gu');
}

/**
 * The key in a JSON text, each of its characters plain or escaped (RFC 8259, 7), and not after a backslash that belongs to another escape:
 * other escapes match, too, and so each is passed as a whole. To look back from each character would take for ever over a megabyte of
 * backslashes.
 */
function inJson(key: string): RegExp {
  const characters = Array.from(key, (character) => {
    const hex = character.charCodeAt(0).toString(16).padStart(2, '0');
    const plain = `\\x${hex}`;
    const code = `\\\\u00${hex.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)}`;
    // A quote and a backslash are always escaped, a slash may be.
    const short = '"\\/'.includes(character) ? [`\\\\${plain}`] : [];
    return `(?:${[...('"\\'.includes(character) ? [] : [plain]), ...short, code].join('|')})`;
  });
  return new RegExp(`(${characters.join('')})|\\\\[^]`, 'g');
}
