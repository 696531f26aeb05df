import type { RevealAnswer } from '../client/attempt-client.ts';
import type { CallResult, ContactRecord } from '../client/types.ts';
import type { StepContext } from './step-context.ts';
import { LookupStep, type StepLookup } from './lookup-step.ts';

/** The reveal step: the address and the phone number behind a profile. */
export class RevealStep extends LookupStep<StepLookup, ContactRecord> {
  protected readonly step = 'reveal';
  readonly #scope: number;

  constructor(context: StepContext, scope: number) {
    super(context);
    this.#scope = scope;
  }

  protected scopeOf(): number {
    return this.#scope;
  }

  protected callFor({ key }: StepLookup, seed: string | null): () => Promise<CallResult<RevealAnswer>> {
    const { client, idempotencyKey } = this.context;
    const body = client.revealBody({ linkedin_url: key });
    const options = { idempotencyKey: idempotencyKey(body, seed) };
    return () => client.callReveal(body, options);
  }
}
