/** The compiled job: validated, with defaults, frozen, with a unit in the name of every quantity. Types only. */
import type { MonitorAddress } from '../telemetry/listen-address.ts';
import type { ConfiguredColumns } from '../formats/header-aliases.ts';
import type { Compression, InputFormat } from '../formats/input-record.ts';
import type { CompiledProvider, QuotaWindow } from '../providers/compiled-provider.ts';
import type { Alerts } from './alerts.ts';
import type { WrittenCondition } from './condition/condition.ts';
import type { Conditions } from './conditions.ts';
import type { CreditPrice } from './credit-price.ts';
import type { Notification } from './notification.ts';
import type { StepOptions } from './step-options.ts';
import type { Waterfalls } from './waterfall.ts';
import type { StepSpec } from '../steps/step-spec.ts';
import type { Step, ByStep } from '../steps/registry.ts';

export type OutputFormat = 'csv' | 'tsv' | 'jsonl' | 'parquet';

export interface JobInput {
  /** Paths, globs, directories, S3 objects, prefixes and globs, `-`: as configured, after expansion of {date} and {env:...}. */
  readonly uris: readonly string[];
  readonly format: InputFormat | null;
  readonly delimiter: string | null;
  /** Lines above the header. */
  readonly skipLines: number;
  /** False when the first line is a record. */
  readonly header: boolean;
  /** A name as `encodingName` returns it. Null: detected by the byte order mark, else utf-8. */
  readonly encoding: string | null;
  readonly columns: ConfiguredColumns;
  /** The country of national phone numbers: two letters in upper case, null when unknown. */
  readonly country: string | null;
  readonly ifMissing: 'fail' | 'succeed';
  /** Records for which one of these does not hold are skipped; null when all are looked up. */
  readonly where: Conditions | WrittenCondition | null;
}

/** A provider as a job uses it: its definition with the job's settings. */
export interface JobProvider {
  /** The job's own name for it. */
  readonly name: string;
  readonly definition: CompiledProvider;
  /** Origin and path prefix without a trailing slash; null when embedded. */
  readonly baseUrl: string | null;
  readonly embedded: boolean;
  readonly plan: string | null;
  /** Quota windows that the job states in place of the plan's; null: the plan's. */
  readonly windows: readonly QuotaWindow[] | null;
  /** The Redis server on which pods share the quota: `redis://` or `rediss://`, with its password. Null when the quota is not shared. */
  readonly quota: string | null;
  /** The field name under which /v1/enrich takes a domain: only for the typed client. */
  readonly domainField: string;
  readonly concurrency: number | 'auto';
  readonly timeoutMs: number;
  readonly onUnavailable: 'wait' | 'skip';
  readonly maxCalls: number | null;
  readonly maxCredits: number | null;
  readonly creditPrice: CreditPrice | null;
}

export interface CompiledJob {
  readonly name: string;
  /** The day that `{date}` stands for in output or input, YYYY-MM-DD: `--date` names it again. Null where neither has a date. */
  readonly day: string | null;
  readonly input: JobInput;
  readonly steps: readonly Step[];
  /** The declarations of its custom steps, in their order. */
  readonly ownSteps: readonly StepSpec[];
  /** At least one. */
  readonly providers: readonly JobProvider[];
  /** One for each step. */
  readonly waterfalls: Waterfalls;
  /** Steps that only some records have, each with its condition. */
  readonly conditions: ByStep<WrittenCondition>;
  /**
   * False for the simple form, whose section `service` is the one provider. Then rows, checkpoint and report name no provider.
   */
  readonly namesProviders: boolean;
  /** For each standard step, and each custom one of the job. */
  readonly options: Readonly<Record<Step, StepOptions>>;
  readonly output: {
    /** A path, `s3://bucket/key`, or `-`. */
    readonly uri: string;
    /** The same of the days before, the latest first. Empty when the uri has no {date}. */
    readonly earlier: readonly string[];
    readonly format: OutputFormat;
    readonly compression: Compression;
    /** Column name -> dotted path into the result. Null is the standard set. */
    readonly fields: Readonly<Record<string, string>> | null;
    readonly escapeFormulas: boolean;
    /** csv and tsv only, as are the next two. Null: as the input's. */
    readonly delimiter: string | null;
    /** A byte order mark at the beginning. Null: where the input has one. */
    readonly bom: boolean | null;
    readonly lineEnds: 'lf' | 'crlf';
    /** Files beside the output that have a part of its rows; null for none. */
    readonly split: 'verdict' | null;
    /** A path or `s3://bucket/key`; null without a completion marker. */
    readonly marker: string | null;
  };
  /** The list of people who are never asked about: a path or `s3://bucket/key`; null without one. */
  readonly suppress: string | null;
  readonly checkpoint: { readonly uri: string; readonly everyMs: number };
  readonly ledger: { readonly uri: string; readonly maxAgeDays: number };
  readonly limits: {
    readonly maxCalls: number | null;
    readonly maxCredits: number | null;
    /** A count, or a share of all records (0 to 1). */
    readonly maxErrors: { readonly count: number } | { readonly share: number };
    /** Records at most. */
    readonly limit: number | null;
    readonly maxWaitMs: number;
    readonly maxOutageMs: number;
    readonly trustMisses: boolean;
  };
  /** Messages about the end of a run; null where none is wanted. */
  readonly onFinish: Notification | null;
  readonly onTrouble: Notification | null;
  /** Shares (0 to 1) below which a finished run exits with 1; null without an alert. */
  readonly alerts: Alerts;
  /**
   * The definition as dotted keys, as the user wrote them (after defaults and expansion), without keys that may change between runs. A
   * resume compares it with the one in the checkpoint.
   */
  readonly fingerprint: Readonly<Record<string, unknown>>;
}

/** One of several processes that share a job. */
export interface Shard {
  /** From 0. */
  readonly index: number;
  /** The number of shards: two or more. */
  readonly of: number;
}

/** Options of one execution, which do not belong to the job. */
export interface RunOptions {
  /** Null for the whole job. */
  readonly shard: Shard | null;
  readonly fresh: boolean;
  /** Folder for state that grows. Null: beside the ledger, else the temporary directory. */
  readonly scratch: string | null;
  readonly progress: 'auto' | 'bar' | 'log' | 'none';
  readonly logLevel: string;
  /** `plain`: lines for people. `json`: one object a line. */
  readonly logFormat: 'plain' | 'json';
  /** The address on which the run shows its progress. Null when monitoring is off. */
  readonly monitor: MonitorAddress | null;
}
