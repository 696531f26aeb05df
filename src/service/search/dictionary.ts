/** Terms by number, so that one that was met lately is told again without its text being made. The numbers are this thread's own. */
import { ownText } from '../own-text.ts';
import { wordsIn } from '../fold.ts';
import { digitTerm, forEachDigit, keptNumber, NUMBERS, numberStem, type NumberName } from './numbers.ts';

/** As many terms, and as many values of which it is known what terms they have, are remembered. */
const MAX_REMEMBERED = 400_000;
const MAX_REMEMBERED_CHARACTERS = 32 * 1024 * 1024;
/** Longer texts hardly come again. */
const MAX_REMEMBERED_LENGTH = 80;
/** Texts of a field whose words are remembered: titles and the like come again soon, names hardly ever, and to look for one among very many takes longer than to make its words anew. */
const MAX_RECENT = 4_096;

let texts: string[] = [];
const numbers = new Map<string, number>();
const forgetters: (() => void)[] = [];
let remembered = 0;
let characters = 0;
let current = 0;

/** The text of a term. */
export function termText(number: number): string {
  return texts[number] as string;
}

/** The number of a term, which is given one when it is new. */
export function termNumber(term: string): number {
  const known = numbers.get(term);
  if (known !== undefined) return known;
  const number = newTerm(term);
  numbers.set(term, number);
  return number;
}

/** The number of a term that has none, and is told again by who asks for this. */
function newTerm(term: string): number {
  remembered++;
  characters += term.length;
  return texts.push(term) - 1;
}

/** Numbers hold for one era. */
export function era(): number {
  return current;
}

/** Begins a new era where too much is remembered; not to be called by who still holds numbers. */
export function tidy(): void {
  if (remembered < MAX_REMEMBERED && characters < MAX_REMEMBERED_CHARACTERS) return;
  texts = [];
  numbers.clear();
  for (const forget of forgetters) forget();
  remembered = 0;
  characters = 0;
  current++;
}

function memory<Key, Value>(): Map<Key, Value> {
  const map = new Map<Key, Value>();
  forgetters.push(() => map.clear());
  return map;
}

/** The texts of one field as terms. There are as many of these as the records have fields. */
export class TextField {
  readonly #name: string;
  readonly #form: (value: string) => string;
  readonly #exact = memory<string, number>();
  readonly #texts = memory<string, readonly number[]>();
  readonly #words = memory<string, number>();

  /** @param form how a value is compared */
  constructor(name: string, form: (value: string) => string) {
    this.#name = name;
    this.#form = form;
  }

  /** `field=value` */
  exact(given: string): number {
    const known = this.#exact.get(given);
    if (known !== undefined) return known;
    const text = ownText(given);
    const number = termNumber(`${this.#name}=${this.#form(text)}`);
    if (text.length <= MAX_REMEMBERED_LENGTH) {
      this.#exact.set(text, number);
      remembered++;
    }
    return number;
  }

  /** `field~word` of each word. */
  words(given: string): readonly number[] {
    return this.#remembered(given, (text) => this.wordsOfOne(text));
  }

  /** `field=value` of each of the values that a text stands for. @param values always the same function */
  each(given: string, values: (text: string) => readonly string[]): readonly number[] {
    return this.#remembered(given, (text) => values(text).map((value) => this.exact(value)));
  }

  #remembered(given: string, make: (text: string) => readonly number[]): readonly number[] {
    const known = this.#texts.get(given);
    if (known !== undefined) return known;
    const text = ownText(given);
    const found = make(text);
    if (text.length <= MAX_REMEMBERED_LENGTH) {
      if (this.#texts.size >= MAX_RECENT) this.#texts.clear();
      this.#texts.set(text, found);
    }
    return found;
  }

  /** `field~word` of each word of a text that hardly comes again, such as a company's name. */
  wordsOfOne(text: string): readonly number[] {
    return wordsIn(text).map((word) => this.#word(word));
  }

  #word(word: string): number {
    let number = this.#words.get(word);
    if (number === undefined) {
      const own = ownText(word);
      // Nothing else makes terms like these, so that they need not be looked for.
      number = newTerm(`${this.#name}~${own}`);
      this.#words.set(own, number);
    }
    return number;
  }
}

/** Stands for a term that was not met yet. */
const UNKNOWN = -1;

/** The values of one number as terms. */
export class NumberField {
  readonly #name: NumberName;
  /** By what tells apart numbers of one kind, such as departments: the term of a number that is known, then those of its digits. */
  readonly #known = memory<string, number[]>();

  constructor(name: NumberName) {
    this.#name = name;
  }

  /** Puts the terms of a number behind those that are in `terms`. Most numbers come once: their terms are put together of those of their digits, and no text is made. */
  add(terms: number[], value: number, of = ''): void {
    const known = this.#termsOf(of);
    terms.push(known[0] as number);
    forEachDigit(keptNumber(this.#name, value), (digit) => {
      if (known[digit + 1] === UNKNOWN) known[digit + 1] = termNumber(digitTerm(numberStem(this.#name, of), digit));
      terms.push(known[digit + 1] as number);
    });
  }

  #termsOf(of: string): number[] {
    let known = this.#known.get(of);
    if (known === undefined) {
      known = Array.from({ length: NUMBERS[this.#name].bits + 1 }, () => UNKNOWN);
      known[0] = termNumber(numberStem(this.#name, of));
      this.#known.set(ownText(of), known);
      remembered += known.length;
    }
    return known;
  }
}
