import type { PersonKey, RevealAnswer } from '../client/attempt-client.ts';
import type { CallResult, ContactRecord } from '../client/types.ts';
import type { StepContext } from './step-context.ts';
import { namePartsOf, type RevealLookup } from './lookup-keys.ts';
import { LookupStep } from './lookup-step.ts';
import type { LookupScopes } from './scopes.ts';

type RevealScopes = Pick<LookupScopes, (typeof SCOPE_OF)[RevealLookup['by']]>;

const SCOPE_OF = {
  linkedin_url: 'reveal',
  email: 'revealByEmail',
  phone: 'revealByPhone',
  name: 'revealByName',
  company: 'revealByCompany',
} as const satisfies Record<RevealLookup['by'], keyof LookupScopes>;

/** The scope of a lookup in the ledger. */
export function revealScope({ by }: RevealLookup): (typeof SCOPE_OF)[RevealLookup['by']] {
  return SCOPE_OF[by];
}

/** The reveal step: the address and the phone number of a person. */
export class RevealStep extends LookupStep<RevealLookup, ContactRecord> {
  protected readonly step = 'reveal';
  readonly #scopes: RevealScopes;

  constructor(context: StepContext, scopes: RevealScopes) {
    super(context);
    this.#scopes = scopes;
  }

  protected scopeOf(lookup: RevealLookup): number {
    return this.#scopes[revealScope(lookup)];
  }

  protected callFor(lookup: RevealLookup, seed: string | null): () => Promise<CallResult<RevealAnswer>> {
    const { client, idempotencyKey } = this.context;
    const body = client.revealBody(toPersonKey(lookup));
    const options = { idempotencyKey: idempotencyKey(body, seed) };
    return () => client.callReveal(body, options);
  }
}

function toPersonKey({ by, key }: RevealLookup): PersonKey | { readonly name: string; readonly company: string } {
  if (by !== 'name' && by !== 'company') return { [by]: key } as unknown as PersonKey;
  const [name, place] = namePartsOf(key);
  return by === 'name' ? { name, domain: place } : { name, company: place };
}
