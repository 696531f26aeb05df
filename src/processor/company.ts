import type { CompanyAnswer } from '../client/attempt-client.ts';
import type { LookupOptions } from '../client/provider-client.ts';
import type { CompanyRecord } from '../client/types.ts';
import type { CallAnswer } from '../pool/call.ts';
import type { StepContext } from './step-context.ts';
import { LookupStep, type StepLookup } from './lookup-step.ts';

/**
 * The company step: the whole company record of a domain. It is read with GET, so that a repeat after a crash needs no `Idempotency-Key`.
 */
export class CompanyStep extends LookupStep<StepLookup, CompanyRecord> {
  readonly #scope: number;

  constructor(context: StepContext, scope: number) {
    super(context, 'company');
    this.#scope = scope;
  }

  protected scopeOf(): number {
    return this.#scope;
  }

  protected bodyOf({ key }: StepLookup): string {
    return key;
  }

  protected call(domain: string, options: LookupOptions): Promise<CallAnswer<CompanyAnswer>> {
    return this.context.client.callCompany(domain, options);
  }
}
