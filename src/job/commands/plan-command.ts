import { serviceOf, servicePace } from '../../definition/job-provider.ts';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { currentHolder } from '../../lock/job-lock.ts';
import { EXIT, type ExitCode } from '../../util/errors.ts';
import { silentTeller } from '../../ledger/options.ts';
import { openReadOnlyLedger } from '../../ledger/open-read-only-ledger.ts';
import { isShared, ledgerLocation } from '../../definition/ledger-location.ts';
import { stepConditions } from '../../processor/step-conditions.ts';
import { loadKeys } from '../../processor/load-keys.ts';
import { readRecords } from '../../formats/read-records.ts';
import type { InputManifest } from '../../formats/input-record.ts';
import { adoptSpool } from '../lifecycle/frozen-input.ts';
import { ledgerRights } from '../lifecycle/ledger-rights.ts';
import { jobMapping, mappingText, type InputMapping } from '../lifecycle/input-mapping.ts';
import { jobPaths, type JobPaths } from '../lifecycle/paths.ts';
import { forecastProviders, type ProvidersForecast } from './forecast-providers.ts';
import { creditsText, forecastCredits, ledgerMatchRates, type CreditForecast } from './plan-credits.ts';
import { KeySet } from './key-set.ts';
import { PlanCounting } from './plan-counting.ts';
import { laterEnd, neededOfProviders, neededOfService } from './plan-limits.ts';
import { earlyEnd, type EarlyEnd } from './plan-stops.ts';
import { providerPlanLines } from './plan-provider-text.ts';
import { paidLookups, requestsOf, type PlanRequests } from './plan-counts.ts';
import { planTimes, formatPlanTimes, type PlanTimes } from './plan-times.ts';
import { loadSuppressed } from '../lifecycle/load-suppressed.ts';
import { scratchFolder } from '../lifecycle/scratch.ts';
import { SAMPLE_DATA } from '../progress/notices.ts';
import { refuseShards } from '../shards/in-one-piece.ts';
import { howShardWouldStart } from '../shards/run-shard.ts';
import { ownWindows, ownRpm, shardName } from '../shards/shard-job.ts';
import { ledgerOrigin } from '../lifecycle/service-origin.ts';
import { decideStart, freshStart } from '../lifecycle/start.ts';
import { type Start } from '../lifecycle/start-decision.ts';
import type { CompiledJob, Shard } from '../../definition/compiled-job.ts';
import { count, duration, printable } from '../../util/display.ts';

/**
 * A forecast of a run. It is exact for lookups that the ledger knows. For the others `requests.verify` assumes that enrich answers each
 * lookup, finds an address where the record has none, and reports it as not verified.
 */
interface RunForecast {
  readonly job: string;
  /** Such as `0/4`: then all other fields are that shard's. Null for the whole job. */
  readonly shard: string | null;
  /** `new`, `resume` or `finished`: what `millrace run` would do. */
  readonly start: 'new' | 'resume' | 'finished';
  /** The run that holds the job now, and that `millrace run` would wait for; or null. */
  readonly heldBy: { readonly host: string; readonly pid: number; readonly since: string } | null;
  readonly files: number;
  readonly bytes: number;
  readonly keys: InputManifest['keyName'];
  /** The same with masked values, and what the user should know about the columns. */
  readonly columns: InputMapping['columns'];
  readonly warnings: InputMapping['warnings'];
  readonly records: number;
  readonly invalid: number;
  /** Records with more fields than the header: the output does not have the surplus. Null without such records. */
  readonly surplus: { readonly records: number; readonly file: string; readonly line: number } | null;
  /** Records whose address cell holds more than an address, as in `mailto:` or `Jo <...>`. */
  readonly cleaned: number;
  /** `promised`: lookups whose answer a provider has promised, so that they are only polled. Left out without any. */
  readonly lookups: { readonly unique: number; readonly fromLedger: number; readonly promised?: number };
  /** Without polls. */
  readonly requests: PlanRequests;
  /** Requests for answers that come later, at least. Left out where all answers come at once. */
  readonly polls?: number;
  readonly credits: CreditForecast;
  readonly rpm: number | null;
  readonly seconds: PlanTimes['seconds'];
  readonly secondsWithBurst: PlanTimes['secondsWithBurst'];
  /** The limit or quota that would end a run early; left out where none would. */
  readonly ends?: EarlyEnd;
  /** Whether a run would have an API key. */
  readonly apiKey: ApiKeyState['state'];
  /** Records that `input.where` leaves out; left out without it. */
  readonly skipped?: number;
  /** Records of people on the list `suppress`; left out without it. */
  readonly suppressed?: number;
  /** This and the next one are left out for a job with one service. With them `lookups` and `requests` are the most that there can be. */
  readonly providers?: ProvidersForecast['providers'];
  readonly orders?: ProvidersForecast['orders'];
}

