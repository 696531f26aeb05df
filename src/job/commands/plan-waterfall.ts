/**
 * Counts the lookups of a job that names its providers, without a request. Answers of the ledger are known. A lookup whose earlier
 * providers have no answer yet is counted with them, so that a forecast can say how probable it is.
 */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { CompiledJob, JobProvider } from '../../definition/compiled-job.ts';
import type { Waterfall } from '../../definition/steps.ts';
import type { LedgerAnswer } from '../../ledger/answer.ts';
import type { LedgerLookup, ReadOnlyLedger } from '../../ledger/read-only-ledger.ts';
import type { RecordKeys } from '../../processor/lookup-keys.ts';
import { fill, hasAll, ofOne, type SourcedRecord } from '../../processor/merge-records.ts';
import type { LookupScopes } from '../../processor/scopes.ts';
import { lookupsFor, scopeOf, type RecordSoFar } from '../../processor/walk.ts';
import { providerScopes } from '../lifecycle/provider-scopes.ts';
import { readKeptRecord } from './kept-record.ts';
import type { Seen } from './key-set.ts';
import type { Step } from '../../steps/registry.ts';
import { present } from '../../util/assert.ts';

/** Providers of a step as bits: bit 0 is the one that is asked first. */
export type Places = number;

/** Lookups at a provider that would be paid for if they are asked. */
export interface OpenLookups {
  /** They are asked if none of these earlier providers, whose answers are not known, settles the record. */
  readonly after: Places;
  /** They are about an address that one of these providers of enrich has yet to find; null: about a known key. */
  readonly found: Places | null;
  readonly lookups: number;
}

/** Records of a step, by what the ledger knows of them. */
export interface OrderedRecords {
  /** Providers that can be asked and have no answer. */
  readonly unknown: Places;
  /** Providers whose known answer settles the record alone. */
  readonly settled: Places;
  readonly found: Places | null;
  readonly records: number;
}

/** The counts of one provider at a step. */
export interface PlaceCounts {
  /** Lookups that the ledger answers. */
  readonly known: number;
  /** Known answers that settle their record, of all known answers that could. */
  readonly settling: number;
  readonly open: readonly OpenLookups[];
}

export interface StepCounts {
  /** By place. */
  readonly places: readonly PlaceCounts[];
  readonly records: readonly OrderedRecords[];
}

interface Asked {
  readonly step: Step;
  readonly rule: Waterfall;
  readonly providers: readonly JobProvider[];
  readonly scopes: readonly LookupScopes[];
  readonly known: number[];
  readonly settling: number[];
  readonly open: Map<string, { after: Places; found: Places | null; lookups: number }>[];
  readonly records: Map<string, { unknown: Places; settled: Places; found: Places | null; records: number }>;
}

/** A record after a step, as far as the ledger knows. */
interface Walked {
  readonly found: SourcedRecord | null;
  /** Asked providers without a known answer. */
  readonly unknown: Places;
  /** One of their lookups was not counted before. */
  readonly isNew: boolean;
  /** No further step runs, whatever the unknown answers are. */
  readonly ends: boolean;
}

const NOTHING: Walked = { found: null, unknown: 0, isNew: false, ends: false };

export class WaterfallCounting {
  unique = 0;
  fromLedger = 0;
  readonly #job: CompiledJob;
  readonly #seen: Seen;
  readonly #ledger: ReadOnlyLedger | null;
  readonly #steps = new Map<Step, Asked>();

