import { present } from '../util/assert.ts';
import type { CompiledJob } from '../definition/compiled-job.ts';
import type { StepOptions } from '../definition/step-options.ts';
import type { LookupStep } from '../lookup/lookup-step.ts';
import type { StepContext } from '../lookup/step-context.ts';
import type { Lookup } from './lookup-keys.ts';
import { recordStep } from './record-lookups.ts';
import type { LookupScopes } from './scopes.ts';
import { VERIFY_BATCH, verifyStep } from './verify.ts';
import { specOf, type Step, type ByStep } from '../steps/registry.ts';

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

/** A step at one provider. The record of a verdict is one of `VerifyStep`. */
export type OpenStep = LookupStep<Lookup, Readonly<Record<string, unknown>>>;

/** A job's steps. */
export interface Steps {
  /** One for each provider that the step asks, in its order; absent for a step that is not configured. */
  readonly at: ByStep<readonly OpenStep[]>;
  /** Every step of every provider. */
  readonly watched: readonly WatchedStep[];
}

/** Lookups whose answer is not final. */
interface LookupsPending {
  readonly lookups: number;
  /** When the first is asked for again, monotonic milliseconds. */
  readonly untilMs: number;
}

/** A step at one provider, as the run watches it. */
export interface WatchedStep {
  readonly provider: string;
  readonly step: {
    readonly callsPending: number;
    /** See `LookupStep`. */
    readonly callsInFlight: number;
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

export function openSteps(job: Pick<CompiledJob, 'steps' | 'options' | 'waterfalls'>, providers: readonly StepProvider[]): Steps {
  const watched: WatchedStep[] = [];
  const openAt = (step: Step, name: string): OpenStep => {
    const provider = present(
      providers.find((one) => one.name === name),
      `the step ${step} asks a provider that is open`,
    );
    const one = openStep(step, provider, job.options[step] ?? { patienceMs: 0 });
    watched.push({ provider: name, step: one });
    return one;
  };
  const at = job.steps.map((step) => [step, (job.waterfalls[step]?.from ?? []).map((name) => openAt(step, name))]);
  return { at: Object.fromEntries(at) as Steps['at'], watched };
}

/** @param patienceMs how long verdicts that are not final are polled */
export function openStep(
  step: Step,
  { contextOf, scopes, verifyBatch = VERIFY_BATCH }: Omit<StepProvider, 'name'>,
  { patienceMs }: Pick<StepOptions, 'patienceMs'>,
): OpenStep {
  const context = contextOf(step);
  if (specOf(step).verdicts === null) return recordStep(context, step, scopes[step] ?? {});
  return verifyStep(context, scopes[step] ?? {}, { pollForMs: patienceMs, batch: verifyBatch }) as unknown as OpenStep;
}

/** Calls that are in flight or waiting, and lookups that wait for other runs. */
export function callsPending({ watched }: Steps): number {
  return watched.reduce((sum, { step }) => sum + step.callsPending, 0);
}

/** Sends the partial requests of the steps that `isDue` names. Returns whether there were any. */
export function flushSteps({ watched }: Steps, isDue: (step: WatchedStep['step']) => boolean): boolean {
  const due = watched.filter(({ step }) => step.lookupsWaiting > 0 && isDue(step));
  for (const { step } of due) step.flush();
  return due.length > 0;
}

/** Parts of requests of the run before that are still incomplete. */
export function groupsIncomplete({ watched }: Steps): number {
  return watched.reduce((sum, { step }) => sum + step.groupsIncomplete, 0);
}

/** Sends incomplete parts as they are: no more members arrive. */
export function giveUpOnMissing({ watched }: Steps): void {
  for (const { step } of watched) step.giveUpOnMissing();
}

/** Polls and reads nothing more: the next run does. */
export function stopSteps({ watched }: Steps): void {
  for (const { step } of watched) step.stop();
}

/** Lookups whose answer is polled later, and when the first is asked for again (monotonic milliseconds); null without any. */
export function answersPending({ watched }: Steps): LookupsPending | null {
  const pending = watched.flatMap(({ step: { answersPending: one } }) => (one === null ? [] : [one]));
  return pending.length === 0
    ? null
    : {
        lookups: pending.reduce((sum, { lookups }) => sum + lookups, 0),
        untilMs: Math.min(...pending.map(({ untilMs }) => untilMs)),
      };
}
