/**
 * Typed client for the data service: one call, one attempt, one honest result. It paces nothing and repeats nothing;
 * whoever calls it decides about both, so that no call escapes a limiter and no charge comes twice.
 */
import { readAnswer } from './answer.ts';
import type { Answer } from './answer.ts';
import { checkApiKey } from './api-key.ts';
import { parseBaseUrl } from './base-url.ts';
import { classify, isSuccess } from './classify.ts';
import type { ClassifyOptions } from './classify.ts';
import { toError } from './data-service-error.ts';
import type { Exchange } from './exchange.ts';
import { readPerson } from './person.ts';
import type { EnrichAnswer } from './person.ts';
import { Redactor } from './redactor.ts';
import { Transport } from './transport.ts';
import type { CallResult, PersonRecord, VerificationResult } from './types.ts';
import { emailKey, readVerification } from './verify-answer.ts';
import type { VerifyAnswer } from './verify-answer.ts';
import { packageVersion } from './version.ts';

export { DataServiceError } from './data-service-error.ts';
export type { EnrichAnswer } from './person.ts';
export type { VerifyAnswer } from './verify-answer.ts';

/** E-mails in one verify request, by the specification. */
export const MAX_VERIFY_EMAILS = 1000;

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_CONNECTIONS = 128;
const DEFAULT_MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

const ENRICH_PATH = '/v1/enrich';
const VERIFY_PATH = '/v1/emails/verify';

export interface ClientOptions {
  /** Address in front of `/v1`; http or https, a path prefix is kept; no credentials, no query. */
  readonly baseUrl: string;
  /** null: no Authorization header. */
  readonly apiKey: string | null;
  /** Until the headers are there, and between two pieces of the body; a whole call takes at most twice as long. Default 30,000. */
  readonly timeoutMs?: number;
  /** Sockets at most; further calls wait for one. Default 128. */
  readonly connections?: number;
  /** The name under which /v1/enrich takes a domain. Default `domain`. */
  readonly domainField?: string;
  /** Default `millrace/<version>`. */
  readonly userAgent?: string;
  /** A larger answer is unreadable. Default 16 MiB. */
  readonly maxResponseBytes?: number;
}

export interface CallOptions {
  /** Sent as `Idempotency-Key`: a service that honours it charges a repeated call once. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

export type EnrichKey = { readonly email: string } | { readonly domain: string };

export class DataServiceClient {
  readonly #transport: Transport;
  readonly #redactor: Redactor;
  readonly #maxResponseBytes: number;
  readonly #domainField: string;
  readonly #enrichPath: string;
  readonly #verifyPath: string;
  readonly #enrichRules: ClassifyOptions;
  readonly #verifyRules: ClassifyOptions;

  /** @throws ConfigError for an address or a key that cannot work; RangeError for a number out of bounds. */
  constructor(options: ClientOptions) {
    const base = parseBaseUrl(options.baseUrl);
    const apiKey = options.apiKey === null ? null : checkApiKey(options.apiKey, 'apiKey');
    this.#maxResponseBytes = positive('maxResponseBytes', options.maxResponseBytes ?? DEFAULT_MAX_RESPONSE_BYTES);
    this.#domainField = options.domainField ?? 'domain';
    this.#redactor = new Redactor(apiKey);
    this.#enrichPath = base.prefix + ENRICH_PATH;
    this.#verifyPath = base.prefix + VERIFY_PATH;
    const rules = { redactor: this.#redactor, clock: Date.now };
    this.#enrichRules = { ...rules, call: `POST ${base.origin}${this.#enrichPath}`, lookup: true };
    this.#verifyRules = { ...rules, call: `POST ${base.origin}${this.#verifyPath}`, lookup: false };
    this.#transport = new Transport({
      base,
      apiKey,
      userAgent: options.userAgent ?? `millrace/${packageVersion()}`,
      timeoutMs: positive('timeoutMs', options.timeoutMs ?? DEFAULT_TIMEOUT_MS),
      connections: positive('connections', options.connections ?? DEFAULT_CONNECTIONS),
      maxResponseBytes: this.#maxResponseBytes,
    });
  }

  /**
   * One attempt at /v1/enrich. `body` is the exact JSON text to send, see {@link enrichBody}. Whatever comes of it is in
   * the result; rejects only for a call that cannot be put on the wire (such as a line break in `idempotencyKey`).
   */
  async callEnrich(body: string, options?: CallOptions): Promise<CallResult<EnrichAnswer>> {
    const read = this.#read(await this.#transport.post(this.#enrichPath, body, options));
    const answer = read instanceof Promise ? await read : read;
    return isSuccess(answer) ? readPerson(answer) : classify(answer, this.#enrichRules);
  }

  /** One attempt at /v1/emails/verify; as {@link callEnrich}, with a body of {@link verifyBody}. */
  async callVerify(body: string, options?: CallOptions): Promise<CallResult<VerifyAnswer>> {
    const read = this.#read(await this.#transport.post(this.#verifyPath, body, options));
    const answer = read instanceof Promise ? await read : read;
    return isSuccess(answer) ? readVerification(answer, body) : classify(answer, this.#verifyRules);
  }

  /** The JSON text that asks for a person: the same text for the same key, always. */
  enrichBody(key: EnrichKey): string {
    return 'email' in key ? JSON.stringify({ email: key.email }) : JSON.stringify({ [this.#domainField]: key.domain });
  }

  /** The JSON text that asks for verdicts, in the order given. */
  verifyBody(emails: readonly string[]): string {
    return JSON.stringify({ emails });
  }

  /**
   * The record for an e-mail or a domain; null when the service knows none.
   * @throws DataServiceError for any other answer, and when none came.
   */
  async enrich(key: EnrichKey, options?: CallOptions): Promise<PersonRecord | null> {
    const result = await this.callEnrich(this.enrichBody(key), options);
    if (result.kind === 'ok') return result.value.record;
    if (result.kind === 'miss') return null;
    throw toError(this.#enrichRules.call, result);
  }

  /**
   * One verdict for each e-mail, in the order asked; for one that the service left out, `unknown` with the reason `not_answered`.
   * @throws RangeError for more than 1,000; DataServiceError when there is no answer to read.
   */
  async verify(emails: readonly string[], options?: CallOptions): Promise<VerificationResult[]> {
    if (emails.length > MAX_VERIFY_EMAILS) {
      throw new RangeError(`verify: at most ${MAX_VERIFY_EMAILS} e-mails a call, got ${emails.length}; split the list`);
    }
    if (emails.length === 0) return [];
    const result = await this.callVerify(this.verifyBody(emails), options);
    if (result.kind !== 'ok') throw toError(this.#verifyRules.call, result);
    const { byEmail } = result.value;
    return emails.map(
      (email) => byEmail.get(emailKey(email)) ?? { email, result: 'unknown', confidence: null, reason: 'not_answered' },
    );
  }

  /** Aborts nothing: waits for what is under way, then closes the sockets. Calls made after it come back as `aborted`. */
  close(): Promise<void> {
    return this.#transport.close();
  }

  /** Cancels what is under way: those calls come back as `retryable` with the code `aborted`. */
  destroy(): Promise<void> {
    return this.#transport.destroy();
  }

  /** A promise only for a compressed body: waiting for nothing would cost every call. */
  #read(exchange: Exchange): Answer | Promise<Answer> {
    return readAnswer(exchange, this.#redactor, this.#maxResponseBytes);
  }
}

function positive(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new RangeError(`${name}: expected a whole number above 0, got ${value}`);
}