  constructor(job: CompiledJob, checkpoint: Pick<Checkpoint, 'ledgerKey'>, seen: Seen, ledger: ReadOnlyLedger | null) {
    this.#job = job;
    this.#seen = seen;
    this.#ledger = ledger;
    const scopes = new Map(
      job.providers.map((provider) => [
        provider.name,
        providerScopes(provider, job, checkpoint, (...scope) => ledger?.scope(...scope) ?? -1),
      ]),
    );
    for (const step of job.steps) {
      const rule = present(job.waterfalls[step], `the step ${step} asks providers`);
      const providers = rule.from.map((name) =>
        present(
          job.providers.find((one) => one.name === name),
          `the job has the provider ${name}`,
        ),
      );
      this.#steps.set(step, {
        step,
        rule,
        providers,
        scopes: rule.from.flatMap((name) => scopes.get(name) ?? []),
        known: providers.map(() => 0),
        settling: providers.map(() => 0),
        open: providers.map(() => new Map()),
        records: new Map(),
      });
    }
  }

  /** Fetches the answers for these records from a ledger on a network. */
  async fetch(records: readonly { readonly keys: RecordKeys }[], ask: (lookups: readonly LedgerLookup[]) => Promise<void>): Promise<void> {
    const known = (lookups: readonly (LedgerLookup | null)[] | null): readonly LedgerLookup[] =>
      (lookups ?? []).filter((one) => one !== null);
    await ask(records.flatMap(({ keys }) => this.#job.steps.flatMap((step) => known(this.#lookups(step, { keys, person: null })))));
    const found: LedgerLookup[] = [];
    for (const { keys } of records) {
      if (keys.verify !== null || !this.#steps.has('verify')) continue;
      for (const person of await this.#knownPeople(keys)) found.push(...known(this.#lookups('verify', { keys, person })));
    }
    await ask(found);
  }

  /** Takes a record through the steps. */
  async follow(keys: RecordKeys): Promise<void> {
    const needsPerson = this.#steps.has('verify') && (keys.verify === null || this.#job.verify.when === 'unverified');
    let enriched = NOTHING;
    for (const step of this.#job.steps) {
      const lookups = this.#lookups(step, { keys, person: knownPerson(enriched) });
      if (lookups === null) {
        // A lookup without an answer counts as if it may find an address, which no other record has.
        if (step === 'verify' && enriched.unknown !== 0 && enriched.isNew && keys.verify === null) this.#countFound(enriched.unknown);
        continue;
      }
      const walked = await this.#walk(step, lookups, step === 'enrich' && needsPerson);
      if (walked.ends) return;
      if (step === 'enrich') enriched = walked;
    }
  }

  /** By step. */
  get counts(): Readonly<Partial<Record<Step, StepCounts>>> {
    return Object.fromEntries(
      [...this.#steps].map(([step, { known, settling, open, records }]) => [
        step,
        {
          places: open.map((buckets, place) => ({ known: known[place] ?? 0, settling: settling[place] ?? 0, open: [...buckets.values()] })),
          records: [...records.values()],
        },
      ]),
    );
  }

  #countFound(found: Places): void {
    const asked = this.#steps.get('verify');
    if (asked === undefined) return;
    for (let place = 0; place < asked.providers.length; place++) {
      this.unique++;
      countOpen(asked, place, bits(place) - 1, found);
    }
    countRecord(asked, bits(asked.providers.length) - 1, 0, found);
  }

  /** @param needsRecord the record of a match matters to later steps */
  async #walk(step: Step, lookups: readonly (LedgerLookup | null)[], needsRecord = false): Promise<Walked> {
    const asked = this.#steps.get(step);
    if (asked === undefined || lookups.every((lookup) => lookup === null)) return NOTHING;
    const { rule } = asked;
    let walked: Walked = NOTHING;
    let hasFailed = false;
    let isOver = false;
    let unknown: Places = 0;
    let settled: Places = 0;
    for (const [place, lookup] of lookups.entries()) {
      if (lookup === null) continue;
      const answer = this.#look(lookup);
      const record = await this.#recordOf(asked, place, answer, needsRecord);
      const settles = answer?.kind === 'suppressed' || (record !== null && this.#settles(asked, record));
      if (answer === null) unknown |= bits(place);
      if (settles) settled |= bits(place);
      if (isOver) continue;
      const isNew = this.#count(asked, place, lookup, answer, walked.unknown);
      if (isNew && answer !== null && settles) asked.settling[place]! += 1;
      if (answer === null) {
        walked = { ...walked, unknown: walked.unknown | bits(place), isNew: walked.isNew || isNew };
        continue;
      }
      hasFailed ||= answer.kind === 'failed';
      if (record !== null) walked = { ...walked, found: take(walked.found, record, asked, place) };
      isOver = settles || (record !== null && step !== 'verify' && hasAll(walked.found?.record ?? {}, rule.until));
      if (answer.kind === 'suppressed' && walked.unknown === 0) return { ...walked, ends: true };
    }
    if (asked.providers.length > 1 && this.#isFirst(asked, lookups)) countRecord(asked, unknown, settled, null);
    return { ...walked, ends: hasFailed && walked.found === null && walked.unknown === 0 };
  }

  #settles({ step, rule }: Asked, record: Readonly<Record<string, unknown>>): boolean {
    return step === 'verify' ? rule.until.includes(String(record['result'])) : hasAll(record, rule.until);
  }

  /** The record of a known match; null without one. It is read only where it matters. */
  async #recordOf(
    { step, rule, providers }: Asked,
    place: number,
    answer: LedgerAnswer | null,
    needsRecord: boolean,
  ): Promise<Readonly<Record<string, unknown>> | null> {
    if (answer?.kind !== 'hit' && answer?.kind !== 'unsettled') return null;
    const provider = providers[place];
    if (provider === undefined || (rule.until.length === 0 && !needsRecord)) return {};
    return readKeptRecord(provider, step, answer.text);
  }

  /** True the first time that a lookup is counted. */
  #count(asked: Asked, place: number, { scope, key }: LedgerLookup, answer: LedgerAnswer | null, after: Places): boolean {
    // Without a ledger there are no scopes, and each provider has its own lookups all the same.
    const where = scope < 0 ? asked.rule.from[place] : scope;
    if (!this.#seen.add(`${asked.step} ${where} ${key}`)) return false;
    this.unique++;
    if (answer === null) countOpen(asked, place, after, null);
    else {
      this.fromLedger++;
      asked.known[place]! += 1;
    }
    return true;
  }

  /** True the first time that a record with these lookups comes to a step. */
  #isFirst({ step }: Asked, lookups: readonly (LedgerLookup | null)[]): boolean {
    return this.#seen.add(`${step} of ${lookups.map((lookup) => (lookup === null ? '' : `${lookup.scope} ${lookup.key}`)).join('\n')}`);
  }

  #look({ scope, key }: LedgerLookup): LedgerAnswer | null {
    const known = this.#ledger?.look(scope, key) ?? null;
    // A lookup that a stopped run was asking for has no answer yet.
    return known?.kind === 'asking' ? null : known;
  }

  /** The records that the ledger has of a person, by any provider. */
  async #knownPeople(keys: RecordKeys): Promise<Readonly<Record<string, unknown>>[]> {
    const asked = this.#steps.get('enrich');
    if (asked === undefined) return [];
    const people: Readonly<Record<string, unknown>>[] = [];
    for (const [place, lookup] of (this.#lookups('enrich', { keys, person: null }) ?? []).entries()) {
      const person = lookup === null ? null : await this.#recordOf(asked, place, this.#look(lookup), true);
      if (person !== null) people.push(person);
    }
    return people;
  }

  /** The lookup of a step at each of its providers; null when the record skips the step. */
  #lookups(step: Step, soFar: RecordSoFar): readonly (LedgerLookup | null)[] | null {
    const scopes = this.#steps.get(step)?.scopes ?? [];
    const lookups = lookupsFor(step, soFar, this.#job);
    if (lookups === null) return null;
    return lookups.map((lookup, place) => {
      const own = scopes[place];
      return lookup === null ? null : { scope: own === undefined ? -1 : scopeOf(step, lookup, own), key: lookup.key };
    });
  }
}

