/** The options of a client, and what is made of them. */
import { parseBaseUrl } from '../base-url.ts';
import { checkApiKey } from '../check-api-key.ts';
import { Redactor } from '../redactor.ts';
import { Transport } from '../transport.ts';
import { Caller, type CallerOptions } from './caller.ts';
import { environmentFetch } from './environment-fetch.ts';
import { FetchWire } from './fetch-wire.ts';
import { VERSION } from './version.ts';

export const DEFAULT_TIMEOUT_MS = 30_000;
export const DEFAULT_CONNECTIONS = 128;
export const DEFAULT_ATTEMPTS = 4;
export const DEFAULT_RETRY_DELAY_MS = 500;

export interface ClientOptions {
  /** Address in front of `/v1`. Default: the environment variable `MILLRACE_BASE_URL`. */
  readonly baseUrl?: string;
  /** Default: the environment variable `MILLRACE_API_KEY`. */
  readonly apiKey?: string;
  /** Until the answer begins, and between two pieces of it; a whole attempt takes at most twice as long. Default 30,000. */
  readonly timeoutMs?: number;
  /** Attempts of one call, the first included. Default 4. */
  readonly maxAttempts?: number;
  /** Upper bound of the first pause between attempts. Default 500. */
  readonly retryDelayMs?: number;
  /** Waits for the quota as long as the service says, up to 15 minutes a call. Default false. */
  readonly waitForRateLimit?: boolean;
  /** Calls that are sent at once; further ones wait, which no time limit counts. Default 128. */
  readonly connections?: number;
  /** In place of the platform's `fetch`, which uses the proxies of the environment where it can. */
  readonly fetch?: typeof fetch;
}

/** @throws ConfigError for an address or a key that cannot work; RangeError for a number out of bounds */
export function openCaller(options: ClientOptions): Caller {
  const apiKey = checkApiKey(options.apiKey ?? variable('MILLRACE_API_KEY'), 'apiKey');
  const base = parseBaseUrl(options.baseUrl ?? variable('MILLRACE_BASE_URL'));
  const limits = {
    timeoutMs: above(0, 'timeoutMs', options.timeoutMs ?? DEFAULT_TIMEOUT_MS),
    maxAttempts: above(0, 'maxAttempts', options.maxAttempts ?? DEFAULT_ATTEMPTS),
    retryDelayMs: above(-1, 'retryDelayMs', options.retryDelayMs ?? DEFAULT_RETRY_DELAY_MS),
  };
  const redactor = new Redactor(apiKey);
  const wire = new FetchWire(base, options.fetch === undefined ? environmentFetch(base) : { fetch: options.fetch });
  const places = above(0, 'connections', options.connections ?? DEFAULT_CONNECTIONS);
  return new Caller({
    base,
    apiKey: () => apiKey,
    redactor,
    platformHeaders: ownUserAgent(),
    ...limits,
    waitForRateLimit: options.waitForRateLimit ?? false,
    headers: {},
    transport: new Transport(wire, { timeoutMs: limits.timeoutMs, redactor, places }),
  });
}

/** An environment variable; '' for none, and where there is no environment. */
function variable(name: string): string {
  const { process } = globalThis as { readonly process?: NodeJS.Process };
  return process?.env?.[name] ?? '';
}

/** None in a browser, which has one of its own and asks the service before it sends another. */
function ownUserAgent(): CallerOptions['platformHeaders'] {
  if ('document' in globalThis) return {};
  const platform = (globalThis as { readonly navigator?: { readonly userAgent?: string } }).navigator?.userAgent ?? 'Node.js';
  return { 'user-agent': `millrace-node/${VERSION} (${platform})` };
}

function above(least: number, name: string, value: number): number {
  if (value > least && Number.isFinite(value)) return value;
  throw new RangeError(`${name}: expected a number above ${least}, got ${value}`);
}
