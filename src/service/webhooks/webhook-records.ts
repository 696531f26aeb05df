/** Serialises webhooks and deliveries for answers. Pure. */
import type { Delivery } from './delivery.ts';
import type { Webhook } from './webhook-rows.ts';

export function webhookRecord({
  id,
  url,
  events,
  filter,
  disabled,
  disabledMs,
  failingMs,
  dropped,
  createdMs,
  updatedMs,
}: Webhook): Readonly<Record<string, unknown>> {
  return {
    id,
    url,
    events,
    filter,
    enabled: disabled === null,
    disabled_reason: disabled,
    disabled_at: timeOf(disabledMs),
    failing_since: timeOf(failingMs),
    dropped,
    created_at: timeOf(createdMs),
    updated_at: timeOf(updatedMs),
  };
}

export function deliveryRecord({
  id,
  type,
  state,
  attempts,
  createdMs,
  nextMs,
  lastMs,
  lastStatus,
  lastError,
}: Delivery): Readonly<Record<string, unknown>> {
  return {
    id,
    type,
    state,
    attempts,
    created_at: timeOf(createdMs),
    next_attempt_at: timeOf(nextMs),
    last_attempt_at: timeOf(lastMs),
    last_status: lastStatus,
    last_error: lastError,
  };
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
