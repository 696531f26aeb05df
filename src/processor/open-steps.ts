import type { CompanyRecord, ContactRecord, PersonRecord } from '../client/types.ts';
import type { CompiledJob } from '../definition/compiled-job.ts';
import type { StepLookup } from '../lookup/lookup-form.ts';
import type { LookupStep } from '../lookup/lookup-step.ts';
import type { StepContext } from '../lookup/step-context.ts';
import type { EnrichLookup, RevealLookup } from './lookup-keys.ts';
import { LookupWaterfall, type LookupAsker } from './lookup-waterfall.ts';
import { companyStep, enrichStep, revealStep } from './record-lookups.ts';
import type { LookupScopes } from './scopes.ts';
import { VERIFY_BATCH, verifyStep, type VerifyStep } from './verify.ts';
import type { Step } from '../steps/registry.ts';

/** A provider as its steps need it. */
export interface StepProvider {
  /** The job's name for it. */
  readonly name: string;
  /** Each operation may have a pool of its own. */
  readonly contextOf: (step: Step) => StepContext;
  readonly scopes: LookupScopes;
  /** Addresses in a full verify request; absent: as the specification has it. */
  readonly verifyBatch?: number;
}

/** A job's steps; null when not configured. */
export interface Steps {
  readonly enrich: LookupAsker<EnrichLookup, PersonRecord> | null;
  /** One for each provider that the step asks. */
  readonly verify: readonly VerifyStep[] | null;
  readonly company: LookupAsker<StepLookup, CompanyRecord> | null;
  readonly reveal: LookupAsker<RevealLookup, ContactRecord> | null;
  /** Every step of every provider. */
  readonly parts: readonly StepPart[];
}

/** Lookups whose answer is not final. */
interface LookupsPending {
  readonly lookups: number;
  /** When the first is asked for again, monotonic milliseconds. */
  readonly untilMs: number;
}

/** A step at one provider, as the run watches it. */
export interface StepPart {
  readonly provider: string;
  readonly step: {
    readonly callsPending: number;
    /** Lookups that wait for a request to fill up. */
    readonly lookupsWaiting: number;
    readonly answersPending: LookupsPending | null;
    /** Parts of requests of the run before that are still incomplete. */
    readonly groupsIncomplete: number;
    /** Sends the waiting lookups, in full requests or not. */
    flush(): void;
    /** Sends incomplete parts as they are: no more members arrive. */
    giveUpOnMissing(): void;
    /** Settles every lookup that waits, now and from now on. */
    giveUp(code: string): void;
    /** Polls and reads nothing more: the next run does. */
    stop(): void;
  };
}

export function openSteps(
  job: Pick<CompiledJob, 'steps' | 'verify' | 'waterfalls' | 'namesProviders'>,
  providers: readonly StepProvider[],
): Steps {
  const parts: StepPart[] = [];
  const made = <S extends StepPart['step']>(step: Step, make: (provider: StepProvider) => S): readonly S[] | null => {
    const rule = job.waterfalls[step];
    if (rule === undefined) return null;
    return rule.from.map((name) => {
      const provider = providers.find((one) => one.name === name);
      if (provider === undefined) throw new Error(`the step ${step} asks a provider that is not open`);
      const one = make(provider);
      parts.push({ provider: name, step: one });
      return one;
    });
  };
  const asker = <L extends StepLookup, R>(step: Step, steps: readonly LookupStep<L, R>[] | null): LookupAsker<L, R> | null => {
    const rule = job.waterfalls[step];
    return rule === undefined || steps === null ? null : new LookupWaterfall(step, rule, steps, job.namesProviders);
  };
  const enrich = made('enrich', ({ contextOf, scopes }) => enrichStep(contextOf('enrich'), scopes.enrich));
  const verify = made('verify', ({ contextOf, scopes, verifyBatch = VERIFY_BATCH }) =>
    verifyStep(contextOf('verify'), scopes.verify, { pollForMs: job.verify.patienceMs, batch: verifyBatch }),
  );
  const company = made('company', ({ contextOf, scopes }) => companyStep(contextOf('company'), scopes.company));
  const reveal = made('reveal', ({ contextOf, scopes }) => revealStep(contextOf('reveal'), scopes.reveal));
  return { enrich: asker('enrich', enrich), verify, company: asker('company', company), reveal: asker('reveal', reveal), parts };
}

/** Calls that are in flight or waiting, and lookups that wait for other runs. */
export function callsPending({ parts }: Steps): number {
  return parts.reduce((sum, { step }) => sum + step.callsPending, 0);
}

/** Lookups that wait for a request to fill up. */
export function lookupsWaiting({ parts }: Steps): number {
  return parts.reduce((sum, { step }) => sum + step.lookupsWaiting, 0);
}

/** Sends what waits, in full requests or not. */
export function flushSteps({ parts }: Steps): void {
  for (const { step } of parts) step.flush();
}

/** Parts of requests of the run before that are still incomplete. */
export function groupsIncomplete({ parts }: Steps): number {
  return parts.reduce((sum, { step }) => sum + step.groupsIncomplete, 0);
}

/** Sends incomplete parts as they are: no more members arrive. */
export function giveUpOnMissing({ parts }: Steps): void {
  for (const { step } of parts) step.giveUpOnMissing();
}

/** Polls and reads nothing more: the next run does. */
export function stopSteps({ parts }: Steps): void {
  for (const { step } of parts) step.stop();
}

/** Lookups whose answer is polled later, and when the first is asked for again (monotonic milliseconds); null without any. */
export function answersPending({ parts }: Steps): LookupsPending | null {
  const pending = parts.flatMap(({ step: { answersPending: one } }) => (one === null ? [] : [one]));
  return pending.length === 0
    ? null
    : {
        lookups: pending.reduce((sum, { lookups }) => sum + lookups, 0),
        untilMs: Math.min(...pending.map(({ untilMs }) => untilMs)),
      };
}
