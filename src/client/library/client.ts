/** The client as a library: every operation of the service, with the behaviour of all client libraries (clients/BEHAVIOUR.md). */
import type { CallOptions } from '../call-options.ts';
import { DataServiceError } from '../data-service-error.ts';
import { Batches, type WaitOptions } from './batches.ts';
import { Caller, pollPauseOf, type Call, type CallAnswer } from './caller.ts';
import type { LastResponse } from './last-response.ts';
import type * as models from './models.ts';
import { openCaller, type ClientOptions } from './open-caller.ts';
import { Pager } from './pager.ts';
import type * as params from './params.ts';
import { LONGEST_QUERY, pathOf, queryOf } from './paths.ts';
import type { ShapeName } from './shapes.ts';
import { EventStream, ndjson } from './streams.ts';
import { Webhooks } from './webhooks.ts';

/** Beyond the time that a verification may take on the service. */
const VERIFY_SLACK_MS = 5_000;

/** Verification of one address, or of many, and how. */
export type VerifyCallOptions = CallOptions & params.VerifyOptions;

type State = models.VerificationBatch | models.VerificationProgress;

/** Settings of one call, or of several. */
export interface CallSettings {
  readonly timeoutMs?: number;
  readonly maxAttempts?: number;
  /** Sent beside those of the library, which win. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The data service. Methods throw a DataServiceError. */
export class Client {
  readonly webhooks: Webhooks;
  readonly batches: Batches;
  readonly #caller: Caller;

