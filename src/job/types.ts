/** The compiled job: validated, with defaults, frozen, units in every name. Types only. */
import type { MonitorAddress } from '../monitor/address.ts';
import type { StatedWindow } from '../limiter/quota-windows.ts';
import type { InputFormat } from '../reader/types.ts';
import type { Step } from './steps.ts';

export type { Step };

export type OutputFormat = 'csv' | 'tsv' | 'jsonl';
export type OutputCompression = 'none' | 'gzip' | 'zstd';

export interface CompiledJob {
  readonly name: string;
  readonly input: {
    /** As configured, after expansion of {date} and {env:...}. */
    readonly uris: readonly string[];
    readonly format: InputFormat | null;
    readonly delimiter: string | null;
    readonly encoding: string | null;
    readonly columns: { readonly email?: string; readonly domain?: string; readonly linkedin_url?: string };
    readonly ifMissing: 'fail' | 'succeed';
  };
  readonly steps: readonly Step[];
  readonly service: {
    /** Origin and path prefix without a trailing slash; null when embedded. */
    readonly baseUrl: string | null;
    readonly embedded: boolean;
    /** Requests a minute; null is unlimited. */
    readonly rpm: number | null;
    readonly plan: 'growth' | 'scale' | 'enterprise' | null;
    readonly concurrency: number | 'auto';
    readonly timeoutMs: number;
    /** Further windows that the service keeps beside the plan's minute. */
    readonly windows: readonly StatedWindow[];
    /** `redis://` or `rediss://`, with its password: where pods share the quota; null: nowhere. */
    readonly quota: string | null;
    /** The name under which /v1/enrich takes a domain. */
    readonly domainField: string;
  };
  readonly verify: { readonly when: 'always' | 'unverified'; readonly patienceMs: number };
  readonly output: {
    /** A path, `s3://bucket/key`, or `-`. */
    readonly uri: string;
    readonly format: OutputFormat;
    readonly compression: OutputCompression;
    /** Column name -> dotted path into the result; null is the standard set. */
    readonly fields: Readonly<Record<string, string>> | null;
    readonly escapeFormulas: boolean;
  };
  readonly checkpoint: { readonly uri: string; readonly everyMs: number };
  readonly ledger: { readonly uri: string; readonly maxAgeDays: number };
  readonly limits: {
    readonly maxCalls: number | null;
    /** A count, or a share of all records (0..1). */
    readonly maxErrors: { readonly count: number } | { readonly share: number };
    /** Records at most. */
    readonly limit: number | null;
    readonly maxWaitMs: number;
    readonly maxOutageMs: number;
    readonly trustMisses: boolean;
  };
  /**
   * The definition flattened to dotted keys as the user wrote them (after defaults and expansion), without the keys
   * that may change between runs. Compared on resume; kept in the checkpoint.
   */
  readonly fingerprint: Readonly<Record<string, unknown>>;
}

/** One of several processes that share a job. */
export interface Shard {
  /** From 0. */
  readonly index: number;
  /** How many there are: two or more. */
  readonly of: number;
}

/** What belongs to one execution rather than to the job. */
export interface RunOptions {
  /** Null: the whole job. */
  readonly shard: Shard | null;
  readonly fresh: boolean;
  /** Folder for state that grows, or null: beside the ledger, else the temporary directory. */
  readonly scratch: string | null;
  readonly progress: 'auto' | 'bar' | 'log' | 'none';
  readonly logLevel: string;
  /** Where the run shows how it goes; null: nowhere. */
  readonly monitor: MonitorAddress | null;
}
