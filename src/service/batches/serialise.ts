/** Serialises a job for answers and events. Pure. */
import { timeText } from '../store/rows/record-columns.ts';
import type { BatchRow } from './batch-rows.ts';
import { STATES } from './states.ts';

export type SerialisedBatch = Readonly<Record<string, unknown>>;

export function serialiseBatch(row: BatchRow): SerialisedBatch {
  const { id, state, reason, request, parts, total, counts, credits, times } = row;
  return {
    id,
    operation: request.operation,
    format: request.format,
    state,
    reason: reason === null ? null : { code: reason.code, detail: reason.detail },
    options: request.options,
    metadata: request.metadata,
    webhook_url: request.webhookUrl,
    max_credits: request.maxCredits,
    parts,
    counts: { total, ...counts, unprocessed: total - counts.succeeded - counts.not_found - counts.failed },
    credits_charged: credits,
    times: Object.fromEntries(STATES.map((one) => [one, times[one] === undefined ? null : timeText(times[one])])),
  };
}