/** The API key as `millrace run` would find it. `problem` and `hint`: why it would end with 78. */
export type ApiKeyState =
  | { readonly state: 'set' | 'not_needed' }
  | { readonly state: 'missing' | 'unusable'; readonly problem: string; readonly hint: string };

interface PlanOptions {
  readonly apiKey: ApiKeyState;
  readonly shard: Shard | null;
  /** The share of lookups that match (0 to 1), as the user states it; null: as the ledger has it. */
  readonly matchRate: number | null;
  /** The run would start over. */
  readonly fresh: boolean;
  /** Ends the command. */
  readonly signal: AbortSignal;
}

const NO_CREDITS: CreditForecast = { atMost: 0, expected: 0, matchRates: {}, from: null, cost: null };

/** Checks everything and calls nothing. Reads the whole input once. */
export async function planCommand(job: CompiledJob, { json, ...options }: PlanOptions & { readonly json: boolean }): Promise<ExitCode> {
  const plan = await makePlan(job, options);
  process.stdout.write(json ? `${JSON.stringify(plan)}\n` : describe(plan, job, options.apiKey));
  return EXIT.ok;
}

/** @throws MillraceError the reason that would keep the job from running */
export async function makePlan(job: CompiledJob, options: PlanOptions): Promise<RunForecast> {
  const scratch = await scratchFolder(null);
  try {
    return await planIn(scratch, job, options);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function planIn(scratch: string, whole: CompiledJob, options: PlanOptions): Promise<RunForecast> {
  const { apiKey, shard, signal } = options;
  const paths = { ...jobPaths(whole, { scratch: null }), spool: join(scratch, 'stdin'), arriving: join(scratch, 'arriving') };
  const { job, start } = await howItWouldStart(whole, paths, options);
  await adoptSpool(paths, null);
  const { manifest } = start.checkpoint;
  const service = serviceOf(job);
  const pace = servicePace(job);
  const origin = ledgerOrigin(service?.baseUrl ?? null, start.checkpoint);
  const place = ledgerLocation(job.ledger.uri, isShared(job.ledger.uri) ? join(scratch, 'ledger') : paths.ledger);
  const ledger =
    job.ledger.uri === '' ? null : await openReadOnlyLedger(place, { ...ledgerRights(job, start.checkpoint), tell: silentTeller });
  const seen = new KeySet(join(scratch, 'keys'));
  try {
    const counting = new PlanCounting(
      job,
      await loadKeys(job, manifest, await loadSuppressed(job.suppress, signal)),
      start.checkpoint,
      seen,
      ledger,
      stepConditions(job.conditions, manifest),
    );
    // A retry has as many records as its output has rows.
    const limit = start.checkpoint.retry?.before.result.tally.total ?? job.limits.limit ?? Infinity;
    reading: for await (const batch of readRecords(manifest, start.checkpoint.shard?.from ?? null, signal)) {
      await counting.fetch(batch);
      for (const record of batch) {
        if (counting.records >= limit) break reading;
        await counting.add(record);
      }
    }
    const finished = start.kind === 'done' || start.kind === 'finish';
    const rpm = ownRpm(pace, start.checkpoint);
    const counts = finished ? {} : counting.counts;
    const forecast = service !== null ? null : await forecastProviders(job, start.checkpoint, counts, options.matchRate);
    const { unique, fromLedger, promised } = counting;
    const polls = forecast?.polls ?? 0;
    const paid = paidLookups(counts);
    const requests = forecast?.requests ?? requestsOf(paid, start.checkpoint.totals.verifyRequests ?? null);
    const asked = forecast === null ? null : firstAsked(job, forecast);
    const credits = finished
      ? NO_CREDITS
      : (forecast?.credits ??
        forecastCredits(
          paid,
          options.matchRate === null && ledger !== null ? await ledgerMatchRates(job, origin) : {},
          options.matchRate,
          service?.creditPrice ?? null,
        ));
    const needed =
      forecast === null
        ? neededOfService(job, start.checkpoint, {
            // Lookups by keys that another step has yet to find are an estimate.
            calls: { atMost: requests.total, expected: paid.found.length === 0 ? requests.total : null },
            credits,
          })
        : neededOfProviders(job, start.checkpoint, forecast.providers);
    const ends = requests.total + polls === 0 ? null : (earlyEnd(job, start.checkpoint, asked, Date.now()) ?? laterEnd(needed));
    return {
      job: job.name,
      shard: shard === null ? null : shardName(shard),
      start: finished ? 'finished' : start.resumed ? 'resume' : 'new',
      heldBy: await heldBy(job),
      files: manifest.files.length,
      bytes: manifest.files.reduce((sum, file) => sum + file.size, 0),
      keys: manifest.keyName,
      ...withSampleData(await jobMapping(manifest, job, { signal }), job, start.checkpoint.totals.isSample === true || counting.isSample),
      records: counting.records,
      invalid: counting.invalid,
      surplus: surplusOf(counting, manifest),
      cleaned: counting.cleaned,
      lookups: { unique, fromLedger, ...(promised === 0 ? {} : { promised }) },
      requests,
      ...(polls === 0 ? {} : { polls }),
      credits,
      rpm,
      ...(forecast?.times ??
        planTimes(requests.total, rpm, start.checkpoint.shard === null || pace.isShared, ownWindows(pace, start.checkpoint))),
      ...(ends === null ? {} : { ends }),
      apiKey: apiKey.state,
      ...(job.input.where === null ? {} : { skipped: counting.skipped }),
      ...(job.suppress === null ? {} : { suppressed: counting.suppressed }),
      ...(forecast === null ? {} : { providers: forecast.providers, orders: forecast.orders }),
    };
  } finally {
    await ledger?.close();
    seen.close();
  }
}

/** A service in this process has sample data. @param hasSaidSo answers of a service at an address said that it has, too */
function withSampleData(mapping: InputMapping, { providers }: CompiledJob, hasSaidSo: boolean): InputMapping {
  return hasSaidSo || providers.some(({ embedded }) => embedded) ? { ...mapping, warnings: [...mapping.warnings, SAMPLE_DATA] } : mapping;
}

function surplusOf({ surplus, firstSurplus }: PlanCounting, { files }: InputManifest): RunForecast['surplus'] {
  return firstSurplus === null ? null : { records: surplus, file: files[firstSurplus.file]?.uri ?? '', line: firstSurplus.line };
}

async function heldBy(job: CompiledJob): Promise<RunForecast['heldBy']> {
  const holder = job.output.uri === '-' ? null : await currentHolder(jobPaths(job, { scratch: null }).lock, Date.now());
  return holder === null ? null : { host: holder.host, pid: holder.pid, since: holder.since };
}

async function howItWouldStart(
  job: CompiledJob,
  paths: JobPaths,
  { shard, fresh, signal }: PlanOptions,
): Promise<{ job: CompiledJob; start: Start }> {
  const options = { fresh, now: () => new Date(), signal };
  // Standard output has neither checkpoint nor output to look at.
  if (job.output.uri === '-') return { job, start: await freshStart(job, paths, options) };
  if (shard !== null) return howShardWouldStart(job, paths, shard, options);
  if (!fresh) await refuseShards(paths);
  return { job, start: await decideStart(job, paths, options) };
}

/** The first provider of each step that has something to ask. */
function firstAsked({ waterfalls, steps }: CompiledJob, { requests, providers }: ProvidersForecast): readonly string[] {
  return steps.flatMap((step) => {
    const first = waterfalls[step]?.from.slice(0, 1) ?? [];
    const polls = first.reduce((sum, name) => sum + (providers[name]?.steps[step]?.polls ?? 0), 0);
    return (requests[step] ?? 0) + polls > 0 ? first : [];
  });
}

function describeStart({ start, heldBy, ends }: RunForecast): string {
  if (heldBy !== null)
    return `would wait: process ${heldBy.pid} on ${printable(heldBy.host)} has been running this job since ${heldBy.since}`;
  if (ends?.when === 'at_once') return `would end with ${ends.exitCode}: ${printable(ends.reason)}`;
  const end =
    ends === undefined ? '' : `, and ${ends.chance === 'possible' ? 'may ' : ''}end with ${ends.exitCode}: ${printable(ends.reason)}`;
  return start === 'finished'
    ? 'has nothing to do: the job is finished'
    : start === 'resume'
      ? `would resume where it stopped${end}`
      : `would start${end}`;
}

function describe(
  plan: RunForecast,
  job: Pick<CompiledJob, 'steps' | 'limits' | 'providers' | 'waterfalls' | 'namesProviders'>,
  apiKey: ApiKeyState,
): string {
  const { steps, limits } = job;
  const { requests, lookups, surplus, providers, orders = {} } = plan;
  const atMost = providers === undefined ? '' : 'at most ';
  const rows: [string, string][] = [
    ...(plan.shard === null ? [] : [['shard', plan.shard] satisfies [string, string]]),
    ['input', `${count(plan.files)} file${plan.files === 1 ? '' : 's'}, ${count(plan.bytes)} bytes`],
    ...plan.columns.map((column, at) => [at === 0 ? 'columns' : '', mappingText(column)] satisfies [string, string]),
    ...plan.warnings.map((warning) => ['warning', warning] satisfies [string, string]),
    ['records', `${count(plan.records)}${plan.invalid > 0 ? `, of them ${count(plan.invalid)} with nothing to look up` : ''}`],
    ...(plan.skipped === undefined ? [] : [['skipped', `${count(plan.skipped)}, by input.where`] satisfies [string, string]]),
    ...(plan.suppressed === undefined
      ? []
      : [['suppressed', `${count(plan.suppressed)}, by the list of suppress`] satisfies [string, string]]),
    ...(surplus === null
      ? []
      : [
          [
            'with surplus fields',
            `${count(surplus.records)}, the first in ${printable(surplus.file)}, line ` +
              `${surplus.line}: what is beyond the header's columns is not in the output`,
          ] satisfies [string, string],
        ]),
    ...(plan.cleaned === 0
      ? []
      : [
          ['with a cleaned address', `${count(plan.cleaned)}: their rows name the address asked for in verify.did_you_mean`] satisfies [
            string,
            string,
          ],
        ]),
    ['unique lookups', `${atMost}${count(lookups.unique)}`],
    ['already in the ledger', count(lookups.fromLedger)],
    ...(lookups.promised === undefined
      ? []
      : [['already promised', `${count(lookups.promised)}: they are asked about, and not paid for again`] satisfies [string, string]]),
    ['requests needed', `${atMost}${count(requests.total)} (${steps.map((step) => `${step} ${count(requests[step] ?? 0)}`).join(', ')})`],
    ...(plan.polls === undefined
      ? []
      : [['polls', `at least ${count(plan.polls)}: one for each answer that comes later`] satisfies [string, string]]),
    ['credits', creditsText(providers === undefined ? plan.credits : { ...plan.credits, from: null }, limits.maxCredits)],
    [
      'time',
      providers === undefined
        ? formatPlanTimes(plan, requests.total, plan.rpm, serviceOf(job)?.embedded === true, servicePace(job).windows)
        : timeOf(plan),
    ],
    ['millrace run', 'problem' in apiKey ? `would end with ${EXIT.config}: ${printable(apiKey.problem)}` : describeStart(plan)],
    ...('problem' in apiKey ? [['', apiKey.hint] satisfies [string, string]] : []),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
  return `${[...lines, ...(providers === undefined ? [] : providerPlanLines({ providers, orders }, job))].join('\n')}\n`;
}

/** All providers are asked at the same time. */
function timeOf({ requests, polls = 0, seconds }: Pick<RunForecast, 'requests' | 'polls' | 'seconds'>): string {
  if (requests.total + polls === 0) return 'none: nothing is left to ask for';
  return seconds === null
    ? 'no limit: as fast as the providers answer'
    : `${duration(seconds * 1_000)}: of the provider that takes longest`;
}
