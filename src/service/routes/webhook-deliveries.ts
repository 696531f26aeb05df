/** /v1/webhooks/{id}/deliveries: what was sent to a webhook, and sending it again. */
import type { Endpoint, ServiceContext } from '../context.ts';
import { ServiceError } from '../errors.ts';
import { DELIVERY_LIMIT } from '../operations/webhooks.ts';
import { answeredChange } from './answered-change.ts';
import { nextUrl, writeCursor } from './cursor.ts';
import { readPageQuery } from './page-query.ts';
import { deliveryRecord } from './webhook-records.ts';
import { findWebhook } from './webhooks.ts';

type Parts = Pick<ServiceContext, 'webhooks' | 'now'>;

export function listDeliveries({ webhooks }: Parts): Endpoint {
  return (_body, request) => {
    const { limit, before, question } = readPageQuery(request, DELIVERY_LIMIT, ['deliveries', request.params]);
    const found = webhooks.deliveries.page(findWebhook(webhooks, request).id, before ?? Number.MAX_SAFE_INTEGER, limit + 1);
    const last = found.length > limit ? found[limit - 1] : undefined;
    const cursor = last === undefined ? null : writeCursor(question, [last.seq]);
    const text = JSON.stringify({ data: found.slice(0, limit).map(deliveryRecord), meta: { limit, next_cursor: cursor } });
    return { status: 200, text, credits: 0, headers: cursor === null ? {} : { link: `<${nextUrl(request.url, cursor)}>; rel="next"` } };
  };
}

export function redeliver({ webhooks, now }: Parts): Endpoint {
  return async (_body, request) => {
    const { delivery: id } = request.params as { readonly delivery: string };
    const begun = await answeredChange(webhooks, request, () => {
      const webhook = findWebhook(webhooks, request);
      if (webhook.disabled !== null) throw new ServiceError('job_state_conflict', 'the webhook is disabled; enable it first');
      const found = webhooks.deliveries.find(id, webhook.id);
      if (found === null) throw new ServiceError('not_found', 'this webhook has no delivery of this id; they are kept for 30 days');
      webhooks.deliveries.sendAgain(found.id, now());
      return { status: 202, text: JSON.stringify(deliveryRecord({ ...found, state: 'pending', attempts: 0, nextMs: now() })), credits: 0 };
    });
    webhooks.wake();
    return begun;
  };
}
