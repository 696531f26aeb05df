/** How a step that looks up records asks a provider. */
import { present } from '../util/assert.ts';
import type { EnrichKey, RecordAnswer, RevealKey } from './attempt-client.ts';
import type { LookupOptions, LookupStepName, PendingAnswer, ProviderClient } from './provider-client.ts';
import type { CallResult } from './types.ts';

type LookupClient = Pick<ProviderClient, 'enrichBody' | 'revealBody' | 'callEnrich' | 'callReveal' | 'callCompany' | 'callOwn'>;

interface LookupCall {
  /** The text that names the lookup: the same each time. */
  bodyOf(client: LookupClient, key: EnrichKey | RevealKey): string;
  /** One attempt at this lookup alone. */
  call(client: LookupClient, body: string, options: LookupOptions): Promise<CallResult<RecordAnswer<unknown>> | PendingAnswer>;
}

const STANDARD: ReadonlyMap<string, LookupCall> = new Map(
  Object.entries<LookupCall>({
    enrich: { bodyOf: (client, key) => client.enrichBody(key), call: (client, body, options) => client.callEnrich(body, options) },
    // Read with GET, so that a repeat after a crash needs no `Idempotency-Key`.
    company: {
      bodyOf: (_client, key) => ('domain' in key ? key.domain : ''),
      call: (client, domain, options) => client.callCompany(domain, options),
    },
    reveal: {
      bodyOf: (client, key) => client.revealBody(key as RevealKey),
      call: (client, body, options) => client.callReveal(body, options),
    },
  }),
);

/** The calls of a step; those of a custom step go by its name. */
export function lookupCallOf(step: LookupStepName): LookupCall {
  return (
    STANDARD.get(step) ?? {
      bodyOf: (client, key) => client.revealBody(key as RevealKey),
      call: (client, body, options) =>
        present(client.callOwn, `the client of a provider has the custom step ${step}`).call(client, step, body, options),
    }
  );
}
