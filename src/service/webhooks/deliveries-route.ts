/** /v1/webhooks/{id}/deliveries: lists the deliveries of a webhook, and sends one again. */
import type { Endpoint } from '../calls/endpoint.ts';
import { ServiceError } from '../http/problem.ts';
import { DELIVERY_LIMIT } from './webhook-operations.ts';
import { changeWithAnswer } from './answered-change.ts';
import { nextUrl, writeCursor } from '../http/cursor.ts';
import { readPageQuery } from '../http/page-query.ts';
import { deliveryRecord } from './webhook-records.ts';
import { findWebhook, type WebhookDependencies } from './webhooks-route.ts';

export function listDeliveries({ webhooks }: WebhookDependencies): Endpoint {
  return (_body, request) => {
    const { limit, before, question } = readPageQuery(request, DELIVERY_LIMIT, ['deliveries', request.params]);
    const found = webhooks.deliveries.page(findWebhook(webhooks, request).id, before ?? Number.MAX_SAFE_INTEGER, limit + 1);
    const last = found.length > limit ? found[limit - 1] : undefined;
    const cursor = last === undefined ? null : writeCursor(question, [last.seq]);
    const text = JSON.stringify({ data: found.slice(0, limit).map(deliveryRecord), meta: { limit, next_cursor: cursor } });
    return { status: 200, text, credits: 0, headers: cursor === null ? {} : { link: `<${nextUrl(request.url, cursor)}>; rel="next"` } };
  };
}

export function redeliver({ webhooks, now }: WebhookDependencies): Endpoint {
  return async (_body, request, storeAnswer) => {
    const { delivery: id } = request.params as { readonly delivery: string };
    const answer = await changeWithAnswer(webhooks, storeAnswer, () => {
      const webhook = findWebhook(webhooks, request);
      if (webhook.disabled !== null) throw new ServiceError('job_state_conflict', 'the webhook is disabled; enable it first');
      const found = webhooks.deliveries.find(id, webhook.id);
      if (found === null) throw new ServiceError('not_found', 'this webhook has no delivery of this id; they are kept for 30 days');
      webhooks.deliveries.sendAgain(found.id, now());
      return { status: 202, text: JSON.stringify(deliveryRecord({ ...found, state: 'pending', attempts: 0, nextMs: now() })), credits: 0 };
    });
    webhooks.wake();
    return answer;
  };
}
