/** A provider definition, compiled once: validated, mappings parsed, with a unit in the name of every quantity. Types only. */
import type { ProviderKey } from '../steps/keys.ts';
import type { OwnColumns } from '../steps/own-step.ts';
import type { Step, ByStep } from '../steps/registry.ts';

/** The steps that a provider may answer, named as in a job: a standard one, or a custom one. */
export type OperationName = Step;

/** A JSONata expression, parsed once. Evaluation is bounded in time, depth and size. */
export interface Mapping {
  /** The key of the definition, such as `operations.enrich.record`, for messages. */
  readonly key: string;
  readonly text: string;
  /** Undefined when the expression finds nothing. @throws MappingError naming the key */
  evaluate(input: unknown): Promise<unknown>;
}

/** How a request carries the API key. */
export type Authentication =
  | { readonly kind: 'bearer' }
  | { readonly kind: 'header'; readonly name: string; readonly prefix: string }
  | { readonly kind: 'query'; readonly name: string }
  /** A field of the body. `query`: the parameter that carries it in requests without a body; null where there are none. */
  | { readonly kind: 'body'; readonly name: string; readonly query: string | null }
  /** Whichever of the two is null is the API key. */
  | { readonly kind: 'basic'; readonly user: string | null; readonly password: string | null };

export interface ProviderTls {
  /** PEM files. */
  readonly caFile: string | null;
  readonly certFile: string | null;
  readonly keyFile: string | null;
}

/**
 * A request. The input of its mappings: the keys of the lookup (`email`, `domain`, `linkedin_url`, `phone`, `name`, `first_name`,
 * `last_name`, `company`), and `min_likelihood` and `required` of the job. A batch has `lookups`, a list of these with an `id` each; a poll
 * has `ticket` beside them, and `next` for a further part of the answer.
 */
export interface ProviderRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  /** Replaces the provider's address for this request, such as another host for batches; null for none. */
  readonly baseUrl: string | null;
  /** Literal parts, and mappings whose text is put in percent-encoded. */
  readonly path: readonly (string | Mapping)[];
  /** A parameter whose value is undefined or null is left out; a list repeats it. */
  readonly query: Readonly<Record<string, Mapping>>;
  readonly headers: Readonly<Record<string, Mapping>>;
  /** Null for a request without a body. */
  readonly body: Mapping | null;
  readonly bodyType: 'json' | 'form';
}

/**
 * The meaning of an answer: the first of these whose mapping gives true decides, in the order written here. Their input is
 * `{status, headers, body}`. Without a true one the status decides, as for the specification's service.
 */
export interface AnswerRules {
  /** The person asked to be removed. */
  readonly suppressed: Mapping | null;
  /** Later; costs no retry. */
  readonly wait: Mapping | null;
  readonly outOfCredits: Mapping | null;
  /** The API key is refused. */
  readonly denied: Mapping | null;
  /** The answer comes later: see `ProviderPoll`. */
  readonly pending: Mapping | null;
  readonly match: Mapping | null;
  readonly miss: Mapping | null;
  /** This lookup is refused, and asking again does not help. */
  readonly refused: Mapping | null;
  /** A failure of the provider: another attempt may help. */
  readonly retry: Mapping | null;
  /** Seconds until the provider takes requests again; null: by `Retry-After` and the quota headers. */
  readonly waitSeconds: Mapping | null;
  /** The provider's error code and message; null: found by the usual names. */
  readonly code: Mapping | null;
  readonly message: Mapping | null;
}

/** How a lookup that is answered later is asked for again. */
export interface ProviderPoll {
  /** Names the promise, from the answer that says pending; null: the same request is repeated. */
  readonly ticket: Mapping | null;
  /** Null: the same request is repeated. */
  readonly request: ProviderRequest | null;
  /** From an answer that is a part of all: what the request for the next part names as `next`. Null: an answer has one part. */
  readonly next: Mapping | null;
  /** Milliseconds before the first poll, and between two others; each of those waits is `growth` times as long as the one before. */
  readonly firstMs: number;
  readonly everyMs: number;
  readonly growth: number;
  /** After this long, from the first request on, the lookup fails. */
  readonly longestMs: number;
  /** Promises that may be open at once; null: any number. */
  readonly maxOpen: number | null;
  /** Where polls have a quota of their own; null when they count as the requests that are answered with promises. */
  readonly quota: ProviderQuota | null;
}

