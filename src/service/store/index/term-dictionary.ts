/** Interns terms: each recent term has a number, so that its text is built once. The numbers are local to the thread. */
import { ownText } from '../../http/own-text.ts';
import { wordsIn } from '../../records/normalise.ts';
import { sliceTerm, forEachSetBit, slicedValue, SLICED_FIELDS, existsTerm, type SlicedField } from './bit-slices.ts';

/** Bounds of the dictionary: terms and values together, */
const MAX_ENTRIES = 400_000;
/** and characters of the terms. */
const MAX_CACHED_CHARACTERS = 32 * 1024 * 1024;
/** Longer texts rarely repeat. */
const MAX_CACHED_LENGTH = 80;
/** Texts of a field whose words are cached. Titles repeat soon; names rarely do, and a look-up among many costs more than splitting one. */
const MAX_RECENT = 4_096;

let texts: string[] = [];
const numbers = new Map<string, number>();
const clearers: (() => void)[] = [];
let entries = 0;
let characters = 0;
let current = 0;

/** The text of a term. */
export function termText(number: number): string {
  return texts[number] as string;
}

/** The number of a term, assigned on first use. */
export function internTerm(term: string): number {
  const known = numbers.get(term);
  if (known !== undefined) return known;
  const number = newTerm(term);
  numbers.set(term, number);
  return number;
}

/** Assigns a number without a look-up; the caller stores it. */
function newTerm(term: string): number {
  entries++;
  characters += term.length;
  return texts.push(term) - 1;
}

/** Numbers are valid within one generation. */
export function generation(): number {
  return current;
}

/** Empties a full dictionary and begins a new generation. The caller must hold no numbers. */
export function evictIfFull(): void {
  if (entries < MAX_ENTRIES && characters < MAX_CACHED_CHARACTERS) return;
  texts = [];
  numbers.clear();
  for (const clear of clearers) clear();
  entries = 0;
  characters = 0;
  current++;
}

function cacheMap<Key, Value>(): Map<Key, Value> {
  const map = new Map<Key, Value>();
  clearers.push(() => map.clear());
  return map;
}

/** Terms of one text field. */
export class TextField {
  readonly #name: string;
  readonly #form: (value: string) => string;
  readonly #exact = cacheMap<string, number>();
  readonly #texts = cacheMap<string, readonly number[]>();
  readonly #words = cacheMap<string, number>();

  /** @param form normalises a value for comparison */
  constructor(name: string, form: (value: string) => string) {
    this.#name = name;
    this.#form = form;
  }

  /** `field=value` */
  exact(given: string): number {
    const known = this.#exact.get(given);
    if (known !== undefined) return known;
    const text = ownText(given);
    const number = internTerm(`${this.#name}=${this.#form(text)}`);
    if (text.length <= MAX_CACHED_LENGTH) {
      this.#exact.set(text, number);
      entries++;
    }
    return number;
  }

  /** A term `field~word` for each word. */
  words(given: string): readonly number[] {
    return this.#cached(given, (text) => this.wordsOfOne(text));
  }

  /** A term `field=value` for each value of a text. @param values always the same function */
  each(given: string, values: (text: string) => readonly string[]): readonly number[] {
    return this.#cached(given, (text) => values(text).map((value) => this.exact(value)));
  }

  #cached(given: string, make: (text: string) => readonly number[]): readonly number[] {
    const known = this.#texts.get(given);
    if (known !== undefined) return known;
    const text = ownText(given);
    const found = make(text);
    if (text.length <= MAX_CACHED_LENGTH) {
      if (this.#texts.size >= MAX_RECENT) this.#texts.clear();
      this.#texts.set(text, found);
    }
    return found;
  }

  /** The same as `words`, for texts that rarely repeat, such as a company's name. */
  wordsOfOne(text: string): readonly number[] {
    return wordsIn(text).map((word) => this.#word(word));
  }

  #word(word: string): number {
    let number = this.#words.get(word);
    if (number === undefined) {
      const own = ownText(word);
      // No other method builds these terms, so a look-up is not needed.
      number = newTerm(`${this.#name}~${own}`);
      this.#words.set(own, number);
    }
    return number;
  }
}

/** Placeholder for a term without a number. */
const UNKNOWN = -1;

/** Terms of one number field. */
export class NumberField {
  readonly #name: SlicedField;
  /** By key, such as a department: the `exists` term, then the terms of the slices. */
  readonly #known = cacheMap<string, number[]>();

  constructor(name: SlicedField) {
    this.#name = name;
  }

  /** Appends the terms of a number to `terms`. Most numbers are unique, so terms are cached by slice, and no text is built. */
  add(terms: number[], value: number, key = ''): void {
    const known = this.#termsOf(key);
    terms.push(known[0] as number);
    forEachSetBit(slicedValue(this.#name, value), (digit) => {
      if (known[digit + 1] === UNKNOWN) known[digit + 1] = internTerm(sliceTerm(existsTerm(this.#name, key), digit));
      terms.push(known[digit + 1] as number);
    });
  }

  #termsOf(key: string): number[] {
    let known = this.#known.get(key);
    if (known === undefined) {
      known = Array.from({ length: SLICED_FIELDS[this.#name].bits + 1 }, () => UNKNOWN);
      known[0] = internTerm(existsTerm(this.#name, key));
      this.#known.set(ownText(key), known);
      entries += known.length;
    }
    return known;
  }
}
