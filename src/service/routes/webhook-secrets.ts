/** Answers with the secret of a webhook. What is kept of them for an Idempotency-Key has it encrypted: in plain it is the store's once alone. Pure. */
import { profileKey } from '../../verification/profile-url.ts';
import type { Answer } from '../context.ts';
import { secretText } from '../webhooks/signature.ts';
import type { Webhook } from '../webhooks/webhook-rows.ts';
import { webhookRecord } from './webhook-records.ts';

/** A webhook, with the secret that it has now. What was made has a place. */
export function secretAnswer(webhook: Webhook, secret: Uint8Array, status: 200 | 201): Answer {
  const { id, filter } = webhook;
  const shown = secretText(secret);
  return {
    status,
    text: JSON.stringify({ ...webhookRecord(webhook), secret: shown }),
    secret: shown,
    named: { people: filter.id ?? [], profiles: (filter.linkedin_url ?? []).flatMap((url) => profileKey(url) ?? []) },
    ...(status === 201 ? { headers: { location: `/v1/webhooks/${id}` } } : {}),
    credits: 0,
  };
}
