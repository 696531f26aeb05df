/** Changes of webhooks by POST. One transaction writes both the change and the answer that an Idempotency-Key repeats. */
import type { EndpointAnswer, StoreAnswer } from '../calls/endpoint.ts';
import type { StoreWrites } from '../calls/store-writes.ts';

/**
 * Resolves with the answer of `change` once change and answer are in the store.
 * @throws errors of `change`; ServiceError when the store is busy for too long, or another service did it for the same Idempotency-Key
 */
export function changeWithAnswer(
  { writes }: { readonly writes: Pick<StoreWrites, 'write'> },
  storeAnswer: StoreAnswer,
  change: () => EndpointAnswer,
): Promise<EndpointAnswer> {
  return writes.write(() => {
    const answer = change();
    storeAnswer(answer);
    return answer;
  });
}
