/**
 * The client of a provider that a definition declares: one call is one attempt with one result. As the client of the specification's
 * service it neither paces nor repeats.
 */
import type { CompanyAnswer, EnrichAnswer, EnrichKey, RecordAnswer, RevealAnswer, RevealKey } from '../../client/attempt-client.ts';
import type {
  LookupBatches,
  LookupOptions,
  LookupStepName,
  PendingAnswer,
  ProviderClient,
  StoredRecord,
} from '../../client/provider-client.ts';
import type { CallResult, VerificationResult } from '../../client/types.ts';
import { emailKey, type VerifyAnswer } from '../../client/verify-answer.ts';
import type { OperationName } from '../compiled-provider.ts';
import type { Transport } from '../../client/transport.ts';
import { addressesOf, lookupInput, lookupText, type LookupInput, type PersonOptions } from './lookup-text.ts';
import { openOperations, type OperationOptions, type Operations } from './operations.ts';
import { NotTaken, Refusal } from './refusal.ts';
import { recordOfStored } from './stored-answer.ts';
import { suppressedVerdict } from './verdict.ts';

/** The codes of answers that the definition does not fit. */
const UNFIT: ReadonlySet<string> = new Set(['bad_mapping', 'bad_shape']);

export interface DeclaredClientOptions extends OperationOptions {
  /** Options of every enrich lookup. Default: none. */
  readonly lookups?: PersonOptions;
}

export class DeclaredClient implements ProviderClient {
  readonly batches?: LookupBatches;
  readonly #lookups: PersonOptions | null;
  readonly #transports: readonly Transport[];
  readonly #records: Operations['records'];
  readonly #verify: Operations['verify'];

  /** @throws ConfigError for an address, a certificate or a proxy that cannot work */
  constructor(options: DeclaredClientOptions) {
    this.#lookups = options.lookups ?? null;
    const { records, verify, transports } = openOperations(options);
    this.#records = records;
    this.#verify = verify;
    this.#transports = transports;
    if (Object.values(this.#records).some(({ operation }) => operation.batch !== null))
      this.batches = {
        size: (step) => this.#records[step]?.size ?? 1,
        isOnly: (step) => this.#records[step]?.hasSingle === false,
        call: (step, bodies, more) => this.#callBatch(step, bodies, more),
      };
  }

  enrichBody(key: EnrichKey | RevealKey): string {
    return lookupText(key, this.#lookups);
  }

  revealBody(key: RevealKey): string {
    return lookupText(key, null);
  }

  verifyBody(emails: readonly string[]): string {
    return JSON.stringify({ emails });
  }

  /** One attempt at a person. `body` is a text of `enrichBody`. Whatever comes of it is in the result. */
  callEnrich(body: string, options?: LookupOptions): Promise<CallResult<EnrichAnswer> | PendingAnswer> {
    return this.#callOne('enrich', lookupInput(body), options) as Promise<CallResult<EnrichAnswer> | PendingAnswer>;
  }

  /** One attempt at a contact. `body` is a text of `revealBody`. */
  callReveal(body: string, options?: LookupOptions): Promise<CallResult<RevealAnswer> | PendingAnswer> {
    return this.#callOne('reveal', lookupInput(body), options) as Promise<CallResult<RevealAnswer> | PendingAnswer>;
  }

  /** One attempt at the company of a domain. */
  callCompany(domain: string, options?: LookupOptions): Promise<CallResult<CompanyAnswer> | PendingAnswer> {
    return this.#callOne('company', { domain }, options) as Promise<CallResult<CompanyAnswer> | PendingAnswer>;
  }

  /** One attempt at a lookup of a custom step. `body` is a text of `revealBody`. */
  callOwn(step: string, body: string, options?: LookupOptions): Promise<CallResult<RecordAnswer<unknown>> | PendingAnswer> {
    return this.#callOne(step, lookupInput(body), options);
  }

  /** One attempt at verdicts. `body` is a text of `verifyBody`, with one address where the definition has no batches. */
  async callVerify(body: string, options?: LookupOptions): Promise<CallResult<VerifyAnswer> | PendingAnswer> {
    const verify = this.#verify;
    const emails = addressesOf(body);
    const [first = ''] = emails;
    if (verify === null) return noOperation('verify');
    if (emails.length <= 1 && verify.hasSingle) {
      const result = await verify.one({ email: first }, options);
      return result.kind === 'ok' ? { ...result, value: { byEmail: new Map([[emailKey(first), result.value]]) } } : result;
    }
    const result = await verify.many(
      emails.map((email) => (email === '' ? null : { email })),
      options,
    );
    if (result.kind !== 'ok') return result;
    const byEmail = new Map<string, VerificationResult>();
    for (const [index, item] of result.value.entries()) {
      const email = emails[index] ?? '';
      if (item?.kind === 'ok') byEmail.set(emailKey(email), item.value);
      else if (item?.kind === 'suppressed') byEmail.set(emailKey(email), suppressedVerdict(email));
    }
    // A definition that fits no item is told as such, not as addresses that were left out.
    const unfit = byEmail.size > 0 ? undefined : result.value.find((item) => item?.kind === 'rejected' && UNFIT.has(item.code));
    if (unfit?.kind === 'rejected') return { ...unfit, meta: result.meta };
    return { ...result, value: { byEmail } };
  }

  /** See `recordOfStored`. */
  readonly readStored = async (step: LookupStepName, text: string): Promise<StoredRecord> => {
    const operation = this.#records[step]?.operation;
    if (operation === undefined) throw new Refusal('no_operation', `the definition has no operation ${step}`);
    try {
      const record = await recordOfStored(operation, text);
      return record === null ? null : { record, text: JSON.stringify(record), stored: text };
    } catch (error) {
      if (error instanceof NotTaken) return 'not_taken';
      throw error;
    }
  };

  /** Waits for what is under way, then closes the sockets. Calls made after it come back as `aborted`. */
  async close(): Promise<void> {
    await Promise.all(this.#transports.map((transport) => transport.close()));
  }

  /** Cancels what is under way: those calls come back as `retryable` with the code `aborted`. */
  async destroy(): Promise<void> {
    await Promise.all(this.#transports.map((transport) => transport.destroy()));
  }

  #callOne(
    step: LookupStepName,
    lookup: LookupInput,
    options: LookupOptions | undefined,
  ): Promise<CallResult<RecordAnswer<unknown>> | PendingAnswer> {
    return this.#records[step]?.one(lookup, options) ?? Promise.resolve(noOperation(step));
  }

  async #callBatch(step: LookupStepName, bodies: readonly (string | null)[], options?: LookupOptions): ReturnType<LookupBatches['call']> {
    const lookups = bodies.map((body) => (body === null ? null : step === 'company' ? { domain: body } : lookupInput(body)));
    return this.#records[step]?.many(lookups, options) ?? noOperation(step);
  }
}

function noOperation(step: OperationName): CallResult<never> {
  const meta = { status: 0, headers: {}, quota: null, requestId: null, credits: 0, latencyMs: 0 };
  return { kind: 'rejected', code: 'no_operation', detail: `the definition has no operation ${step}`, meta };
}
