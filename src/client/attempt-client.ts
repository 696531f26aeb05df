/**
 * The pipeline's client for the data service: one call is one attempt with one result. It neither paces nor repeats. The caller decides
 * about both, so that no call bypasses a limiter and none is charged twice.
 */
import type { Answer } from './answer.ts';
import type { CallOptions } from './call-options.ts';
import { checkApiKey } from './check-api-key.ts';
import { parseBaseUrl } from './base-url.ts';
import { classify, isSuccess } from './classify.ts';
import type { ClassifyOptions, Unsuccessful } from './classify.ts';
import { readQuotaHeaders } from './quota/quota-headers.ts';
import { readCompany, readContact, readPerson } from './record.ts';
import type { CompanyAnswer, EnrichAnswer, RevealAnswer } from './record.ts';
import { Redactor } from './redactor.ts';
import { RotatingKey } from './rotating-key.ts';
import { serviceHeaders } from './service-headers.ts';
import { MAX_RESPONSE_BYTES, Transport } from './transport.ts';
import type { CallResult } from './types.ts';
import { UndiciWire } from './undici-wire.ts';
import { readVerification } from './verify-answer.ts';
import type { VerifyAnswer } from './verify-answer.ts';
import { packageVersion } from '../util/package-version.ts';

export type { CallOptions } from './call-options.ts';
export type { CompanyAnswer, EnrichAnswer, RecordAnswer, RevealAnswer } from './record.ts';
export type { VerifyAnswer } from './verify-answer.ts';

/** E-mails in one verify request, by the specification. */
export const MAX_VERIFY_EMAILS = 1000;

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_CONNECTIONS = 128;

const ENRICH_PATH = '/v1/enrich';
const VERIFY_PATH = '/v1/emails/verify';
const REVEAL_PATH = '/v1/contacts/reveal';
const COMPANY_PATH = '/v1/companies/';

export interface AttemptOptions {
  /** Address in front of `/v1`; http or https, a path prefix is kept; no credentials, no query. */
  readonly baseUrl: string;
  /** null for no Authorization header. With a RotatingKey, each call has the key of its moment. */
  readonly apiKey: string | RotatingKey | null;
  /** Until the headers are there, and between two pieces of the body; a whole call takes at most twice as long. Default 30,000. */
  readonly timeoutMs?: number;
  /** Sockets at most; further calls wait for one. Default 128. */
  readonly connections?: number;
  /** The name under which /v1/enrich takes a domain. Default `domain`. */
  readonly domainField?: string;
  /** Options of every enrich request. Default: none. */
  readonly enrich?: { readonly minLikelihood: number; readonly required: readonly string[] };
  /** Default `millrace/<version>`. */
  readonly userAgent?: string;
  /** A larger answer is unreadable. Default 16 MiB. */
  readonly maxResponseBytes?: number;
}

/** The keys by which the service finds a person. `linkedin_url`: address of a profile; `phone`: in E.164. */
export type PersonKey =
  | { readonly email: string }
  | { readonly linkedin_url: string }
  | { readonly phone: string }
  | { readonly name: string; readonly domain: string };

/** A domain alone finds the company. */
export type EnrichKey = PersonKey | { readonly domain: string };

export type RevealKey = PersonKey | { readonly name: string; readonly company: string };

export class AttemptClient {
  readonly #transport: Transport;
  readonly #apiKey: RotatingKey;
  readonly #redactor = new Redactor(null);
  #headers: ReturnType<typeof serviceHeaders>;
  readonly #domainField: string;
  readonly #enrichOptions: Readonly<Record<string, unknown>>;
  readonly #enrichPath: string;
  readonly #verifyPath: string;
  readonly #revealPath: string;
  readonly #companyPath: string;
  readonly #enrichRules: ClassifyOptions;
  readonly #verifyRules: ClassifyOptions;
  readonly #revealRules: ClassifyOptions;
  readonly #companyRules: ClassifyOptions;

