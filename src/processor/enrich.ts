import type { EnrichAnswer } from '../client/attempt-client.ts';
import type { CallResult, PersonRecord } from '../client/types.ts';
import type { StepContext } from './step-context.ts';
import type { EnrichLookup } from './lookup-keys.ts';
import { LookupStep } from './lookup-step.ts';

/** The enrich step: a person by e-mail, or a company by domain. The two share no key: an address has an @ and a domain has none. */
export class EnrichStep extends LookupStep<EnrichLookup, PersonRecord> {
  protected readonly step = 'enrich';
  readonly #scopes: { readonly email: number; readonly domain: number };

  constructor(context: StepContext, scopes: { readonly email: number; readonly domain: number }) {
    super(context);
    this.#scopes = scopes;
  }

  protected scopeOf({ by }: EnrichLookup): number {
    return this.#scopes[by];
  }

  protected callFor({ by, key }: EnrichLookup, seed: string | null): () => Promise<CallResult<EnrichAnswer>> {
    const { client, idempotencyKey } = this.context;
    const body = client.enrichBody(by === 'email' ? { email: key } : { domain: key });
    const options = { idempotencyKey: idempotencyKey(body, seed) };
    return () => client.callEnrich(body, options);
  }
}
