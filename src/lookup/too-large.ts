/** Recognises requests that are too large for the service or a gateway in front of it. Pure. */
import type { CallResult } from '../client/types.ts';
import type { SettledCall } from '../pool/call-pool.ts';

type Failure = CallResult<unknown> & { readonly kind: 'retryable' };

/** No request was sent: the connection failed, or none was free. */
const NEVER_SENT = /^(?:no (?:free )?connection|connect )/;
/** Statuses of a timeout: at the service, a gateway, or Cloudflare. */
const WAITED_TOO_LONG: ReadonlySet<number> = new Set([408, 504, 524]);
/** Another failure this late may be the time limit of a proxy, which just closes the connection. */
const LATE_MS = 5_000;
const LATE_SHARE = 0.25;

/**
 * The reason to try a smaller request, for a sentence that begins with "... requests"; null without one. @param limitMs the longest wait
 * for an answer
 */
export function waitedTooLong(failure: Failure, limitMs: number): string | null {
  const { code, detail, retryAfterMs, meta } = failure;
  if (code === 'timeout') return NEVER_SENT.test(detail) ? null : `ran into the time limit of ${limitMs / 1_000} s`;
  // A service that names a time means the same request. A timeout within milliseconds is an outage.
  return retryAfterMs === null && isTimeout(failure, limitMs) && WAITED_TOO_LONG.has(meta.status)
    ? `were answered with HTTP ${meta.status} (waited too long)`
    : null;
}

/** Whether a failure came so late that it may be a proxy's limit. It may also be a restart, so one such failure decides nothing. */
export function isTimeout({ detail, meta }: Failure, limitMs: number): boolean {
  return !NEVER_SENT.test(detail) && meta.latencyMs >= Math.min(LATE_MS, limitMs * LATE_SHARE);
}

/** A refusal that is about the number of lookups, in the same words; else null. */
export function refusedAsTooLarge(settled: SettledCall<unknown>): string | null {
  if (settled.kind !== 'failed' || !settled.rejected) return null;
  return settled.status === 413 || settled.code === 'too_many_emails' ? `were refused as too large (HTTP ${settled.status})` : null;
}