/** The person as far as known: a provider without a known answer may still say that the address is not verified. */
function knownPerson({ found, unknown }: Walked): RecordSoFar['person'] {
  const person = found?.record ?? null;
  return person === null || unknown === 0 ? person : { ...person, verified: false };
}

function bits(place: number): Places {
  return 1 << place;
}

/** As `LookupWaterfall` takes a match. */
function take(found: SourcedRecord | null, record: Readonly<Record<string, unknown>>, { rule }: Asked, place: number): SourcedRecord {
  const provider = rule.from[place] ?? '';
  if (found === null) return ofOne(record, provider);
  if (rule.fields === 'merge') return fill(found, record, provider);
  return hasAll(record, rule.until) ? ofOne(record, provider) : found;
}

function countOpen({ open }: Asked, place: number, after: Places, found: Places | null): void {
  const buckets = open[place];
  const key = `${after} ${found}`;
  const bucket = buckets?.get(key) ?? { after, found, lookups: 0 };
  bucket.lookups++;
  buckets?.set(key, bucket);
}

function countRecord({ records }: Asked, unknown: Places, settled: Places, found: Places | null): void {
  const key = `${unknown} ${settled} ${found}`;
  const bucket = records.get(key) ?? { unknown, settled, found, records: 0 };
  bucket.records++;
  records.set(key, bucket);
}
