import type { CompiledJob } from '../definition/compiled-job.ts';
import { CompanyStep } from './company.ts';
import type { RequestPace, StepContext } from './step-context.ts';
import { EnrichStep } from './enrich.ts';
import { RevealStep } from './reveal.ts';
import type { LookupScopes } from './scopes.ts';
import { VerifyStep } from './verify.ts';

/** A job's steps; null when not configured. */
export interface Steps {
  readonly enrich: EnrichStep | null;
  readonly verify: VerifyStep | null;
  readonly company: CompanyStep | null;
  readonly reveal: RevealStep | null;
}

export function openSteps(
  { steps, verify }: Pick<CompiledJob, 'steps' | 'verify'>,
  context: StepContext,
  scopes: LookupScopes,
  pace?: RequestPace,
): Steps {
  return {
    enrich: steps.includes('enrich') ? new EnrichStep(context, scopes) : null,
    verify: steps.includes('verify')
      ? new VerifyStep(context, scopes.verify, { pollForMs: verify.patienceMs, ...(pace === undefined ? {} : { pace }) })
      : null,
    company: steps.includes('company') ? new CompanyStep(context, scopes.company) : null,
    reveal: steps.includes('reveal') ? new RevealStep(context, scopes) : null,
  };
}

/** Calls that are in flight or waiting, and lookups that wait for other runs. */
export function callsPending({ enrich, verify, company, reveal }: Steps): number {
  return (enrich?.callsPending ?? 0) + (verify?.callsPending ?? 0) + (company?.callsPending ?? 0) + (reveal?.callsPending ?? 0);
}
