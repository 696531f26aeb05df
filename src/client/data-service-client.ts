/** The client as a library: every operation of the service, with the behaviour of all client libraries (clients/BEHAVIOUR.md). */
import { AttemptClient, type AttemptOptions, type CallOptions } from './attempt-client.ts';
import { checkApiKey } from './api-key.ts';
import { parseBaseUrl } from './base-url.ts';
import { DataServiceError } from './data-service-error.ts';
import { Redactor } from './redactor.ts';
import { RotatingKey } from './rotating-key.ts';
import { Batches, type WaitOptions } from './library/batches.ts';
import { Caller, type Call } from './library/caller.ts';
import type { LastResponse } from './library/last-response.ts';
import type * as models from './library/models.ts';
import { Pager } from './library/pager.ts';
import type * as params from './library/params.ts';
import { LONGEST_QUERY, pathOf, queryOf } from './library/paths.ts';
import { EventStream, ndjson } from './library/streams.ts';
import { Webhooks } from './library/webhooks.ts';
import { packageVersion } from '../util/package-version.ts';

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_CONNECTIONS = 128;
const DEFAULT_ATTEMPTS = 4;
const DEFAULT_RETRY_DELAY_MS = 500;
/** Beyond the time that a verification may take on the service. */
const VERIFY_SLACK_MS = 5_000;
const POLL_MS = 1_000;

export interface ClientOptions extends Omit<AttemptOptions, 'baseUrl' | 'apiKey'> {
  /** Address in front of `/v1`. Default: the environment variable `MILLRACE_BASE_URL`. */
  readonly baseUrl?: string;
  /** Default: the environment variable `MILLRACE_API_KEY`. Null sends no key. */
  readonly apiKey?: string | RotatingKey | null;
  /** Attempts of one call, the first included. Default 4. */
  readonly maxAttempts?: number;
  /** Upper bound of the first pause between attempts. Default 500. */
  readonly retryDelayMs?: number;
  /** Waits for the quota as long as the service says, up to 15 minutes a call. Default false. */
  readonly waitForRateLimit?: boolean;
}

/** Verification of one address, or of many, and how. */
export type VerifyCallOptions = CallOptions & params.VerifyOptions;

/** The data service. Methods throw a DataServiceError; those named `call...` make one attempt and throw nothing. */
export class DataServiceClient extends AttemptClient {
  readonly webhooks: Webhooks;
  readonly batches: Batches;
  readonly #caller: Caller;
  readonly #domainField: string;

