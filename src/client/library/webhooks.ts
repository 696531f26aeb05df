/** `client.webhooks`: subscriptions and deliveries. `verify-webhook.ts` checks the signatures of deliveries. */
import { inspect } from 'node:util';
import type { CallOptions } from '../attempt-client.ts';
import type { Caller } from './caller.ts';
import type { Webhook, WebhookDelivery, WebhookTest, WebhookWithSecret } from './models.ts';
import { Pager } from './pager.ts';
import type { WebhookParams, WebhookUpdate } from './params.ts';
import { pathOf, queryOf } from './paths.ts';

export class Webhooks {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Subscribes `url` to `event` or `events`. The secret is shown once, here. */
  async create(params: WebhookParams, options?: CallOptions): Promise<WebhookWithSecret> {
    return withHiddenSecret(await this.#caller.json({ method: 'POST', path: '/v1/webhooks', json: params, ...options }));
  }

  /** All webhooks of the key. */
  async list(options?: CallOptions): Promise<readonly Webhook[]> {
    const found = (await this.#caller.json({ method: 'GET', path: '/v1/webhooks', signal: options?.signal })) as { data: Webhook[] };
    return found.data;
  }

  async get(id: string, options?: CallOptions): Promise<Webhook> {
    return (await this.#caller.json({ method: 'GET', path: pathOf`/v1/webhooks/${id}`, signal: options?.signal })) as Webhook;
  }

  /** Replaces `url`, `events`, `filter` or `enabled`. */
  async update(id: string, changes: WebhookUpdate, options?: CallOptions): Promise<Webhook> {
    const call = { method: 'PATCH', path: pathOf`/v1/webhooks/${id}`, json: changes, signal: options?.signal } as const;
    return (await this.#caller.json(call)) as Webhook;
  }

  /** Removes the webhook and its deliveries. */
  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.#caller.answer({ method: 'DELETE', path: pathOf`/v1/webhooks/${id}`, signal: options?.signal });
  }

  /** A new secret. For 24 hours deliveries are signed with the old one too. */
  async rotateSecret(id: string, options?: CallOptions): Promise<WebhookWithSecret> {
    return withHiddenSecret(await this.#caller.json({ method: 'POST', path: pathOf`/v1/webhooks/${id}/rotate-secret`, ...options }));
  }

  /** Sends a test event at once, and returns the answer of the receiver. */
  async test(id: string, options?: CallOptions): Promise<WebhookTest> {
    return (await this.#caller.json({ method: 'POST', path: pathOf`/v1/webhooks/${id}/test`, ...options })) as WebhookTest;
  }

  /** Past and pending deliveries, the newest first. */
  deliveries(id: string, params: { readonly limit?: number } = {}, options?: CallOptions): Pager<WebhookDelivery> {
    return new Pager((cursor) =>
      this.#caller.json({
        method: 'GET',
        path: pathOf`/v1/webhooks/${id}/deliveries` + queryOf({ ...params, cursor }),
        signal: options?.signal,
      }),
    );
  }

  /** Sends a delivery again. */
  async redeliver(id: string, delivery: string, options?: CallOptions): Promise<WebhookDelivery> {
    const path = pathOf`/v1/webhooks/${id}/deliveries/${delivery}/redeliver`;
    return (await this.#caller.json({ method: 'POST', path, ...options })) as WebhookDelivery;
  }
}

/** Logs show the object without its secret; its property is there. */
function withHiddenSecret(webhook: unknown): WebhookWithSecret {
  const shown = { ...(webhook as WebhookWithSecret), secret: '[redacted]' };
  return Object.defineProperty(webhook as WebhookWithSecret, inspect.custom, { value: () => shown });
}
