/** Answers with the secret of a webhook. It is the store's once alone: what is kept of them for an Idempotency-Key says which secret it was, and a replay reads it again. */
import { hash } from 'node:crypto';
import type { Answer } from '../context.ts';
import { secretText } from '../webhooks/signature.ts';
import type { Webhook, WebhookRows } from '../webhooks/webhook-rows.ts';
import { webhookRecord } from './webhook-records.ts';

/** A webhook, with the secret that it has now. */
export function secretAnswer(webhook: Webhook, secret: Uint8Array, status: 200 | 201): Answer {
  const text = (told: string): string => JSON.stringify({ ...webhookRecord(webhook), secret: told });
  return { status, text: text(secretText(secret)), cut: text(markOf(secret)), credits: 0, again: false };
}

/** What was kept of such an answer, with the secret; null in its place when the webhook signs by another one by now, or is not there any more. */
export function withSecret(rows: Pick<WebhookRows, 'secrets'>, cut: string): string {
  const kept = JSON.parse(cut) as Readonly<Record<string, unknown>>;
  const found = rows.secrets(kept['id'] as string);
  const secret = [found?.secret, found?.former].find((one) => one !== undefined && one !== null && markOf(one) === kept['secret']);
  return JSON.stringify({ ...kept, secret: secret === undefined || secret === null ? null : secretText(secret) });
}

/** Tells secrets apart. They are random, and so long that nobody finds one by this. */
function markOf(secret: Uint8Array): string {
  return hash('sha256', secret, 'base64');
}
