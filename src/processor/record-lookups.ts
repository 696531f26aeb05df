/** The steps whose answers are records: how their lookups become requests. */
import type { EnrichKey, RevealKey } from '../client/attempt-client.ts';
import { lookupCallOf } from '../client/lookup-calls.ts';
import type { BatchItem, LookupStepName } from '../client/provider-client.ts';
import { answerToOne, settledItem } from '../lookup/lookup-batch.ts';
import { UNORDERED_BATCHES, type AnswerToOne, type LookupForm, type LookupRequest } from '../lookup/lookup-form.ts';
import { LookupStep } from '../lookup/lookup-step.ts';
import type { StepContext } from '../lookup/step-context.ts';
import { namePartsOf, type Lookup } from './lookup-keys.ts';
import type { LookupScopes } from './scopes.ts';

/** The scope of a lookup that no job makes. */
const UNUSED = -1;

/**
 * A step that looks records up by one of several keys. No two kinds share a key: an address has an @, a number begins with a plus, a
 * profile has a scheme, a name has a tab, and a domain has none of these.
 */
export function recordStep<R = Readonly<Record<string, unknown>>>(
  context: StepContext,
  step: LookupStepName,
  scopes: LookupScopes[string],
): LookupStep<Lookup, R> {
  const { client } = context;
  const { batches, readStored } = client;
  const calls = lookupCallOf(step);
  const hasOwnRequest = batches?.isOnly?.(step) !== true;
  const bodyOf = (lookup: Lookup): string => calls.bodyOf(client, toPersonKey(lookup));
  const alone = (body: string): LookupRequest<R> => ({
    send: (options) => calls.call(client, body, options),
    answers: (settled) => [settled as AnswerToOne<R>],
  });
  const form: LookupForm<Lookup, R> = {
    step,
    strategy: UNORDERED_BATCHES,
    size: Math.max(1, batches?.size(step) ?? 1),
    hasOwnRequest,
    mayMiss: true,
    readStored: readStored === undefined ? undefined : (text) => readStored(step, text),
    scopeOf: ({ by }) => scopes[by] ?? UNUSED,
    textOf: (lookups) => {
      const [first] = lookups;
      return first !== undefined && lookups.length === 1 && hasOwnRequest ? bodyOf(first) : JSON.stringify(lookups.map(bodyOf));
    },
    ticketScope: scopes.ticket ?? null,
    memberOf: ({ by, key }) => `${by} ${key}`,
    lookupOf: (member) => {
      const end = member.indexOf(' ');
      return { by: member.slice(0, end) as Lookup['by'], key: member.slice(end + 1) };
    },
    requestFor: (lookups) => {
      const [first] = lookups;
      if (batches === undefined || (lookups.length === 1 && hasOwnRequest)) return alone(bodyOf(first as Lookup));
      const bodies = lookups.map((lookup) => (lookup === null ? null : bodyOf(lookup)));
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
  return new LookupStep(context, form);
}

function toPersonKey({ by, key }: Lookup): EnrichKey | RevealKey {
  if (by !== 'name' && by !== 'company') return { [by]: key } as unknown as EnrichKey;
  const [name, place] = namePartsOf(key);
  return by === 'name' ? { name, domain: place } : { name, company: place };
}
