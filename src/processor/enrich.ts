import type { EnrichAnswer, EnrichKey, RevealKey } from '../client/attempt-client.ts';
import type { LookupOptions } from '../client/provider-client.ts';
import type { PersonRecord } from '../client/types.ts';
import type { CallAnswer } from '../pool/call.ts';
import type { StepContext } from './step-context.ts';
import { namePartsOf, type EnrichLookup } from './lookup-keys.ts';
import { LookupStep } from './lookup-step.ts';
import type { LookupScopes } from './scopes.ts';

/**
 * The enrich step: a person by one of several keys, or a company by its domain. No two kinds share a key: an address has an @, a number
 * begins with a plus, a profile has a scheme, a name has a tab, and a domain has none of these.
 */
export class EnrichStep extends LookupStep<EnrichLookup, PersonRecord> {
  readonly #scopes: LookupScopes['enrich'];

  constructor(context: StepContext, scopes: LookupScopes['enrich']) {
    super(context, 'enrich');
    this.#scopes = scopes;
  }

  protected scopeOf({ by }: EnrichLookup): number {
    return this.#scopes[by];
  }

  protected bodyOf(lookup: EnrichLookup): string {
    return this.context.client.enrichBody(toPersonKey(lookup));
  }

  protected call(body: string, options: LookupOptions): Promise<CallAnswer<EnrichAnswer>> {
    return this.context.client.callEnrich(body, options);
  }
}

function toPersonKey({ by, key }: EnrichLookup): EnrichKey | RevealKey {
  if (by !== 'name' && by !== 'company') return { [by]: key } as unknown as EnrichKey;
  const [name, place] = namePartsOf(key);
  return by === 'name' ? { name, domain: place } : { name, company: place };
}
