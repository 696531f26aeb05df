/** POST /v1/enrich/bulk: up to 100 enrichments in one request, each of which costs the quota as if it came alone. */
import type { FastifyRequest } from 'fastify';
import type { ActiveKey } from '../key-ring.ts';
import type { Endpoint, ServiceContext } from '../context.ts';
import { problem, ServiceError } from '../errors.ts';
import { BodyReader } from '../validate.ts';
import { isObject } from '../values.ts';
import { enrichOne } from './enrich.ts';

const MAX_ITEMS = 100;
const ITEM_FIELDS = ['params', 'metadata'];

interface Item {
  readonly params: unknown;
  readonly metadata: unknown;
}

export function bulkEnrichEndpoint(context: ServiceContext): Endpoint {
  return async (body, request) => {
    const items = readItems(body);
    takeQuota(context, request, items.length - 1);
    let credits = 0;
    const data = await Promise.all(items.map(async ({ params, metadata }) => {
      const tail = `"metadata":${JSON.stringify(metadata ?? null)}}`;
      try {
        const answer = await enrichOne(context, params);
        credits += answer.credits;
        // The record is text already.
        return `{"status":${answer.status},"record":${answer.text},"error":null,${tail}`;
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        return `{"status":${error.status},"record":null,"error":${problem(error.code, error.message, '/v1/enrich', request.call.requestId, error.errors)},${tail}`;
      }
    }));
    return { status: 200, text: `{"data":[${data.join(',')}]}`, credits, again: true };
  };
}

function readItems(body: unknown): Item[] {
  const reader = new BodyReader(body, ['requests']);
  const requests = reader.array('requests');
  if (!reader.has('requests')) reader.fail('', 'required', 'give requests: an array of {params, metadata}');
  else if (requests?.length === 0) reader.fail('/requests', 'too_few', 'requests is empty; give at least one');
  else if (requests !== null && requests.length > MAX_ITEMS) reader.fail('/requests', 'too_many', `at most ${MAX_ITEMS} in one request, not ${requests.length}`);
  const items = (requests ?? []).slice(0, MAX_ITEMS).map((item, at): Item => {
    if (!isObject(item)) {
      reader.fail(`/requests/${at}`, 'type', `requests[${at}] must be an object with params`);
      return { params: null, metadata: null };
    }
    const stray = Object.keys(item).find((field) => !ITEM_FIELDS.includes(field));
    if (stray !== undefined) reader.fail(`/requests/${at}`, 'unknown_field', `requests[${at}] has the unknown field ${JSON.stringify(stray.slice(0, 64))}; known are ${ITEM_FIELDS.join(', ')}`);
    if (item['params'] === undefined) reader.fail(`/requests/${at}`, 'required', `requests[${at}] has no params`);
    return { params: item['params'], metadata: item['metadata'] };
  });
  reader.finish();
  return items;
}

/** The first request was paid for when it came in. @throws ServiceError when the quota has not as many left, or never will */
function takeQuota({ quota, clock }: ServiceContext, request: FastifyRequest, more: number): void {
  const key = request.call.key as ActiveKey;
  if (key.rpm === null || more === 0) return;
  if (more >= key.rpm) {
    const detail = `${more + 1} items are more than this key's quota of ${key.rpm} requests a minute will ever hold; send fewer at once`;
    throw new ServiceError('validation_failed', detail, { errors: [{ pointer: '/requests', code: 'too_many', detail }] });
  }
  const decision = quota.take(key.id, key.rpm, clock(), more);
  request.call.quota = decision;
  if (decision.allowed) return;
  throw new ServiceError('rate_limited', `${more + 1} items need as many requests of the quota, and ${decision.remaining + 1} were left`, { headers: { 'retry-after': String(decision.retryAfterS) } });
}
