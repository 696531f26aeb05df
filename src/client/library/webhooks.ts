/** `client.webhooks`: subscriptions and deliveries. `verify-webhook.ts` checks the signatures of deliveries. */
import type { CallOptions } from '../call-options.ts';
import type { Caller } from './caller.ts';
import type { Webhook, WebhookDelivery, WebhookList, WebhookTest, WebhookWithSecret } from './models.ts';
import { Pager } from './pager.ts';
import type { WebhookParams, WebhookUpdate } from './params.ts';
import { pathOf, queryOf } from './paths.ts';

export class Webhooks {
  readonly #caller: Caller;

  /** @internal */
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Subscribes `url` to `event` or `events`. The secret is shown once, here. */
  async create(params: WebhookParams, options?: CallOptions): Promise<WebhookWithSecret> {
    return withHiddenSecret(
      await this.#caller.record('WebhookWithSecret', { method: 'POST', path: '/v1/webhooks', json: params, ...options }),
    );
  }

  /** All webhooks of the key. */
  async list(options?: CallOptions): Promise<readonly Webhook[]> {
    const call = { method: 'GET', path: '/v1/webhooks', signal: options?.signal } as const;
    return (await this.#caller.record<WebhookList>('WebhookList', call)).data;
  }

  async get(id: string, options?: CallOptions): Promise<Webhook> {
    return await this.#caller.record<Webhook>('Webhook', { method: 'GET', path: pathOf`/v1/webhooks/${id}`, signal: options?.signal });
  }

  /** Replaces `url`, `events`, `filter` or `enabled`. */
  async update(id: string, changes: WebhookUpdate, options?: CallOptions): Promise<Webhook> {
    const call = { method: 'PATCH', path: pathOf`/v1/webhooks/${id}`, json: changes, signal: options?.signal } as const;
    return await this.#caller.record<Webhook>('Webhook', call);
  }

  /** Removes the webhook and its deliveries. */
  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.#caller.answer({ method: 'DELETE', path: pathOf`/v1/webhooks/${id}`, signal: options?.signal }, () => undefined);
  }

  /** A new secret. For 24 hours deliveries are signed with the old one too. */
  async rotateSecret(id: string, options?: CallOptions): Promise<WebhookWithSecret> {
    return withHiddenSecret(
      await this.#caller.record('WebhookWithSecret', { method: 'POST', path: pathOf`/v1/webhooks/${id}/rotate-secret`, ...options }),
    );
  }

  /** Sends a test event at once, and returns the answer of the receiver. */
  async test(id: string, options?: CallOptions): Promise<WebhookTest> {
    return await this.#caller.record<WebhookTest>('WebhookTest', { method: 'POST', path: pathOf`/v1/webhooks/${id}/test`, ...options });
  }

  /** Past and pending deliveries, the newest first. */
  deliveries(id: string, params: { readonly limit?: number } = {}, options?: CallOptions): Pager<WebhookDelivery> {
    return new Pager<WebhookDelivery>(this.#caller, 'WebhookDelivery', (cursor) => ({
      method: 'GET',
      path: pathOf`/v1/webhooks/${id}/deliveries` + queryOf({ ...params, cursor }),
      signal: options?.signal,
    }));
  }

  /** Sends a delivery again. */
  async redeliver(id: string, delivery: string, options?: CallOptions): Promise<WebhookDelivery> {
    const path = pathOf`/v1/webhooks/${id}/deliveries/${delivery}/redeliver`;
    return await this.#caller.record<WebhookDelivery>('WebhookDelivery', { method: 'POST', path, ...options });
  }
}

/** The method that Node's `console.log` calls. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** Logs and JSON show the object without its secret; its property is there. */
function withHiddenSecret(webhook: WebhookWithSecret): WebhookWithSecret {
  const shown = (): object => ({ ...webhook, secret: '[redacted]' });
  return Object.defineProperties(webhook, { [INSPECT]: { value: shown }, toJSON: { value: shown } });
}
