/** The answers to a request for several lookups. Pure. */
import type { RecordAnswer } from '../client/attempt-client.ts';
import type { BatchItem, PendingAnswer } from '../client/provider-client.ts';
import type { CallResult } from '../client/types.ts';
import { settledCall } from '../pool/call.ts';
import type { SettledCall } from '../pool/call-pool.ts';
import type { AnswerToOne } from './lookup-form.ts';

/** The final answer to one lookup of a request; null when the lookup has to be asked for again. */
export function settledItem<R>(
  item: BatchItem | undefined,
  { attempts, requestId }: { readonly attempts: number; readonly requestId: string | null },
): AnswerToOne<R> {
  switch (item?.kind) {
    case 'ok':
    case 'miss':
    case 'suppressed':
    case 'rejected': {
      const settled = settledCall(item, attempts) as SettledCall<RecordAnswer<R>>;
      return settled.requestId === null ? { ...settled, requestId } : settled;
    }
    default:
      return null;
  }
}

/** The answer to a request for one lookup, as if the lookup had a request of its own; `ok` with null when it was left out. */
export function answerToOne<R>(
  result: CallResult<readonly BatchItem[]> | PendingAnswer,
): CallResult<RecordAnswer<R> | null> | PendingAnswer {
  if (result.kind !== 'ok') return result;
  const { meta, value } = result;
  const [item = null] = value;
  if (item === null) return { kind: 'ok', value: null, meta };
  const { status, requestId } = item.meta;
  // The status is that of the lookup, everything else that of the request.
  return { ...item, meta: { ...meta, status, requestId: requestId ?? meta.requestId } } as CallResult<RecordAnswer<R>>;
}
