/** The scenarios as scenarios.yaml has them, and as a runner gets them. README.md of this folder explains each word. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { ERRORS, type ErrorCode } from '../../src/service/http/problem.ts';

export interface Step {
  readonly call: string;
  readonly args?: Readonly<Record<string, unknown>>;
  /** Options of this call alone. */
  readonly with?: Readonly<Record<string, unknown>>;
  /** Makes the call this often; the outcome is that of the last, or the first error. */
  readonly repeat?: number;
}

/** The fault that the proxy before the service injects into a request. A text is a fault without a value. */
export type ScenarioFault =
  | null
  | 'reset'
  | 'lost'
  | 'hang'
  /** Before the request goes on, others use up the quota of its key. */
  | 'spend_quota'
  | {
      /** Only for requests whose path has this; without it, for the next request. */
      readonly on?: string;
      readonly answer?: number;
      readonly problem?: ErrorCode;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: unknown;
      /** The answer ends, or stops, after this many bytes. */
      readonly cut?: number;
      readonly stall?: number;
      /** Seconds until the request goes on. */
      readonly late?: number;
      /** Seconds from byte to byte of the body, or of the headers. */
      readonly dribble?: number;
      readonly dribble_headers?: number;
      /** People who are stored before the request goes on. */
      readonly add_people?: number;
      /** Signals that are stored after the request has gone on. */
      readonly add_signals?: number;
    };

export type KeyWish = 'unknown' | 'without_credits' | 'of_eu' | 'trial' | 'growth' | { readonly credits: number };

export interface Scenario {
  readonly name: string;
  /** Operations of the OpenAPI document that succeed here. */
  readonly covers?: readonly string[];
  readonly key?: KeyWish;
  /** Default: the service without faults of its own. */
  readonly service?: 'flaky';
  readonly options?: Readonly<Record<string, unknown>>;
  readonly base_url?: string;
  readonly base_path?: string;
  /** The variable of the environment that names the proxy. */
  readonly through_proxy?: 'HTTP_PROXY' | 'ALL_PROXY';
  /** Run before all others, alone in the process. */
  readonly alone?: boolean;
  readonly faults?: readonly ScenarioFault[];
  readonly steps: readonly Step[];
  /** The expected results of the steps, in part. The fields below it are about the requests that the service saw. */
  readonly outcomes: readonly unknown[];
  readonly requests?: readonly string[];
  readonly requests_at_least?: number;
  readonly requests_at_most?: number;
  readonly queries?: readonly string[];
  readonly headers?: readonly Readonly<Record<string, string>>[];
  readonly same_key?: boolean;
  readonly other_keys?: boolean;
  readonly pauses?: readonly number[];
  readonly connections_at_most?: number;
  readonly credits_left?: number;
  readonly memory_mib?: number;
}

/** A scenario as a runner reads it. */
export interface Task {
  readonly name: string;
  readonly alone: boolean;
  readonly variant: string;
  readonly base_url: string;
  readonly api_key: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly steps: readonly Step[];
}

/** A line that a runner prints. */
export interface Report {
  readonly name: string;
  readonly variant: string;
  readonly outcomes: readonly unknown[];
  readonly memory_mib?: number | null;
}

interface File {
  readonly defaults: { readonly options: Readonly<Record<string, unknown>> };
  readonly scenarios: readonly Scenario[];
}

/** All scenarios: those of the file, and one for each error code of the service. */
export function readScenarios(): Scenario[] {
  const { defaults, scenarios } = parse(readFileSync(new URL('scenarios.yaml', import.meta.url), 'utf8')) as File;
  return [...scenarios, ...Object.keys(ERRORS).map((code) => scenarioOf(code as ErrorCode))].map((scenario) => ({
    ...scenario,
    options: { ...defaults.options, ...scenario.options },
  }));
}

function scenarioOf(code: ErrorCode): Scenario {
  const { status, retryable } = ERRORS[code];
  const fault = { problem: code, headers: { 'x-request-id': 'req_of_header', 'retry-after': '7' } };
  // A platform's `fetch` repeats this one by itself, once (Fetch standard, HTTP-network-or-cache fetch).
  const isRepeated = status === 421;
  return {
    name: `the code ${code} is an error with its status`,
    options: { max_attempts: 1 },
    faults: isRepeated ? [fault, fault] : [fault],
    steps: [{ call: 'webhooks.list' }],
    outcomes: [
      {
        error: {
          code,
          status,
          retryable,
          retry_after: 7,
          request_id: 'req_of_header',
          attempts: 1,
          errors: [{ code: 'why', detail: 'here' }],
        },
      },
    ],
    ...(isRepeated ? { requests_at_most: 2 } : { requests: ['GET /v1/webhooks'] }),
  };
}
