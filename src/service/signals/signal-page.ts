/** Use case: a page of signals, newest first. */
import type { Steps } from '../../util/steps.ts';
import { writeCursor } from '../http/cursor.ts';
import type { SparseRecord } from '../records/whole-record.ts';
import type { SignalFeed } from '../store/rows/signal-feed.ts';
import { readSignalQuery, type QueryValues } from './signal-query.ts';
import { SIGNAL_LIMIT } from './signals-operation.ts';

export interface SignalPage {
  readonly signals: readonly { readonly record: SparseRecord; readonly cursor: () => string }[];
  readonly limit: number;
  /** The cursor of the next page; null: this is the last. */
  readonly next: string | null;
}

/** The newest signals that match. @throws ServiceError naming each parameter that is wrong */
export function* signalPage(feed: SignalFeed, query: QueryValues): Steps<SignalPage> {
  const { filter, after, limit, question } = readSignalQuery(query);
  const size = limit ?? SIGNAL_LIMIT.schema.default;
  const found = yield* feed.page(filter, after, size + 1);
  const signals = found
    .slice(0, size)
    .map(({ record, occurredMs, seq }) => ({ record, cursor: () => writeCursor(question, [occurredMs, seq]) }));
  return { signals, limit: size, next: found.length > size ? (signals.at(-1)?.cursor() ?? null) : null };
}
