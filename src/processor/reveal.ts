import type { PersonKey, RevealAnswer } from '../client/attempt-client.ts';
import type { LookupOptions } from '../client/provider-client.ts';
import type { ContactRecord } from '../client/types.ts';
import type { CallAnswer } from '../pool/call.ts';
import type { StepContext } from './step-context.ts';
import { namePartsOf, type RevealLookup } from './lookup-keys.ts';
import { LookupStep } from './lookup-step.ts';
import type { LookupScopes } from './scopes.ts';

/** The reveal step: the address and the phone number of a person. */
export class RevealStep extends LookupStep<RevealLookup, ContactRecord> {
  readonly #scopes: LookupScopes['reveal'];

  constructor(context: StepContext, scopes: LookupScopes['reveal']) {
    super(context, 'reveal');
    this.#scopes = scopes;
  }

  protected scopeOf(lookup: RevealLookup): number {
    return this.#scopes[lookup.by];
  }

  protected bodyOf(lookup: RevealLookup): string {
    return this.context.client.revealBody(toPersonKey(lookup));
  }

  protected call(body: string, options: LookupOptions): Promise<CallAnswer<RevealAnswer>> {
    return this.context.client.callReveal(body, options);
  }
}

function toPersonKey({ by, key }: RevealLookup): PersonKey | { readonly name: string; readonly company: string } {
  if (by !== 'name' && by !== 'company') return { [by]: key } as unknown as PersonKey;
  const [name, place] = namePartsOf(key);
  return by === 'name' ? { name, domain: place } : { name, company: place };
}
