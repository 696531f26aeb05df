/** The verify step: how addresses become requests. */
import type { VerificationResult } from '../client/types.ts';
import { saysSuppressed, type VerifyAnswer } from '../client/verify-answer.ts';
import { ORDERED_BATCHES, type AnswerToOne, type LookupForm, type StepLookup } from '../lookup/lookup-form.ts';
import { LookupStep } from '../lookup/lookup-step.ts';
import { pendingMs } from '../lookup/pending.ts';
import type { StepContext } from '../lookup/step-context.ts';
import type { LookupScopes } from './scopes.ts';
import type { SettledCall } from '../pool/call-pool.ts';

/** The specification's limit for one request. */
export const VERIFY_BATCH = 1_000;

/**
 * An address. `spelled`: the spelling that the service gets. The first record with a key decides it, so that a request stays the same when
 * it is sent again.
 */
export interface VerifyLookup extends StepLookup {
  readonly spelled: string;
}

export type VerifyStep = LookupStep<VerifyLookup, VerificationResult>;

interface VerifyOptions {
  /** How long verdicts that are not final are polled, from the first answer on, milliseconds; 0 for no polling. */
  readonly pollForMs: number;
  /** Addresses in a full request. */
  readonly batch?: number;
}

/** The verify step. Addresses arrive in input order; `unknown` verdicts are asked again by later runs. */
export function verifyStep(
  context: StepContext,
  scopes: LookupScopes['verify'],
  { pollForMs, batch = VERIFY_BATCH }: VerifyOptions,
): VerifyStep {
  const { client } = context;
  const textOf = (lookups: readonly (VerifyLookup | null)[]): string => client.verifyBody(lookups.map((lookup) => lookup?.spelled ?? ''));
  const form: LookupForm<VerifyLookup, VerificationResult> = {
    step: 'verify',
    strategy: ORDERED_BATCHES,
    size: batch,
    hasOwnRequest: false,
    mayMiss: false,
    scopeOf: () => scopes.email ?? -1,
    textOf,
    ticketScope: scopes.ticket ?? null,
    memberOf: ({ key, spelled }) => (key === spelled ? key : `${key}\n${spelled}`),
    lookupOf: (member) => {
      const [key = '', spelled = key] = member.split('\n');
      return { key, spelled };
    },
    requestFor: (lookups) => {
      const body = textOf(lookups);
      return {
        send: (options) => client.callVerify(body, options),
        answers: (settled) => {
          const { byEmail } = settled.value as VerifyAnswer;
          return lookups.map((lookup) => (lookup === null ? null : answerAbout(lookup, byEmail, settled)));
        },
      };
    },
    isSettled: ({ result }) => result !== 'unknown',
    polls: { forMs: pollForMs, waitMs: pendingMs },
  };
  return new LookupStep(context, form);
}

/** The answer about an address. The first record that asks decides the spelling, so the row does not show it. */
function answerAbout(
  { key, spelled }: VerifyLookup,
  byEmail: VerifyAnswer['byEmail'],
  { attempts, requestId }: SettledCall<unknown>,
): AnswerToOne<VerificationResult> {
  const answer = byEmail.get(key);
  if (answer === undefined) return null;
  if (saysSuppressed(answer)) return { kind: 'suppressed', status: 200, attempts, requestId };
  const record = spelled !== key && answer.email === spelled ? { ...answer, email: key } : answer;
  return { kind: 'ok', value: { record, text: JSON.stringify(record) }, attempts, requestId };
}
