import type { CompanyAnswer } from '../client/attempt-client.ts';
import type { CallResult, CompanyRecord } from '../client/types.ts';
import type { StepContext } from './step-context.ts';
import { LookupStep, type StepLookup } from './lookup-step.ts';

/**
 * The company step: the whole company record of a domain. It is read with GET, so that a repeat after a crash needs no `Idempotency-Key`.
 */
export class CompanyStep extends LookupStep<StepLookup, CompanyRecord> {
  protected readonly step = 'company';
  readonly #scope: number;

  constructor(context: StepContext, scope: number) {
    super(context);
    this.#scope = scope;
  }

  protected scopeOf(): number {
    return this.#scope;
  }

  protected callFor({ key }: StepLookup): () => Promise<CallResult<CompanyAnswer>> {
    const { client } = this.context;
    return () => client.callCompany(key);
  }
}
