/** Lists that are requested page by page. */
import { DataServiceError } from '../data-service-error.ts';

export interface ListPage<T> {
  readonly data: readonly T[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
  /** The number of all items, of a search; else null. */
  readonly total: number | null;
}

interface RawPage {
  readonly data: readonly unknown[];
  readonly meta: { readonly next_cursor: string | null; readonly total?: number };
}

/** Iterates over the items of all pages. Each iteration starts at the first page, and requests the next one when it gets there. */
export class Pager<T> implements AsyncIterable<T> {
  readonly #fetch: (cursor: string | undefined) => Promise<unknown>;
  readonly #cursor: string | undefined;

  /** @param cursor where to start */
  constructor(fetch: (cursor: string | undefined) => Promise<unknown>, cursor?: string) {
    this.#fetch = fetch;
    this.#cursor = cursor;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for await (const page of this.pages()) yield* page.data;
  }

  /** The same page by page. @throws DataServiceError `bad_body` for a page that names itself as the next one */
  async *pages(): AsyncGenerator<ListPage<T>> {
    let cursor = this.#cursor;
    for (;;) {
      const { data, meta } = (await this.#fetch(cursor)) as RawPage;
      const next = meta.next_cursor;
      if (next !== null && next === cursor) {
        throw new DataServiceError('a page names itself as the next one (bad_body)', { code: 'bad_body', status: 200, retryable: true });
      }
      yield { data: data as readonly T[], nextCursor: next, total: meta.total ?? null };
      if (next === null) return;
      cursor = next;
    }
  }
}
