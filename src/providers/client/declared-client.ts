/**
 * The client of a provider that a definition declares: one call is one attempt with one result. As the client of the specification's
 * service it neither paces nor repeats.
 */
import type {
  CallOptions,
  CompanyAnswer,
  EnrichAnswer,
  EnrichKey,
  RecordAnswer,
  RevealAnswer,
  RevealKey,
} from '../../client/attempt-client.ts';
import { parseBaseUrl, type BaseUrl } from '../../client/base-url.ts';
import type { LookupBatches, LookupOptions, LookupStepName, PendingAnswer, ProviderClient } from '../../client/provider-client.ts';
import { Redactor } from '../../client/redactor.ts';
import type { RotatingKey } from '../../client/rotating-key.ts';
import { Transport } from '../../client/transport.ts';
import type { CallResult, VerificationResult } from '../../client/types.ts';
import { emailKey, type VerifyAnswer } from '../../client/verify-answer.ts';
import { packageVersion } from '../../util/package-version.ts';
import type { CompiledProvider, OperationName, ProviderRequest } from '../compiled-provider.ts';
import { Credentials } from './credentials.ts';
import { addressesOf, lookupInput, lookupText, type LookupInput, type PersonOptions } from './lookup-text.ts';
import { mapRecord } from './map-record.ts';
import { OperationClient, type OperationContext, type Route } from './operation-client.ts';
import { Refusal } from './refusal.ts';
import { RequestTemplate } from './request-template.ts';
import { readStoredAnswer, storedAnswer } from './stored-answer.ts';
import { readTlsFiles } from './tls-files.ts';
import { suppressedVerdict, toVerdict } from './verdict.ts';

const DEFAULT_MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/** The codes of answers that the definition does not fit. */
const UNFIT: ReadonlySet<string> = new Set(['bad_mapping', 'bad_shape']);

export interface DeclaredClientOptions {
  readonly provider: CompiledProvider;
  /** The address that the job names, else that of the definition. */
  readonly baseUrl: string;
  /** The job names the address: then requests with an address of their own go there, too. Default false. */
  readonly isReplaced?: boolean;
  readonly apiKey: RotatingKey;
  /** Until the headers are there, and between two pieces of the body; a whole call takes at most twice as long. */
  readonly timeoutMs: number;
  /** Sockets at most for each address of the provider. */
  readonly connections: number;
  /** Options of every enrich lookup. Default: none. */
  readonly lookups?: PersonOptions;
  /** A larger answer is unreadable. Default 16 MiB. */
  readonly maxResponseBytes?: number;
}

type Records = OperationClient<RecordAnswer<unknown>>;

export class DeclaredClient implements ProviderClient {
  readonly batches?: LookupBatches;
  readonly #lookups: PersonOptions | null;
  readonly #transports: ReadonlyMap<string, Transport>;
  readonly #records: Readonly<Record<LookupStepName, Records | null>>;
  readonly #verify: OperationClient<VerificationResult> | null;

  /** @throws ConfigError for an address, a certificate or a proxy that cannot work */
  constructor(options: DeclaredClientOptions) {
    const { provider, apiKey, lookups = null, maxResponseBytes = DEFAULT_MAX_RESPONSE_BYTES } = options;
    this.#lookups = lookups;
    const redactor = new Redactor(null);
    const credentials = new Credentials(provider.authentication, apiKey, redactor);
    const tls = provider.tls === null ? null : readTlsFiles(provider.tls);
    const transports = new Map<string, Transport>();
    const transportTo = (base: BaseUrl): Transport => {
      const { timeoutMs, connections } = options;
      const transport = transports.get(base.origin) ?? new Transport({ base, timeoutMs, connections, maxResponseBytes, tls });
      transports.set(base.origin, transport);
      return transport;
    };
    const routeOf = (request: ProviderRequest): Route => {
      const own = options.isReplaced === true ? null : request.baseUrl;
      const base = parseBaseUrl(own ?? options.baseUrl);
      const headers = { 'user-agent': `millrace/${packageVersion()}`, ...provider.headers };
      const { idempotencyHeader } = provider;
      return { transport: transportTo(base), template: new RequestTemplate({ request, base, credentials, headers, idempotencyHeader }) };
    };
    const context: OperationContext = { provider, apiKey, redactor, maxResponseBytes, routeOf };
    const records = (step: LookupStepName): Records | null => {
      const operation = provider.operations[step];
      if (operation === undefined) return null;
      return new OperationClient(operation, context, (record, { input }, text) => ({
        record,
        text: JSON.stringify(record),
        stored: storedAnswer(operation, input, text),
      }));
    };
    this.#records = { enrich: records('enrich'), company: records('company'), reveal: records('reveal') };
    const { verify } = provider.operations;
    this.#verify =
      verify === undefined
        ? null
        : new OperationClient(verify, context, (record, _said, _text, { email }) => toVerdict(verify.record.key, record, String(email)));
    this.#transports = transports;
    if (Object.values(this.#records).some((operation) => operation !== null && operation.operation.batch !== null))
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
      emails.map((email) => ({ email })),
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

  /** The record of an answer that the ledger kept, by the mapping of today. @throws Refusal when it cannot be mapped */
  readonly readStored = async (step: LookupStepName, text: string): Promise<RecordAnswer<unknown>> => {
    const operation = this.#records[step]?.operation;
    if (operation === undefined) throw new Refusal('no_operation', `the definition has no operation ${step}`);
    const record = (await mapRecord(operation, readStoredAnswer(text))) ?? {};
    return { record, text: JSON.stringify(record), stored: text };
  };

  /** Waits for what is under way, then closes the sockets. Calls made after it come back as `aborted`. */
  async close(): Promise<void> {
    await Promise.all([...this.#transports.values()].map((transport) => transport.close()));
  }

  /** Cancels what is under way: those calls come back as `retryable` with the code `aborted`. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#transports.values()].map((transport) => transport.destroy()));
  }

  #callOne(
    step: LookupStepName,
    lookup: LookupInput,
    options: LookupOptions | undefined,
  ): Promise<CallResult<RecordAnswer<unknown>> | PendingAnswer> {
    return this.#records[step]?.one(lookup, options) ?? Promise.resolve(noOperation(step));
  }

  async #callBatch(step: LookupStepName, bodies: readonly string[], options?: CallOptions): ReturnType<LookupBatches['call']> {
    const lookups = bodies.map((body) => (step === 'company' ? { domain: body } : lookupInput(body)));
    return this.#records[step]?.many(lookups, options) ?? noOperation(step);
  }
}

function noOperation(step: OperationName): CallResult<never> {
  const meta = { status: 0, headers: {}, quota: null, requestId: null, credits: 0, latencyMs: 0 };
  return { kind: 'rejected', code: 'no_operation', detail: `the definition has no operation ${step}`, meta };
}
