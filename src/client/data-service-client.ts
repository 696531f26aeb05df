/** The client of the package: that of `library/`, over the package's own connections, and the single attempts of the pipeline. */
import { AttemptClient, type AttemptOptions, type EnrichKey, type RevealKey } from './attempt-client.ts';
import { parseBaseUrl } from './base-url.ts';
import type { CallOptions } from './call-options.ts';
import { checkApiKey } from './check-api-key.ts';
import { Caller } from './library/caller.ts';
import { Client } from './library/client.ts';
import type * as models from './library/models.ts';
import type { ClientOptions as LibraryOptions } from './library/open-caller.ts';
import { DEFAULT_ATTEMPTS, DEFAULT_CONNECTIONS, DEFAULT_RETRY_DELAY_MS, DEFAULT_TIMEOUT_MS } from './library/open-caller.ts';
import type * as params from './library/params.ts';
import type { CompanyAnswer, EnrichAnswer, RevealAnswer } from './record.ts';
import { Redactor } from './redactor.ts';
import { RotatingKey } from './rotating-key.ts';
import { Transport } from './transport.ts';
import type { CallResult } from './types.ts';
import { UndiciWire } from './undici-wire.ts';
import type { VerifyAnswer } from './verify-answer.ts';
import { packageVersion } from '../util/package-version.ts';

export interface ClientOptions extends Omit<LibraryOptions, 'apiKey' | 'fetch'>, Omit<AttemptOptions, 'baseUrl' | 'apiKey'> {
  /** Default: the environment variable `MILLRACE_API_KEY`. Null sends no key. */
  readonly apiKey?: string | RotatingKey | null;
}

/** The data service. Methods throw a DataServiceError; those named `call...` make one attempt and throw nothing. */
export class DataServiceClient extends Client {
  readonly #attempts: AttemptClient;
  readonly #domainField: string;

  /** @throws ConfigError for an address or a key that cannot work; RangeError for a number out of bounds. */
  constructor(options: ClientOptions = {}) {
    const { env } = process;
    const given = options.apiKey === undefined ? env['MILLRACE_API_KEY'] || '' : options.apiKey;
    const apiKey = given instanceof RotatingKey ? given : new RotatingKey(given === null ? null : checkApiKey(given, 'apiKey'));
    const all = { ...options, apiKey, baseUrl: options.baseUrl ?? env['MILLRACE_BASE_URL'] ?? '' };
    const attempts = new AttemptClient(all);
    super(callerOf(all));
    this.#attempts = attempts;
    this.#domainField = options.domainField ?? 'domain';
  }

  override async enrich({ domain, ...rest }: params.EnrichParams, options?: CallOptions): Promise<models.Person | null> {
    return await super.enrich(domain === undefined ? rest : { ...rest, [this.#domainField]: domain }, options);
  }

  /** One attempt; see `AttemptClient`. */
  callEnrich(body: string, options?: CallOptions): Promise<CallResult<EnrichAnswer>> {
    return this.#attempts.callEnrich(body, options);
  }

  /** One attempt; see `AttemptClient`. */
  callVerify(body: string, options?: CallOptions): Promise<CallResult<VerifyAnswer>> {
    return this.#attempts.callVerify(body, options);
  }

  /** One attempt; see `AttemptClient`. */
  callReveal(body: string, options?: CallOptions): Promise<CallResult<RevealAnswer>> {
    return this.#attempts.callReveal(body, options);
  }

  /** One attempt; see `AttemptClient`. */
  callCompany(domain: string, options?: Pick<CallOptions, 'signal'>): Promise<CallResult<CompanyAnswer>> {
    return this.#attempts.callCompany(domain, options);
  }

  /** The JSON text that asks for a person: the same text for the same key, always. */
  enrichBody(key: EnrichKey): string {
    return this.#attempts.enrichBody(key);
  }

  /** The JSON text that asks for a contact. */
  revealBody(key: RevealKey): string {
    return this.#attempts.revealBody(key);
  }

  /** The JSON text that asks for verdicts, in the order given. */
  verifyBody(emails: readonly string[]): string {
    return this.#attempts.verifyBody(emails);
  }

  /** Waits for calls under way, then closes the connections. */
  override async close(): Promise<void> {
    await Promise.all([this.#attempts.close(), super.close()]);
  }

  /** Cancels calls under way. */
  override async destroy(): Promise<void> {
    await Promise.all([this.#attempts.destroy(), super.destroy()]);
  }
}

/** A caller over connections of its own, with the proxies of the environment. Its time limits are those of the library. */
function callerOf(options: ClientOptions & { readonly apiKey: RotatingKey; readonly baseUrl: string }): Caller {
  const { apiKey, baseUrl, timeoutMs = DEFAULT_TIMEOUT_MS, connections = DEFAULT_CONNECTIONS } = options;
  const base = parseBaseUrl(baseUrl);
  const redactor = new Redactor(null);
  apiKey.listen((key) => redactor.add(key));
  const wire = new UndiciWire(base, { connections: null, connectTimeoutMs: timeoutMs });
  const userAgent = options.userAgent ?? `millrace-node/${packageVersion()} (Node ${process.versions.node})`;
  return new Caller({
    base,
    apiKey: () => apiKey.value,
    redactor,
    platformHeaders: { 'user-agent': userAgent, 'accept-encoding': 'identity' },
    timeoutMs,
    maxAttempts: options.maxAttempts ?? DEFAULT_ATTEMPTS,
    retryDelayMs: options.retryDelayMs ?? DEFAULT_RETRY_DELAY_MS,
    waitForRateLimit: options.waitForRateLimit ?? false,
    headers: {},
    transport: new Transport(wire, { timeoutMs, redactor, places: connections }),
  });
}
