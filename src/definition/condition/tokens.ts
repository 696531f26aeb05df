/** Splits the text of a condition into words. Pure. */

export interface Token {
  readonly kind: 'name' | 'text' | 'number' | 'sign' | 'end';
  /** A name to the letter, a text without its quotes. */
  readonly text: string;
  /** Its column in the text, from 1. */
  readonly at: number;
}

/** A condition that cannot be read. `at`: the column in its text, from 1. */
export class ConditionFault extends Error {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

const SPACE = /\s+/y;
const NAME = /[\p{L}_][\p{L}\p{N}_]*/uy;
const NUMBER = /[+-]?\d+(?:\.\d+)?/y;
const SIGN = /!=|<=|>=|[=<>()[\],.]/y;

/** @throws ConditionFault */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const [found = null] = pattern.exec(text) ?? [];
    if (found !== null) at += found.length;
    return found;
  };
  while (at < text.length) {
    if (take(SPACE) !== null) continue;
    const from = at;
    const add = (kind: Token['kind'], found: string): void => void tokens.push({ kind, text: found, at: from + 1 });
    const quote = text[at];
    if (quote === '"' || quote === "'") {
      add('text', quoted(text, at));
      at = text.indexOf(quote, at + 1) + 1;
      continue;
    }
    const name = take(NAME);
    const number = name === null ? take(NUMBER) : null;
    const sign = name === null && number === null ? take(SIGN) : null;
    if (name !== null) add('name', name);
    else if (number !== null) add('number', number);
    else if (sign !== null) add('sign', sign);
    else throw new ConditionFault(`${JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0))} has no meaning here`, at + 1);
  }
  return [...tokens, { kind: 'end', text: '', at: text.length + 1 }];
}

function quoted(text: string, from: number): string {
  const end = text.indexOf(text[from] ?? '', from + 1);
  if (end === -1) throw new ConditionFault('this quote is not closed', from + 1);
  return text.slice(from + 1, end);
}
