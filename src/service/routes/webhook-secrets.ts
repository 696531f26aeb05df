/** Answers with the secret of a webhook. It is the store's once alone: what is kept of them for an Idempotency-Key says which secret it was, and a replay reads it again. */
import { hash } from 'node:crypto';
import type { Answer } from '../context.ts';
import { secretText } from '../webhooks/signature.ts';
import type { Webhook, WebhookRows } from '../webhooks/webhook-rows.ts';
import { webhookRecord } from './webhook-records.ts';

/** A webhook, with the secret that it has now. */
export function secretAnswer(webhook: Webhook, secret: Uint8Array, status: 200 | 201): Answer {
  const text = (shown: string): string => JSON.stringify({ ...webhookRecord(webhook), secret: shown });
  return { status, ...told(status, webhook.id, text(secretText(secret))), cut: text(markOf(secret)), credits: 0, again: false };
}

/** What was kept of such an answer, with the secret; null in its place when the webhook signs by another one by now, or is not there any more. */
export function withSecret(rows: Pick<WebhookRows, 'secrets'>, status: number, cut: string): Pick<Answer, 'text' | 'headers'> {
  const kept = JSON.parse(cut) as Readonly<Record<string, unknown>> & { readonly id: string };
  const found = rows.secrets(kept.id);
  const secret = [found?.secret, found?.former].find((one) => one !== undefined && one !== null && markOf(one) === kept['secret']);
  return told(status, kept.id, JSON.stringify({ ...kept, secret: secret === undefined || secret === null ? null : secretText(secret) }));
}

/** What was made has a place. */
function told(status: number, id: string, text: string): Pick<Answer, 'text' | 'headers'> {
  return { text, ...(status === 201 ? { headers: { location: `/v1/webhooks/${id}` } } : {}) };
}

/** Tells secrets apart. They are random, and so long that nobody finds one by this. */
function markOf(secret: Uint8Array): string {
  return hash('sha256', secret, 'base64');
}
