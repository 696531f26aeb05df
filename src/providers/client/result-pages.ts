/**
 * The pages of late answers: the items of the pages so far, and what the next request names. A page is asked for like an answer that is
 * still to come, so that each request has a permit of its own; after a kill the first page is asked for again. Pure.
 */
import type { ProviderPoll } from '../compiled-provider.ts';
import type { Said } from './judge.ts';
import { evaluate, inWords, Refusal } from './refusal.ts';

/** Pages of one answer: far more than any batch has. */
const MOST_PAGES = 1_000;
/** Characters of all pages of one answer. */
const MOST_CHARS = 64 * 1024 * 1024;

interface Pages {
  readonly items: unknown[];
  readonly next: string;
  /** The names that the pages so far have given to their next ones. */
  readonly named: ReadonlySet<string>;
  readonly chars: number;
  /** When the first page came, monotonic milliseconds. */
  readonly sinceMs: number;
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
   * @param nowMs monotonic milliseconds
   * @throws Refusal `bad_shape` for a next page that was named before, and for more than memory should hold
   */
  async add(
    promise: string,
    { next: rule }: Pick<ProviderPoll, 'next'>,
    said: Said,
    items: readonly unknown[],
    nowMs: number,
  ): Promise<unknown[] | null> {
    const before = this.#open.get(promise) ?? { items: [], named: new Set<string>(), chars: 0, sinceMs: nowMs };
    this.#open.delete(promise);
    const next = rule === null ? null : await evaluate(rule, said.input);
    const all = [...before.items, ...items];
    if (rule === null || next === undefined || next === null || next === '' || next === false) return all;
    if (typeof next !== 'string' && typeof next !== 'number')
      throw new Refusal('bad_shape', `${rule.key}: expected text or a number, got ${inWords(next)}`);
    const chars = before.chars + said.answer.text.length;
    if (before.named.has(String(next))) throw new Refusal('bad_shape', `${rule.key}: two pages name the same next one`);
    const named = new Set(before.named).add(String(next));
    if (named.size >= MOST_PAGES || chars > MOST_CHARS)
      throw new Refusal('bad_shape', `${rule.key}: the answer has more than ${MOST_PAGES} pages or ${MOST_CHARS} characters`);
    this.#open.set(promise, { items: all, next: String(next), named, chars, sinceMs: before.sinceMs });
    return null;
  }

  /** Whether the pages so far have taken longer than an answer may. Forgets them then. @param nowMs monotonic milliseconds */
  isLate(promise: string, nowMs: number, longestMs = Infinity): boolean {
    const sinceMs = this.#open.get(promise)?.sinceMs ?? nowMs;
    if (nowMs - sinceMs < longestMs) return false;
    this.#open.delete(promise);
    return true;
  }
}
