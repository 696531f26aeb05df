/** Enrich, company and reveal: how their lookups become requests. */
import type { EnrichKey, RecordAnswer, RevealKey } from '../client/attempt-client.ts';
import type { BatchItem, LookupOptions, LookupStepName } from '../client/provider-client.ts';
import type { CompanyRecord, ContactRecord, PersonRecord } from '../client/types.ts';
import { answerToOne, settledItem } from '../lookup/lookup-batch.ts';
import { UNORDERED_BATCHES, type AnswerToOne, type LookupForm, type LookupRequest, type StepLookup } from '../lookup/lookup-form.ts';
import { LookupStep } from '../lookup/lookup-step.ts';
import type { StepContext } from '../lookup/step-context.ts';
import type { CallAnswer } from '../pool/call.ts';
import { namePartsOf, type EnrichLookup, type RevealLookup } from './lookup-keys.ts';
import type { LookupScopes } from './scopes.ts';

export type EnrichStep = LookupStep<EnrichLookup, PersonRecord>;
export type CompanyStep = LookupStep<StepLookup, CompanyRecord>;
export type RevealStep = LookupStep<RevealLookup, ContactRecord>;

/**
 * The enrich step: a person by one of several keys, or a company by its domain. No two kinds share a key: an address has an @, a number
 * begins with a plus, a profile has a scheme, a name has a tab, and a domain has none of these.
 */
export function enrichStep(context: StepContext, scopes: LookupScopes['enrich']): EnrichStep {
  const { client } = context;
  const form = recordForm<EnrichLookup, PersonRecord>(context, 'enrich', {
    scopeOf: ({ by }) => scopes[by],
    bodyOf: (lookup) => client.enrichBody(toPersonKey(lookup)),
    call: (body, options) => client.callEnrich(body, options),
  });
  return new LookupStep(context, form);
}

/**
 * The company step: the whole company record of a domain. It is read with GET, so that a repeat after a crash needs no `Idempotency-Key`.
 */
export function companyStep(context: StepContext, scope: number): CompanyStep {
  const form = recordForm<StepLookup, CompanyRecord>(context, 'company', {
    scopeOf: () => scope,
    bodyOf: ({ key }) => key,
    call: (domain, options) => context.client.callCompany(domain, options),
  });
  return new LookupStep(context, form);
}

/** The reveal step: the address and the phone number of a person. */
export function revealStep(context: StepContext, scopes: LookupScopes['reveal']): RevealStep {
  const { client } = context;
  const form = recordForm<RevealLookup, ContactRecord>(context, 'reveal', {
    scopeOf: ({ by }) => scopes[by],
    bodyOf: (lookup) => client.revealBody(toPersonKey(lookup) as RevealKey),
    call: (body, options) => client.callReveal(body, options),
  });
  return new LookupStep(context, form);
}

interface RecordCalls<L, R> {
  readonly scopeOf: (lookup: L) => number;
  /** The text that names the lookup: the same each time. */
  readonly bodyOf: (lookup: L) => string;
  /** One attempt at this lookup alone. */
  readonly call: (body: string, options: LookupOptions) => Promise<CallAnswer<RecordAnswer<R>>>;
}

function recordForm<L extends StepLookup, R>(
  { client: { batches, readStored } }: StepContext,
  step: LookupStepName,
  { scopeOf, bodyOf, call }: RecordCalls<L, R>,
): LookupForm<L, R> {
  const hasOwnRequest = batches?.isOnly?.(step) !== true;
  const alone = (body: string): LookupRequest<R> => ({
    send: (options) => call(body, options),
    answers: (settled) => [settled as AnswerToOne<R>],
  });
  return {
    step,
    strategy: UNORDERED_BATCHES,
    size: Math.max(1, batches?.size(step) ?? 1),
    hasOwnRequest,
    mayMiss: true,
    readStored: readStored === undefined ? undefined : (text) => readStored(step, text),
    scopeOf,
    textOf: (lookups) => {
      const [first] = lookups;
      return first !== undefined && lookups.length === 1 && hasOwnRequest ? bodyOf(first) : JSON.stringify(lookups.map(bodyOf));
    },
    requestFor: (lookups) => {
      const [first] = lookups;
      if (batches === undefined || (first !== undefined && lookups.length === 1 && hasOwnRequest)) return alone(bodyOf(first as L));
      const bodies = lookups.map(bodyOf);
      if (bodies.length === 1)
        return {
          send: async (options) => answerToOne(await batches.call(step, bodies, options)),
          answers: (settled) => [settled.value === null ? null : (settled as AnswerToOne<R>)],
        };
      return {
        send: (options) => batches.call(step, bodies, options),
        answers: (settled) => bodies.map((_, i) => settledItem<R>((settled.value as readonly BatchItem[])[i], settled)),
      };
    },
  };
}

function toPersonKey({ by, key }: EnrichLookup | RevealLookup): EnrichKey | RevealKey {
  if (by !== 'name' && by !== 'company') return { [by]: key } as unknown as EnrichKey;
  const [name, place] = namePartsOf(key);
  return by === 'name' ? { name, domain: place } : { name, company: place };
}
