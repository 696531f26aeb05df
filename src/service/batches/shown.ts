/** A job as it is answered. Pure. */
import { timeText } from '../store/kept-columns.ts';
import type { BatchRow } from './batch-rows.ts';
import { STATES } from './states.ts';

export type ShownBatch = Readonly<Record<string, unknown>>;

export function shownBatch(row: BatchRow): ShownBatch {
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
