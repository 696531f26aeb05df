import type { EnrichAnswer, EnrichKey, RevealKey } from '../client/attempt-client.ts';
import type { CallResult, PersonRecord } from '../client/types.ts';
import type { StepContext } from './step-context.ts';
import { namePartsOf, type EnrichLookup } from './lookup-keys.ts';
import { LookupStep } from './lookup-step.ts';
import type { LookupScopes } from './scopes.ts';

/**
 * The enrich step: a person by one of several keys, or a company by its domain. No two kinds share a key: an address has an @, a number
 * begins with a plus, a profile has a scheme, a name has a tab, and a domain has none of these.
 */
export class EnrichStep extends LookupStep<EnrichLookup, PersonRecord> {
  protected readonly step = 'enrich';
  readonly #scopes: LookupScopes['enrich'];

  constructor(context: StepContext, scopes: LookupScopes['enrich']) {
    super(context);
    this.#scopes = scopes;
  }

  protected scopeOf({ by }: EnrichLookup): number {
    return this.#scopes[by];
  }

  protected callFor(lookup: EnrichLookup, seed: string | null): () => Promise<CallResult<EnrichAnswer>> {
    const { client, idempotencyKey } = this.context;
    const body = client.enrichBody(toPersonKey(lookup));
    const options = { idempotencyKey: idempotencyKey(body, seed) };
    return () => client.callEnrich(body, options);
  }
}

function toPersonKey({ by, key }: EnrichLookup): EnrichKey | RevealKey {
  if (by !== 'name' && by !== 'company') return { [by]: key } as unknown as EnrichKey;
  const [name, place] = namePartsOf(key);
  return by === 'name' ? { name, domain: place } : { name, company: place };
}
