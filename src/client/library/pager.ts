/** Lists that are requested page by page. */
import type { Call, CallAnswer, Caller } from './caller.ts';
import { wrongOfPage } from './check-answer.ts';
import type { ShapeName } from './shapes.ts';

export interface ListPage<T> {
  readonly data: readonly T[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
  /** The number of all items, of a search; else null. */
  readonly total: number | null;
}

interface RawPage {
  readonly data: readonly unknown[];
  readonly meta?: { readonly next_cursor?: string | null; readonly total?: number | null } | null;
}

/** Iterates over the items of all pages. Each iteration starts at the first page, and requests the next one when it gets there. */
export class Pager<T> implements AsyncIterable<T> {
  readonly #caller: Caller;
  readonly #shape: ShapeName;
  readonly #request: (cursor: string | undefined) => Call;
  readonly #cursor: string | undefined;

  /**
   * @param shape of an item
   * @param cursor where to start
   * @internal
   */
  constructor(caller: Caller, shape: ShapeName, request: (cursor: string | undefined) => Call, cursor?: string | null) {
    this.#caller = caller;
    this.#shape = shape;
    this.#request = request;
    this.#cursor = cursor ?? undefined;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for await (const page of this.pages()) yield* page.data;
  }

  /** The same page by page. @throws DataServiceError `bad_body` for a page that names an earlier one as the next */
  async *pages(): AsyncGenerator<ListPage<T>> {
    let cursor = this.#cursor;
    const seen = new Set([cursor]);
    for (;;) {
      const call = this.#request(cursor);
      const { data, meta } = await this.#caller.answer(call, (answer) => this.#read(call, answer));
      const next = meta?.next_cursor ?? null;
      if (next !== null && seen.has(next)) throw this.#caller.bad(call, 'a page names an earlier one as the next');
      yield { data: data as readonly T[], nextCursor: next, total: meta?.total ?? null };
      if (next === null) return;
      cursor = next;
      seen.add(next);
    }
  }

  #read(call: Call, answer: CallAnswer): RawPage {
    const page = this.#caller.parse(call, answer, null);
    const wrong = wrongOfPage(page, this.#shape);
    if (wrong !== undefined) throw this.#caller.bad(call, wrong, answer.status, answer.headers);
    return page as unknown as RawPage;
  }
}