  /** @throws ConfigError for an address or a key that cannot work; RangeError for a number out of bounds */
  constructor(options?: ClientOptions);
  /** @internal */
  constructor(caller: Caller);
  constructor(options: ClientOptions | Caller = {}) {
    this.#caller = options instanceof Caller ? options : openCaller(options);
    this.webhooks = new Webhooks(this.#caller);
    this.batches = new Batches(this.#caller);
  }

  /** A client with the same connections, and a `lastResponse` of its own: for one call, or several. You need not close it. */
  withOptions(settings: CallSettings = {}): Client {
    return new Client(this.#caller.with(settings));
  }

  /** Quota, credits and request id of the last answer; null before the first. */
  get lastResponse(): LastResponse | null {
    return this.#caller.lastResponse;
  }

  /** A person by e-mail, profile, phone, id, or name with domain; by a domain alone its company. Null when the service knows nobody. */
  async enrich(person: params.EnrichParams, options?: CallOptions): Promise<models.Person | null> {
    return await this.#lookup('Person', { method: 'POST', path: '/v1/enrich', json: person, ...options });
  }

  /** Up to 100 people at once. The results have the order of the requests. */
  async enrichBulk(requests: readonly params.BulkItem[], options?: CallOptions): Promise<models.BulkEnrichment> {
    return await this.#caller.record('BulkEnrichment', { method: 'POST', path: '/v1/enrich/bulk', json: { requests }, ...options });
  }

  /** Address and number of a person; null when the service knows nobody. */
  async reveal(contact: params.RevealParams, options?: CallOptions): Promise<models.RevealedContact | null> {
    return await this.#lookup('RevealedContact', { method: 'POST', path: '/v1/contacts/reveal', json: contact, ...options });
  }

  /** The company of a domain; null when the service knows none. */
  async company(domain: string, options?: Pick<CallOptions, 'signal'>): Promise<models.Company | null> {
    return await this.#lookup('Company', { method: 'GET', path: pathOf`/v1/companies/${domain}`, ...options });
  }

  /** The verdict on one address; on a list of at most 1,000, a verdict on each, in order. */
  verify(email: string, options?: VerifyCallOptions): Promise<models.Verification>;
  verify(emails: readonly string[], options?: VerifyCallOptions): Promise<readonly models.Verification[]>;
  async verify(what: string | readonly string[], options: VerifyCallOptions = {}): Promise<unknown> {
    if (typeof what === 'string') return await this.#caller.record('Verification', this.#verification({ email: what }, options));
    return what.length === 0 ? [] : (await this.verifyBatch(what, options)).data;
  }

  /** Verdicts on at most 1,000 addresses, in order, with a summary. */
  async verifyBatch(emails: readonly string[], options: VerifyCallOptions = {}): Promise<models.VerificationBatch> {
    return await this.#caller.record('VerificationBatch', this.#verification({ emails }, options));
  }

  /** The same in the background: mail servers that say "later" are asked again. Follow it with `waitForVerification`. */
  async startVerification(emails: readonly string[], options: VerifyCallOptions = {}): Promise<models.VerificationProgress> {
    const call = { ...this.#verification({ emails }, options), headers: { prefer: 'respond-async' } };
    return await this.#caller.record('VerificationProgress', call);
  }

  /** The results, or the progress until then. */
  async getVerification(id: string, options?: Pick<CallOptions, 'signal'>): Promise<State> {
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
    const page = (cursor: string | undefined): Call => {
      const sent = { ...filters, cursor };
      const query = queryOf(sent);
      return query.length > LONGEST_QUERY
        ? { method: 'POST', path: '/v1/contacts/search', json: sent, ...options }
        : { method: 'GET', path: `/v1/contacts/search${query}`, ...options };
    };
    return new Pager(this.#caller, 'Contact', page, filters.cursor);
  }

  /** Signals, the newest first. Pages are requested during the iteration. */
  signals(filters: params.SignalFilters = {}, options?: Pick<CallOptions, 'signal'>): Pager<models.Signal> {
    const page = (cursor: string | undefined): Call => signalsCall({ ...filters, cursor }, options);
    return new Pager(this.#caller, 'Signal', page, filters.cursor);
  }

  /** Every signal that matches, in the order in which they became known. */
  exportSignals(filters: params.SignalFilters = {}, options?: Pick<CallOptions, 'signal'>): AsyncGenerator<models.Signal> {
    return ndjson(this.#caller, 'Signal', signalsCall(filters, options), null);
  }

  /** Signals as they become known, without an end; with `since`, first the known ones. */
  streamSignals(
    filters: params.SignalFilters = {},
    { lastEventId, ...options }: Pick<CallOptions, 'signal'> & { readonly lastEventId?: string } = {},
  ): EventStream<models.Signal> {
    return new EventStream(this.#caller, 'Signal', signalsCall(filters, options), lastEventId ?? null);
  }

  /** `data` and `errors` as they came: a field that fails throws nothing. */
  async graphql(
    query: string,
    variables?: Readonly<Record<string, unknown>>,
    { operationName, ...options }: CallOptions & { readonly operationName?: string } = {},
  ): Promise<models.GraphQLResponse> {
    const call: Call = { method: 'POST', path: '/v1/graphql', json: { query, variables, operationName }, ...options };
    return await this.#caller.record('GraphQLResponse', call);
  }

  /** Whether the service lives. */
  async health(options?: Pick<CallOptions, 'signal'>): Promise<models.Health> {
    return await this.#caller.record('Health', { method: 'GET', path: '/healthz', ...options });
  }

  /** Whether the service can work, and why not. */
  async ready(options?: Pick<CallOptions, 'signal'>): Promise<models.Health> {
    return await this.#caller.record('Health', { method: 'GET', path: '/readyz', also: 503, ...options });
  }

  /** The description of the service. */
  async openapi(options?: Pick<CallOptions, 'signal'>): Promise<Readonly<Record<string, unknown>>> {
    const call: Call = { method: 'GET', path: '/openapi.json', ...options };
    return await this.#caller.answer(call, (answer) => this.#caller.parse(call, answer, null));
  }

  /** Waits for calls under way. Later calls throw with the code `aborted`. */
  async close(): Promise<void> {
    await this.#caller.close();
  }

  /** Cancels calls under way. */
  async destroy(): Promise<void> {
    await this.#caller.destroy();
  }

  async #lookup<T>(shape: ShapeName, call: Call): Promise<T | null> {
    try {
      return await this.#caller.record<T>(shape, call);
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
  async #poll(id: string, signal: AbortSignal | undefined): Promise<{ readonly state: State; readonly pauseMs: number | null }> {
    const call: Call = { method: 'GET', path: pathOf`/v1/emails/verify/${id}`, signal };
    const read = (answer: CallAnswer): { readonly state: State; readonly pauseMs: number | null } => {
      const isDone = answer.status === 200;
      const state = this.#caller.parse(call, answer, isDone ? 'VerificationBatch' : 'VerificationProgress');
      return { state: state as unknown as State, pauseMs: isDone ? null : pollPauseOf(answer) };
    };
    return await this.#caller.answer(call, read);
  }
}

function signalsCall(filters: params.SignalFilters, options?: Pick<CallOptions, 'signal'>): Call {
  return { method: 'GET', path: `/v1/signals${queryOf({ ...filters })}`, ...options };
}
