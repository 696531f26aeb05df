/** POST /v1/enrich/bulk: up to 100 enrichments in one request, each of which takes a call and a request of the quota as if it came alone. */
import type { Endpoint, ServiceContext } from '../context.ts';
import { problem, ServiceError } from '../errors.ts';
import { BULK_BODY, MAX_METADATA_DEPTH } from '../operations/enrich.ts';
import { BodyReader } from '../validate.ts';
import { isDamage } from '../../sqlite/system-code.ts';
import { takeSeveral } from '../several-calls.ts';
import { damaged } from '../unwritten.ts';
import type { SparseRecord } from '../records.ts';
import { allNamed, type Named } from '../store/named.ts';
import { isDeeper, isObject } from '../values.ts';
import { announcementOf, enrichOne } from './enrich.ts';

interface Item {
  readonly params: unknown;
  readonly metadata?: unknown;
}

export function bulkEnrichEndpoint(context: ServiceContext): Endpoint {
  return async (body, request) => {
    const items = readItems(body);
    takeSeveral(context, request, items.length, 'items', '/requests');
    let credits = 0;
    const { call } = request;
    const announcements: (() => void)[] = [];
    const named: Named[] = [];
    const data = await Promise.all(items.map(async ({ params, metadata }) => {
      const tail = `"metadata":${JSON.stringify(metadata ?? null)}}`;
      try {
        const answer = await enrichOne(context, params);
        named.push(answer.named ?? {});
        announcements.push(announcementOf(context, call, params, () => JSON.parse(answer.text) as SparseRecord));
        credits += answer.credits;
        // The record is text already.
        return `{"status":${answer.status},"record":${answer.text},"error":null,${tail}`;
      } catch (cause) {
        // A record that is damaged fails alone.
        if (isDamage(cause)) context.health.damaged('POST /v1/enrich/bulk', cause);
        const error = isDamage(cause) ? damaged() : cause;
        if (!(error instanceof ServiceError)) throw error;
        return `{"status":${error.status},"record":null,"error":${problem(error.code, error.message, '/v1/enrich', call.requestId, error.errors)},${tail}`;
      }
    }));
    for (const announce of announcements) announce();
    return { status: 200, text: `{"data":[${data.join(',')}]}`, credits, named: allNamed(named) };
  };
}

function readItems(body: unknown): readonly Item[] {
  const reader = new BodyReader(body, BULK_BODY);
  const requests = reader.get('requests');
  if (!reader.has('requests')) reader.fail('', 'required', 'give requests: an array of {params, metadata}');
  for (const [at, item] of (requests ?? []).entries()) {
    if (isObject(item) && isDeeper(item['metadata'], MAX_METADATA_DEPTH)) reader.fail(`/requests/${at}/metadata`, 'too_deep', `requests[${at}].metadata is nested more than ${MAX_METADATA_DEPTH} levels deep`);
  }
  reader.finish();
  // `finish` has thrown unless each is such an object.
  return requests as readonly Item[];
}
