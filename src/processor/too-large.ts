/** Whether a failed verify request asked for more than the service, or what stands before it, does in one request. Pure. */
import type { CallResult } from '../client/types.ts';
import type { Settled } from '../pool/call-pool.ts';

type Failure = CallResult<unknown> & { readonly kind: 'retryable' };

/** No request has left: the connection failed, or none was free. */
const NEVER_SENT = /^(?:no (?:free )?connection|connect )/;
/** Statuses that say that somebody has waited too long: the service, a gateway, and Cloudflare. */
const WAITED_TOO_LONG: ReadonlySet<number> = new Set([408, 504, 524]);
/** Any other failure that comes this late may be the limit of a proxy, which just cuts the connection. */
const LATE_MS = 5_000;
const LATE_SHARE = 0.25;

/**
 * Why a smaller request is worth a try, for a sentence that begins with "verify requests"; null when it is not worth one.
 * @param limitMs longest wait for an answer
 */
export function waitedTooLong(failure: Failure, limitMs: number): string | null {
  const { code, detail, retryAfterMs, meta } = failure;
  if (code === 'timeout') return NEVER_SENT.test(detail) ? null : `ran into the time limit of ${limitMs / 1_000} s`;
  // Whoever says when to come again means the same request, and nobody waits too long within milliseconds: that is an outage.
  return retryAfterMs === null && isLate(failure, limitMs) && WAITED_TOO_LONG.has(meta.status) ? `were answered with HTTP ${meta.status} (waited too long)` : null;
}

/** Whether a failure came so late that it may be a proxy's limit. It may as well be a restart, so one such failure alone tells nothing. */
export function isLate({ detail, meta }: Failure, limitMs: number): boolean {
  return !NEVER_SENT.test(detail) && meta.latencyMs >= Math.min(LATE_MS, limitMs * LATE_SHARE);
}

/** A refusal that is about the number of addresses, in the same words; else null. */
export function refusedAsTooLarge(settled: Settled<unknown>): string | null {
  if (settled.kind !== 'failed' || !settled.rejected) return null;
  return settled.status === 413 || settled.code === 'too_many_emails' ? `were refused as too large (HTTP ${settled.status})` : null;
}
