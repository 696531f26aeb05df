/**
 * Reads a condition: comparisons, `in [..]`, `contains`, `is empty`, `and`, `or`, `not` and brackets, over columns and results. `and` binds
 * closer than `or`, `not` closer than both. Pure.
 */
import { ConditionFault, tokensOf, type Token } from './tokens.ts';
import type { Comparison, Condition, Operand } from './condition.ts';

/** Characters, and brackets or `not` within each other. */
export const MOST = { chars: 2_000, depth: 50 } as const;

const COMPARISONS: ReadonlySet<string> = new Set<Comparison>(['=', '!=', '<', '<=', '>', '>=']);
/** Words of the language, which are no names. */
const WORDS: ReadonlySet<string> = new Set(['and', 'or', 'not', 'in', 'contains', 'is', 'empty']);

/** @throws ConditionFault with the column of what cannot be read */
export function parseCondition(text: string): Condition {
  if (text.length > MOST.chars) throw new ConditionFault(`a condition has at most ${MOST.chars} characters`, MOST.chars + 1);
  const parser = new Parser(tokensOf(text));
  const condition = parser.or(0);
  parser.expectEnd();
  return condition;
}

class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  or(depth: number): Condition {
    return this.#joined('or', () => this.#joined('and', () => this.#not(depth)));
  }

  expectEnd(): void {
    const token = this.#token;
    if (token.kind !== 'end') throw new ConditionFault(`expected and, or, or the end, got ${shown(token)}`, token.at);
  }

  #joined(word: 'and' | 'or', one: () => Condition): Condition {
    const of = [one()];
    while (this.#take('name', word)) of.push(one());
    const [first] = of;
    return of.length === 1 && first !== undefined ? first : { kind: word, of };
  }

  #not(depth: number): Condition {
    const { at } = this.#token;
    if (depth > MOST.depth) throw new ConditionFault(`brackets are more than ${MOST.depth} deep`, at);
    if (this.#take('name', 'not')) return { kind: 'not', of: this.#not(depth + 1) };
    if (!this.#take('sign', '(')) return this.#test();
    const condition = this.or(depth + 1);
    this.#expect(')');
    return condition;
  }

  #test(): Condition {
    const value = this.#operand();
    const token = this.#token;
    if (this.#take('name', 'in')) return { kind: 'in', value, among: this.#list() };
    if (this.#take('name', 'contains')) return { kind: 'contains', value, part: this.#operand() };
    if (this.#take('name', 'is')) {
      const isNot = this.#take('name', 'not');
      if (!this.#take('name', 'empty')) throw new ConditionFault(`expected empty after is, got ${shown(this.#token)}`, this.#token.at);
      const empty: Condition = { kind: 'empty', value };
      return isNot ? { kind: 'not', of: empty } : empty;
    }
    if (token.kind === 'sign' && COMPARISONS.has(token.text)) {
      this.#next++;
      return { kind: 'compare', operator: token.text as Comparison, left: value, right: this.#operand() };
    }
    throw new ConditionFault(`expected =, !=, <, <=, >, >=, in, contains or is, got ${shown(token)}`, token.at);
  }

  #list(): readonly Operand[] {
    this.#expect('[');
    const among = [this.#operand()];
    while (this.#take('sign', ',')) among.push(this.#operand());
    this.#expect(']');
    return among;
  }

  #operand(): Operand {
    const token = this.#token;
    this.#next++;
    if (token.kind === 'text' || token.kind === 'number') return { kind: 'value', text: token.text };
    if (token.kind !== 'name' || WORDS.has(token.text))
      throw new ConditionFault(`expected a column, a result or a value, got ${shown(token)}`, token.at);
    const path = [token.text];
    while (this.#take('sign', '.')) {
      const part = this.#token;
      if (part.kind !== 'name' && part.kind !== 'text')
        throw new ConditionFault(`expected a name after the dot, got ${shown(part)}`, part.at);
      path.push(part.text);
      this.#next++;
    }
    if (path.length > 1) return { kind: 'path', path, at: token.at };
    if (token.text === 'true' || token.text === 'false') return { kind: 'value', text: token.text };
    throw new ConditionFault(`a text needs quotes: "${token.text}"; a column is input.${token.text}`, token.at);
  }

  get #token(): Token {
    return this.#tokens[Math.min(this.#next, this.#tokens.length - 1)] as Token;
  }

  #take(kind: Token['kind'], text: string): boolean {
    if (this.#token.kind !== kind || this.#token.text !== text) return false;
    this.#next++;
    return true;
  }

  #expect(sign: string): void {
    if (!this.#take('sign', sign)) throw new ConditionFault(`expected ${sign}, got ${shown(this.#token)}`, this.#token.at);
  }
}

function shown({ kind, text }: Token): string {
  return kind === 'end' ? 'the end' : JSON.stringify(text);
}