/** One request for several lookups. */
export interface ProviderBatch {
  /** Lookups at most. */
  readonly size: number;
  readonly request: ProviderRequest;
  /** The list of answers; input as in `AnswerRules`. */
  readonly items: Mapping;
  /** The status by which an item is judged; its input is the item. Null when the request's own decides. */
  readonly itemStatus: Mapping | null;
  /** The `id` or the key of the item's lookup; its input is the item. Null: by position. */
  readonly itemId: Mapping | null;
  /** Rules for the answer as a whole. Items are judged by the operation's rules, with the item as `body`. */
  readonly answers: AnswerRules;
  /** Credits of the whole request; null: the sum over its items. */
  readonly credits: Mapping | null;
  /** Where batches have a quota of their own; null when that of the operation holds. */
  readonly quota: ProviderQuota | null;
  /** How an answer that comes later is asked for again. Left out where batches are answered at once. */
  readonly poll?: ProviderPoll;
}

/** A quota window. */
export interface QuotaWindow {
  /** Requests. */
  readonly limit: number;
  readonly periodMs: number;
}

/** Headers that state one window or, as JSON, several. */
export interface QuotaHeaders {
  /** Null: the headers hold JSON by period, such as `{"minute": 10, "day": 900}`. */
  readonly periodMs: number | null;
  /** Header names in lower case; null where there is none. */
  readonly limit: string | null;
  readonly remaining: string | null;
  readonly used: string | null;
  readonly reset: string | null;
  readonly resetUnit: 'seconds' | 'milliseconds' | 'epoch-seconds' | 'epoch-milliseconds' | 'date';
}

export interface ProviderQuota {
  /** Windows by plan; empty where the plan has none. */
  readonly plans: Readonly<Record<string, readonly QuotaWindow[]>>;
  /** Null: the usual families of headers are recognised by their names. */
  readonly headers: readonly QuotaHeaders[] | null;
}

export interface ProviderOperation {
  readonly name: OperationName;
  /** Only of a custom step: its columns, and whether it decides an outcome. */
  readonly own?: OwnColumns;
  /** The keys that it takes, in order of preference. */
  readonly keys: readonly ProviderKey[];
  /** Null where lookups go by `batch` alone. */
  readonly request: ProviderRequest | null;
  readonly answers: AnswerRules;
  /** The record in our terms, by field (`email`, `company`, ...); the input is that of `AnswerRules`. */
  readonly record: Mapping;
  /** The fields that the record names, dotted below `company`; empty where one expression makes the whole record. */
  readonly fields: readonly string[];
  /** Texts that stand for no value, in lower case, beside those that Millrace knows. Left out where the definition names none. */
  readonly absent?: readonly string[];
  /** Credits that an answer has cost; null: the built-in header, else none. */
  readonly credits: Mapping | null;
  /** The most credits that one lookup costs, for limits and forecasts. */
  readonly creditsAtMost: number;
  /**
   * When credits are taken: with the answer, or with a request that is answered later, which gives back those of a miss. Then answers that
   * are still to come name no cost.
   */
  readonly creditsAt: 'submit' | 'answer';
  readonly batch: ProviderBatch | null;
  readonly poll: ProviderPoll | null;
  /** Its own quota; null when that of the provider holds. */
  readonly quota: ProviderQuota | null;
}

export interface CompiledProvider {
  /** The definition's name. */
  readonly name: string;
  /** Where the definition lies, for messages. */
  readonly file: string;
  readonly title: string | null;
  /** The pages that it was written from, and the day. */
  readonly documentation: readonly string[];
  readonly readOn: string | null;
  /** `built-in`: the typed client of the specification answers, which does what the definition says, faster. */
  readonly client: 'declared' | 'built-in';
  /** Without a trailing slash; null: a job must name it. */
  readonly baseUrl: string | null;
  readonly authentication: Authentication | null;
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: ProviderTls | null;
  readonly timeoutMs: number;
  readonly concurrency: number | 'auto';
  /** The header that carries an idempotency key; null where the provider has none. */
  readonly idempotencyHeader: string | null;
  /** The plan that a job has when it names none; null: a job must name one where there are several. */
  readonly defaultPlan: string | null;
  readonly quota: ProviderQuota;
  readonly operations: ByStep<ProviderOperation>;
  /** SHA-256, hex, by operation: of everything that changes what is asked. A change makes the ledger ask anew. */
  readonly requestDigests: ByStep<string>;
  /** SHA-256, hex, of the whole definition. */
  readonly digest: string;
}
