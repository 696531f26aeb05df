/** The counts of a plan, by step and provider. Pure. */
import type { JobProvider } from '../../definition/compiled-job.ts';
import type { Waterfall } from '../../definition/waterfall.ts';
import { requestsFor, type KeptSize } from '../../lookup/request-size.ts';
import type { LookupScopes } from '../../processor/scopes.ts';
import { VERIFY_BATCH } from '../../processor/verify.ts';
import { eachStep, specOf, STEPS, type ByStep, type StandardStep, type Step } from '../../steps/registry.ts';

/** Providers of a step as bits: bit 0 is the one that is asked first. */
export type Places = number;

/** Providers of an earlier step, one of which has yet to find the key. */
export interface FoundBy {
  readonly step: Step;
  readonly places: Places;
}

/** Lookups at a provider that would be paid for if they are asked. */
export interface OpenLookups {
  /** They are asked if none of these earlier providers, whose answers are not known, settles the record. */
  readonly after: Places;
  /** They are by a key that an earlier step has yet to find; null: by a known key. */
  readonly found: FoundBy | null;
  readonly lookups: number;
}

/** Records of a step, by what the ledger knows of them. */
export interface OrderedRecords {
  /** Providers that can be asked and have no answer. */
  readonly unknown: Places;
  /** Providers whose known answer settles the record alone. */
  readonly settled: Places;
  readonly found: FoundBy | null;
  readonly records: number;
}

/** The counts of one provider at a step. */
export interface PlaceCounts {
  /** Lookups that the ledger answers. */
  readonly known: number;
  /** Known answers that settle their record, of all known answers that could. */
  readonly settling: number;
  /** Lookups whose answer the provider has promised: they are polled, and not paid for again. */
  readonly promised: number;
  readonly open: readonly OpenLookups[];
}

export interface StepCounts {
  /** By place. */
  readonly places: readonly PlaceCounts[];
  readonly records: readonly OrderedRecords[];
}

/** A step of the job, and the counts of its providers. */
export interface Asked {
  readonly step: Step;
  readonly rule: Waterfall;
  readonly providers: readonly JobProvider[];
  readonly scopes: readonly LookupScopes[];
  readonly known: number[];
  readonly settling: number[];
  readonly promised: number[];
  readonly open: Map<string, { after: Places; found: FoundBy | null; lookups: number }>[];
  readonly records: Map<string, { unknown: Places; settled: Places; found: FoundBy | null; records: number }>;
}

/** By step. A job lacks the steps that are not configured. */
export type PlanCounts = ByStep<StepCounts>;

/** Lookups that a job with one service will pay for. */
export interface PaidLookups {
  readonly asked: Readonly<Record<StandardStep, number>>;
  /** Those among them by a key that another step has yet to find. */
  readonly found: readonly { readonly step: StandardStep; readonly by: Step; readonly lookups: number }[];
}

export function paidLookups(counts: PlanCounts): PaidLookups {
  const openOf = (step: Step): readonly OpenLookups[] => (counts[step]?.places ?? []).flatMap(({ open }) => open);
  return {
    asked: eachStep(({ name }) => openOf(name).reduce((all, { lookups }) => all + lookups, 0)),
    found: STEPS.flatMap((step) =>
      openOf(step).flatMap(({ found, lookups }) => (found === null ? [] : [{ step, by: found.step, lookups }])),
    ),
  };
}

/** Requests by step, and of all steps. */
export type PlanRequests = ByStep<number> & { readonly total: number };

/** @param from the size of verify requests, as the last run found it */
export function requestsOf({ asked }: PaidLookups, from: KeptSize | null): PlanRequests {
  const requests = eachStep(({ name }) =>
    specOf(name).verdicts === null ? asked[name] : requestsFor(asked[name], { largest: VERIFY_BATCH, from }),
  );
  return { ...requests, total: Object.values(requests).reduce((sum, count) => sum + count, 0) };
}

export function bits(place: number): Places {
  return 1 << place;
}

function textOf(found: FoundBy | null): string {
  return found === null ? '' : `${found.step} ${found.places}`;
}

export function countOpen({ open }: Asked, place: number, after: Places, found: FoundBy | null): void {
  const buckets = open[place];
  const key = `${after} ${textOf(found)}`;
  const bucket = buckets?.get(key) ?? { after, found, lookups: 0 };
  bucket.lookups++;
  buckets?.set(key, bucket);
}

export function countRecord({ records }: Asked, unknown: Places, settled: Places, found: FoundBy | null): void {
  const key = `${unknown} ${settled} ${textOf(found)}`;
  const bucket = records.get(key) ?? { unknown, settled, found, records: 0 };
  bucket.records++;
  records.set(key, bucket);
}