  /** @throws ConfigError for an address or a key that cannot work; RangeError for a number out of bounds. */
  constructor(options: ClientOptions = {}) {
    const { env } = process;
    const given = options.apiKey === undefined ? env['MILLRACE_API_KEY'] || '' : options.apiKey;
    const apiKey = given instanceof RotatingKey ? given : new RotatingKey(given === null ? null : checkApiKey(given, 'apiKey'));
    const baseUrl = options.baseUrl ?? env['MILLRACE_BASE_URL'] ?? '';
    const userAgent = options.userAgent ?? `millrace-node/${packageVersion()} (Node ${process.versions.node})`;
    super({ ...options, apiKey, baseUrl });
    const redactor = new Redactor(null);
    apiKey.listen((key) => redactor.add(key));
    this.#domainField = options.domainField ?? 'domain';
    this.#caller = new Caller({
      base: parseBaseUrl(baseUrl),
      apiKey,
      redactor,
      userAgent,
      timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      connections: options.connections ?? DEFAULT_CONNECTIONS,
      maxAttempts: options.maxAttempts ?? DEFAULT_ATTEMPTS,
      retryDelayMs: options.retryDelayMs ?? DEFAULT_RETRY_DELAY_MS,
      waitForRateLimit: options.waitForRateLimit ?? false,
    });
    this.webhooks = new Webhooks(this.#caller);
    this.batches = new Batches(this.#caller);
  }

  /** Quota, credits and request id of the last answer; null before the first. Answers of `call...` do not count. */
  get lastResponse(): LastResponse | null {
    return this.#caller.lastResponse;
  }

  /** A person by e-mail, profile, phone, id, or name with domain; by a domain alone its company. Null when the service knows nobody. */
  async enrich({ domain, ...rest }: params.EnrichParams, options?: CallOptions): Promise<models.Person | null> {
    const json = domain === undefined ? rest : { ...rest, [this.#domainField]: domain };
    return (await this.#lookup({ method: 'POST', path: '/v1/enrich', json, ...options })) as models.Person | null;
  }

  /** Up to 100 people at once. The results have the order of the requests. */
  async enrichBulk(requests: readonly params.BulkItem[], options?: CallOptions): Promise<models.BulkEnrichment> {
    return (await this.#caller.json({ method: 'POST', path: '/v1/enrich/bulk', json: { requests }, ...options })) as models.BulkEnrichment;
  }

  /** Address and number of a person; null when the service knows nobody. */
  async reveal(reveal: params.RevealParams, options?: CallOptions): Promise<models.RevealedContact | null> {
    return (await this.#lookup({ method: 'POST', path: '/v1/contacts/reveal', json: reveal, ...options })) as models.RevealedContact | null;
  }

  /** The company of a domain; null when the service knows none. */
  async company(domain: string, options?: Pick<CallOptions, 'signal'>): Promise<models.Company | null> {
    return (await this.#lookup({ method: 'GET', path: pathOf`/v1/companies/${domain}`, ...options })) as models.Company | null;
  }

  /** The verdict on one address; on a list of at most 1,000, a verdict on each, in order. */
  verify(email: string, options?: VerifyCallOptions): Promise<models.Verification>;
  verify(emails: readonly string[], options?: VerifyCallOptions): Promise<readonly models.Verification[]>;
  async verify(what: string | readonly string[], options: VerifyCallOptions = {}): Promise<unknown> {
    if (typeof what === 'string') return await this.#caller.json(this.#verification({ email: what }, options));
    return what.length === 0 ? [] : (await this.verifyBatch(what, options)).data;
  }

  /** Verdicts on at most 1,000 addresses, in order, with a summary. */
  async verifyBatch(emails: readonly string[], options: VerifyCallOptions = {}): Promise<models.VerificationBatch> {
    return (await this.#caller.json(this.#verification({ emails }, options))) as models.VerificationBatch;
  }

  /** The same in the background: mail servers that say "later" are asked again. Follow it with `waitForVerification`. */
  async startVerification(emails: readonly string[], options: VerifyCallOptions = {}): Promise<models.VerificationProgress> {
    const call = { ...this.#verification({ emails }, options), headers: { prefer: 'respond-async' } };
    return (await this.#caller.json(call)) as models.VerificationProgress;
  }

  /** The results, or the progress until then. */
  async getVerification(
    id: string,
    options?: Pick<CallOptions, 'signal'>,
  ): Promise<models.VerificationBatch | models.VerificationProgress> {
    return (await this.#poll(id, options?.signal)).state;
  }

  /** Waits for the results. @throws DataServiceError `timeout` when that takes longer than `timeoutMs` */
  async waitForVerification(id: string, { signal, timeoutMs = Infinity }: WaitOptions = {}): Promise<models.VerificationBatch> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const { state, pauseMs } = await this.#poll(id, signal);
      if (pauseMs === null) return state as models.VerificationBatch;
      if (performance.now() + pauseMs > deadline) {
        throw new DataServiceError(`verification ${id} is not finished in time (timeout)`, { code: 'timeout', retryable: true });
      }
      await this.#caller.pause(pauseMs, signal);
    }
  }

  /** The contacts that match all filters. Pages are requested during the iteration. */
  searchContacts(filters: params.ContactFilters, options?: Pick<CallOptions, 'signal'>): Pager<models.Contact> {
    return new Pager((cursor) => {
      const sent = { ...filters, cursor };
      const query = queryOf(sent);
      return query.length > LONGEST_QUERY
        ? this.#caller.json({ method: 'POST', path: '/v1/contacts/search', json: sent, ...options })
        : this.#caller.json({ method: 'GET', path: `/v1/contacts/search${query}`, ...options });
    }, filters.cursor);
  }

  /** Signals, the newest first. Pages are requested during the iteration. */
  signals(filters: params.SignalFilters = {}, options?: Pick<CallOptions, 'signal'>): Pager<models.Signal> {
    const pathAt = (cursor: string | undefined): string => `/v1/signals${queryOf({ ...filters, cursor })}`;
    return new Pager((cursor) => this.#caller.json({ method: 'GET', path: pathAt(cursor), ...options }), filters.cursor);
  }

  /** Every signal that matches, in the order in which they became known. */
  exportSignals(filters: params.SignalFilters = {}, options?: Pick<CallOptions, 'signal'>): AsyncGenerator<models.Signal> {
    return ndjson<models.Signal>(this.#caller, { method: 'GET', path: `/v1/signals${queryOf({ ...filters })}`, ...options }, null);
  }

  /** Signals as they become known, without an end; with `since`, first the known ones. */
  streamSignals(
    filters: params.SignalFilters = {},
    { lastEventId, ...options }: Pick<CallOptions, 'signal'> & { readonly lastEventId?: string } = {},
  ): EventStream<models.Signal> {
    const call: Call = { method: 'GET', path: `/v1/signals${queryOf({ ...filters })}`, ...options };
    return new EventStream(this.#caller, call, lastEventId ?? null);
  }

  /** `data` and `errors` as they came: a field that fails throws nothing. */
  async graphql(
    query: string,
    variables?: Readonly<Record<string, unknown>>,
    { operationName, ...options }: CallOptions & { readonly operationName?: string } = {},
  ): Promise<models.GraphQLResponse> {
    const call: Call = { method: 'POST', path: '/v1/graphql', json: { query, variables, operationName }, ...options };
    return (await this.#caller.json(call)) as models.GraphQLResponse;
  }

  /** Whether the service lives. */
  async health(options?: Pick<CallOptions, 'signal'>): Promise<models.Health> {
    return (await this.#caller.json({ method: 'GET', path: '/healthz', ...options })) as models.Health;
  }

  /** Whether the service can work, and why not. */
  async ready(options?: Pick<CallOptions, 'signal'>): Promise<models.Health> {
    return (await this.#caller.json({ method: 'GET', path: '/readyz', also: 503, ...options })) as models.Health;
  }

  /** The description of the service. */
  async openapi(options?: Pick<CallOptions, 'signal'>): Promise<Readonly<Record<string, unknown>>> {
    return (await this.#caller.json({ method: 'GET', path: '/openapi.json', ...options })) as Readonly<Record<string, unknown>>;
  }

  /** Waits for calls under way, then closes the connections. */
  override async close(): Promise<void> {
    await Promise.all([super.close(), this.#caller.close()]);
  }

  /** Cancels calls under way. */
  override async destroy(): Promise<void> {
    await Promise.all([super.destroy(), this.#caller.destroy()]);
  }

  async #lookup(call: Call): Promise<unknown> {
    try {
      return (await this.#caller.json(call)) ?? null;
    } catch (error) {
      if (error instanceof DataServiceError && error.code === 'no_match') return null;
      throw error;
    }
  }

  #verification(what: object, { idempotencyKey, signal, ...options }: VerifyCallOptions): Call {
    const { timeout_ms: wanted } = options;
    const timeout = typeof wanted === 'number' ? { timeoutMs: Math.max(wanted + VERIFY_SLACK_MS, this.#caller.timeoutMs) } : {};
    return { method: 'POST', path: '/v1/emails/verify', json: { ...what, ...options }, idempotencyKey, signal, ...timeout };
  }

  /** `pauseMs` is null when the results are there. */
  async #poll(
    id: string,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly state: models.VerificationBatch | models.VerificationProgress; readonly pauseMs: number | null }> {
    const { status, json, retryAfterMs } = await this.#caller.answer({ method: 'GET', path: pathOf`/v1/emails/verify/${id}`, signal });
    return { state: json as models.VerificationProgress, pauseMs: status === 200 ? null : (retryAfterMs ?? POLL_MS) };
  }
}
