/**
 * POST /v1/enrich/bulk: up to 100 enrichments in one request, each of which takes a call and a request of the quota as if it came alone.
 */
import type { Endpoint } from '../calls/endpoint.ts';
import { problem, ServiceError } from '../http/problem.ts';
import { BULK_BODY, MAX_METADATA_DEPTH } from './enrich-operations.ts';
import { BodyReader } from '../http/body-reader.ts';
import { isUnreadable } from '../../sqlite/system-code.ts';
import { storeDamaged } from '../accounts/store-refusals.ts';
import type { SparseRecord } from '../records/whole-record.ts';
import { allNamed, type Named } from '../store/identity/named-people.ts';
import { isObject } from '../../util/is-object.ts';
import { mapped } from '../../util/steps.ts';
import type { Turns } from '../guards/turns.ts';
import { isDeeper } from '../http/values.ts';
import type { StoreHealth } from '../monitoring/store-health.ts';
import { enrichOne, enrichmentEvent, type EnrichDependencies } from './enrich.ts';

interface Item {
  readonly params: unknown;
  readonly metadata?: unknown;
}

/** Work of one lookup. */
const ITEM_UNITS = 10;

export interface BulkEnrichDependencies extends EnrichDependencies {
  readonly health: Pick<StoreHealth, 'damaged'>;
  readonly turns: Turns;
}

export function bulkEnrichEndpoint(dependencies: BulkEnrichDependencies): Endpoint {
  return async (body, request) => {
    const items = readItems(body);
    const { charge, requestId } = request.call;
    charge.bookBulk(items.length, 'items', '/requests');
    let credits = 0;
    const announcements: (() => void)[] = [];
    const named: Named[] = [];
    const answerOf = async ({ params, metadata }: Item): Promise<string> => {
      const tail = `"metadata":${JSON.stringify(metadata ?? null)}}`;
      try {
        const answer = await enrichOne(dependencies, params);
        named.push(answer.named ?? {});
        announcements.push(enrichmentEvent(dependencies, charge, params, () => JSON.parse(answer.text) as SparseRecord));
        credits += answer.credits;
        // The record is text already.
        return `{"status":${answer.status},"record":${answer.text},"error":null,${tail}`;
      } catch (cause) {
        // A record that is damaged fails alone.
        if (isUnreadable(cause)) dependencies.health.damaged('POST /v1/enrich/bulk', cause);
        const error = isUnreadable(cause) ? storeDamaged() : cause;
        if (!(error instanceof ServiceError)) throw error;
        return (
          `{"status":${error.status},"record":null,"error":` +
          `${problem(error.code, error.message, '/v1/enrich', requestId, error.errors)},${tail}`
        );
      }
    };
    const begin = (item: Item): Promise<string> => {
      const answer = answerOf(item);
      // A failure is thrown below, once all have begun. Until then it must not count as unhandled.
      answer.catch(() => undefined);
      return answer;
    };
    const data = await Promise.all(await dependencies.turns.run(charge.keyId, mapped(items, ITEM_UNITS, begin)));
    for (const announce of announcements) announce();
    return { status: 200, text: `{"data":[${data.join(',')}]}`, credits, named: allNamed(named) };
  };
}

function readItems(body: unknown): readonly Item[] {
  const reader = new BodyReader(body, BULK_BODY);
  const requests = reader.get('requests');
  if (!reader.has('requests')) reader.fail('', 'required', 'give requests: an array of {params, metadata}');
  for (const [at, item] of (requests ?? []).entries()) {
    if (isObject(item) && isDeeper(item['metadata'], MAX_METADATA_DEPTH))
      reader.fail(`/requests/${at}/metadata`, 'too_deep', `requests[${at}].metadata is nested more than ${MAX_METADATA_DEPTH} levels deep`);
  }
  reader.finish();
  // `finish` has thrown unless each is such an object.
  return requests as readonly Item[];
}
