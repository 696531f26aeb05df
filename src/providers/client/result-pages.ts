/**
 * The pages of late answers: the items of the pages so far, and what the next request names. A page is asked for like an answer that is
 * still to come, so that each request has a permit of its own; after a kill the first page is asked for again. Pure.
 */
import type { ProviderPoll } from '../compiled-provider.ts';
import type { Said } from './judge.ts';
import { evaluate, inWords, Refusal } from './refusal.ts';

const MOST_PAGES = 1_000;
/** Characters of all pages of one answer. */
const MOST_CHARS = 64 * 1024 * 1024;

interface Pages {
  readonly items: unknown[];
  readonly next: string;
  readonly pages: number;
  readonly chars: number;
}

export class ResultPages {
  /** By the name of the promise. */
  readonly #open = new Map<string, Pages>();

  /** The value of `next` for the next request for this promise; null for its first page. */
  next(promise: string): string | null {
    return this.#open.get(promise)?.next ?? null;
  }

  /**
   * Takes a page. Null while another one follows, else the items of all.
   * @throws Refusal `bad_shape` for a next page that names none, or itself, and for more than memory should hold
   */
  async add(promise: string, { next: rule }: Pick<ProviderPoll, 'next'>, said: Said, items: readonly unknown[]): Promise<unknown[] | null> {
    const before = this.#open.get(promise) ?? { items: [], next: '', pages: 0, chars: 0 };
    this.#open.delete(promise);
    const next = rule === null ? null : await evaluate(rule, said.input);
    const all = [...before.items, ...items];
    if (rule === null || next === undefined || next === null || next === '' || next === false) return all;
    if (typeof next !== 'string' && typeof next !== 'number')
      throw new Refusal('bad_shape', `${rule.key}: expected text or a number, got ${inWords(next)}`);
    const pages = before.pages + 1;
    const chars = before.chars + said.answer.text.length;
    if (String(next) === before.next) throw new Refusal('bad_shape', `${rule.key}: a page names itself as the next one`);
    if (pages >= MOST_PAGES || chars > MOST_CHARS)
      throw new Refusal('bad_shape', `${rule.key}: the answer has more than ${MOST_PAGES} pages or ${MOST_CHARS} characters`);
    this.#open.set(promise, { items: all, next: String(next), pages, chars });
    return null;
  }

  /** The promise is not asked for any more. */
  drop(promise: string): void {
    this.#open.delete(promise);
  }
}