  /** @throws ConfigError for an address or a key that cannot work; RangeError for a number out of bounds. */
  constructor(options: AttemptOptions) {
    const base = parseBaseUrl(options.baseUrl);
    const { apiKey } = options;
    this.#apiKey = apiKey instanceof RotatingKey ? apiKey : new RotatingKey(apiKey === null ? null : checkApiKey(apiKey, 'apiKey'));
    const userAgent = options.userAgent ?? `millrace/${packageVersion()}`;
    this.#headers = serviceHeaders(null, userAgent);
    this.#apiKey.listen((key) => {
      this.#redactor.add(key);
      this.#headers = serviceHeaders(key, userAgent);
    });
    this.#domainField = options.domainField ?? 'domain';
    const { minLikelihood = 0, required = [] } = options.enrich ?? {};
    this.#enrichOptions = {
      ...(minLikelihood === 0 ? {} : { min_likelihood: minLikelihood }),
      ...(required.length === 0 ? {} : { required }),
    };
    this.#enrichPath = base.prefix + ENRICH_PATH;
    this.#verifyPath = base.prefix + VERIFY_PATH;
    this.#revealPath = base.prefix + REVEAL_PATH;
    this.#companyPath = base.prefix + COMPANY_PATH;
    const rules = { redactor: this.#redactor, clock: Date.now };
    this.#enrichRules = { ...rules, call: `POST ${base.origin}${this.#enrichPath}`, lookup: true };
    this.#verifyRules = { ...rules, call: `POST ${base.origin}${this.#verifyPath}`, lookup: false };
    this.#revealRules = { ...rules, call: `POST ${base.origin}${this.#revealPath}`, lookup: true };
    this.#companyRules = { ...rules, call: `GET ${base.origin}${this.#companyPath}{domain}`, lookup: true };
    const wire = new UndiciWire(base, { connections: positive('connections', options.connections ?? DEFAULT_CONNECTIONS) });
    this.#transport = new Transport(wire, {
      timeoutMs: positive('timeoutMs', options.timeoutMs ?? DEFAULT_TIMEOUT_MS),
      maxResponseBytes: positive('maxResponseBytes', options.maxResponseBytes ?? MAX_RESPONSE_BYTES),
      redactor: this.#redactor,
    });
  }

  /**
   * One attempt at /v1/enrich. `body` is the exact JSON text to send, see {@link enrichBody}. Whatever comes of it is in the result;
   * rejects only for a call that cannot be put on the wire (such as a line break in `idempotencyKey`).
   */
  async callEnrich(body: string, options?: CallOptions): Promise<CallResult<EnrichAnswer>> {
    const { version } = this.#apiKey;
    const answer = await this.#post(this.#enrichPath, body, options);
    return isSuccess(answer) ? this.#taken(version, readPerson(answer)) : this.#judged(answer, this.#enrichRules, version);
  }

  /** One attempt at /v1/emails/verify; as {@link callEnrich}, with a body of {@link verifyBody}. */
  async callVerify(body: string, options?: CallOptions): Promise<CallResult<VerifyAnswer>> {
    const { version } = this.#apiKey;
    const answer = await this.#post(this.#verifyPath, body, options);
    return isSuccess(answer) ? this.#taken(version, readVerification(answer, body)) : this.#judged(answer, this.#verifyRules, version);
  }

  /** One attempt at /v1/contacts/reveal; as {@link callEnrich}, with a body of {@link revealBody}. */
  async callReveal(body: string, options?: CallOptions): Promise<CallResult<RevealAnswer>> {
    const { version } = this.#apiKey;
    const answer = await this.#post(this.#revealPath, body, options);
    return isSuccess(answer) ? this.#taken(version, readContact(answer)) : this.#judged(answer, this.#revealRules, version);
  }

  /** One attempt at /v1/companies/{domain}; as {@link callEnrich}. A GET: asking again changes nothing, and needs no `Idempotency-Key`. */
  async callCompany(domain: string, options?: Pick<CallOptions, 'signal'>): Promise<CallResult<CompanyAnswer>> {
    const { version } = this.#apiKey;
    const path = this.#companyPath + encodeURIComponent(domain);
    const request = { method: 'GET', path, headers: this.#headers.get, body: null } as const;
    const answer = await this.#transport.send(request, { signal: options?.signal, readQuota: readQuotaHeaders });
    return isSuccess(answer) ? this.#taken(version, readCompany(answer)) : this.#judged(answer, this.#companyRules, version);
  }

  /** The JSON text that asks for a person: the same text for the same key, always. */
  enrichBody(key: EnrichKey): string {
    if (!('domain' in key)) return JSON.stringify({ ...key, ...this.#enrichOptions });
    const { domain, ...name } = key;
    return JSON.stringify({ ...name, [this.#domainField]: domain, ...this.#enrichOptions });
  }

  /** The JSON text that asks for a contact. */
  revealBody(key: RevealKey): string {
    return JSON.stringify(key);
  }

  /** The JSON text that asks for verdicts, in the order given. */
  verifyBody(emails: readonly string[]): string {
    return JSON.stringify({ emails });
  }

  /** Aborts nothing: waits for what is under way, then closes the sockets. Calls made after it come back as `aborted`. */
  close(): Promise<void> {
    return this.#transport.close();
  }

  /** Cancels what is under way: those calls come back as `retryable` with the code `aborted`. */
  destroy(): Promise<void> {
    return this.#transport.destroy();
  }

  #post(path: string, body: string, options: CallOptions | undefined): Promise<Answer> {
    const { post } = this.#headers;
    const key = options?.idempotencyKey;
    const headers = key === undefined ? post : [...post, 'idempotency-key', key];
    return this.#transport.send({ method: 'POST', path, headers, body }, { signal: options?.signal, readQuota: readQuotaHeaders });
  }

  #taken<T>(keyVersion: number, result: CallResult<T>): CallResult<T> {
    this.#apiKey.accepted(keyVersion);
    return result;
  }

  #judged(answer: Answer, rules: ClassifyOptions, keyVersion: number): Unsuccessful {
    const result = classify(answer, rules);
    if (result.kind === 'denied') return { ...result, keyVersion };
    if (['miss', 'suppressed', 'rejected'].includes(result.kind)) this.#apiKey.accepted(keyVersion);
    return result;
  }
}

function positive(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new RangeError(`${name}: expected a whole number above 0, got ${value}`);
}
